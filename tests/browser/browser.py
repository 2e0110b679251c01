"""A headless Chromium, driven over the WebDriver protocol with the standard library alone."""

import base64
import json
import os
import shutil
import subprocess
import time
import urllib.request
from pathlib import Path

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
DRIVER = shutil.which("chromedriver")
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
FLAGS += ["--no-first-run", "--force-color-profile=srgb", "--disable-dev-shm-usage"]


class Browser:
    """One browser, from `with` to its end; `directory` takes its profile."""

    def __init__(self, directory: Path, language: str = "en-US") -> None:
        self.directory, self.language = directory, language

    def __enter__(self) -> "Browser":
        log = self.directory / "driver.log"
        command = [DRIVER, "--port=0", f"--log-path={log}"]
        # An environment of its own: no proxies for a browser that must not go out.
        quiet = {k: v for k, v in os.environ.items() if "proxy" not in k.lower()}
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=quiet
        )
        for line in self.process.stdout:
            if "successfully on port" in line:
                port = int(line.rstrip(". \n").split()[-1])
                self.base = f"http://127.0.0.1:{port}"
                break
        profile = self.directory / "profile"
        options = {
            "binary": CHROMIUM,
            "args": [
                *FLAGS,
                f"--user-data-dir={profile}",
                f"--lang={self.language}",
            ],
        }
        logs = {"browser": "ALL", "performance": "ALL"}
        wanted = {"goog:chromeOptions": options, "goog:loggingPrefs": logs}
        made = self._ask("", {"capabilities": {"alwaysMatch": wanted}}, session="/session")
        self.session = f"/session/{made['sessionId']}"
        return self

    def __exit__(self, *error: object) -> None:
        try:
            if hasattr(self, "session"):
                self._ask("", method="DELETE")
        finally:
            self.process.terminate()
            self.process.wait(timeout=20)
            self.process.stdout.close()

    def _ask(
        self, path: str, body: object = None, method: str = "POST", session: str = ""
    ) -> object:
        text = None if method != "POST" else json.dumps(body or {}).encode()
        request = urllib.request.Request(
            self.base + (session or self.session) + path,
            data=text,
            method=method,
            headers={"Content-Type": "application/json"},
        )
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=120) as answer:
            return json.load(answer)["value"]

    def open(self, path: Path) -> None:
        """Load a file."""
        self._ask("/url", {"url": path.absolute().as_uri()})

    def run(self, script: str, *arguments: object) -> object:
        """What the body of a function returns in the page."""
        return self._ask("/execute/sync", {"script": script, "args": list(arguments)})

    def until(self, script: str, seconds: float = 30) -> object:
        """Ask again until the answer is true."""
        end = time.monotonic() + seconds
        while not (found := self.run(script)):
            assert time.monotonic() < end, f"not within {seconds} s: {script}"
            time.sleep(0.05)
        return found

    def press(self, key: str) -> None:
        """Press a key as a person would."""
        keys = [{"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}]
        self._ask("/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": keys}]})

    def resize(self, width: int, height: int) -> None:
        """Give the page a width, also one that no window can have."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        command = {"cmd": "Emulation.setDeviceMetricsOverride", "params": size}
        self._ask("/goog/cdp/execute", command)
        time.sleep(0.3)

    def picture(self, path: Path) -> None:
        """A picture of the whole page."""
        shot = {"format": "png", "captureBeyondViewport": True}
        found = self._ask("/goog/cdp/execute", {"cmd": "Page.captureScreenshot", "params": shot})
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(base64.b64decode(found["data"]))

    def complaints(self) -> list[str]:
        """What the console has said since it was last asked."""
        return [entry["message"] for entry in self._ask("/se/log", {"type": "browser"})]

    def requests(self) -> list[str]:
        """What pages have asked for since the last time, but for the browser's own first page."""
        found = []
        for entry in self._ask("/se/log", {"type": "performance"}):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                if not message["params"]["documentURL"].startswith("chrome:"):
                    found.append(message["params"]["request"]["url"])
        return found
