"""A cluster on one machine: hosts are Linux network namespaces on a bridge, with limited links.

    with Cluster(4, rate="1gbit") as cluster:
        done = cluster.run(4, "program.py", timeout=60)
        print(done.stdout, cluster.traffic())

Ranks talk over real TCP, and through shared memory only to ranks of their own host. Nothing of it
is visible outside, and the kernel removes all of it as soon as this process ends, even killed.

From a shell, `python tests/cluster/cluster.py --hosts 4 -- mpicoll bench allreduce -n 4` runs a
command inside the first host, from where MPI's launchers reach the others.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from mpicoll.launch.processes import alive, descendants

__all__ = ["Cluster", "Traffic", "unavailable"]

HERE = Path(__file__).resolve().parent
TOOLS = ("unshare", "nsenter", "ip", "tc", "mount", "bash")
PREPARATION = 30

#: By these the launchers of both MPI libraries reach the hosts, and the libraries use the wire.
ENVIRONMENT = {
    "HYDRA_LAUNCHER": "ssh",
    "HYDRA_LAUNCHER_EXEC": str(HERE / "enter.sh"),
    "HYDRA_IFACE": "eth0",
    "HYDRA_HOST_FILE": "/mnt/hosts.mpich",
    # Ranks of all hosts share the cores of this machine, which no MPI library can see.
    "MPIR_CVAR_ENABLE_HEAVY_YIELD": "1",
    "UCX_TLS": "tcp,self",
    "UCX_NET_DEVICES": "eth0",
    "PRTE_MCA_plm_ssh_agent": str(HERE / "enter.sh"),
    "PRTE_MCA_prte_default_hostfile": "/mnt/hosts.openmpi",
    "PRTE_MCA_oob_tcp_if_include": "eth0",
    # Every host believes to have all cores for itself.
    "PRTE_MCA_hwloc_default_binding_policy": "none",
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "OMPI_MCA_pml": "ob1",
    "OMPI_MCA_btl": "tcp,sm,self",
    "OMPI_MCA_btl_tcp_if_include": "eth0",
}


class Traffic(NamedTuple):
    """Bytes that a host has sent to and received from its network, headers included."""

    sent: int
    received: int


@cache
def unavailable() -> str:
    """Why there can be no cluster here; empty if there can."""
    if sys.platform != "linux":
        return "needs Linux namespaces"
    for tool in TOOLS:
        if shutil.which(tool, path=search_path()) is None:
            return f"needs {tool} (on Debian: apt install iproute2 util-linux)"
    try:
        with Cluster(1):
            return ""
    except ClusterError as error:
        return str(error)


class ClusterError(RuntimeError):
    """There can be no cluster here; the message says why."""


def search_path() -> str:
    """PATH with the places of system programs, which users' own often lacks."""
    return os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"])


class Cluster:
    """Hosts h1, h2, ... at 10.77.0.1, .2, ..., while a `with` block lasts.

    Args:
        hosts: how many.
        ranks_per_host: ranks that each host takes, the same for all or one number for each.
        rate: of each host's link, each way, as `tc` has it; None for no limit.
        env: variables for all that runs inside, over those of this process.
    """

    def __init__(
        self,
        hosts: int,
        ranks_per_host: int | Sequence[int] = 1,
        rate: str | None = "1gbit",
        env: Mapping[str, str] | None = None,
    ) -> None:
        each = isinstance(ranks_per_host, int)
        self.slots = [ranks_per_host] * hosts if each else list(ranks_per_host)
        if hosts < 1 or len(self.slots) != hosts or min(self.slots) < 1:
            raise ValueError(f"{hosts} hosts cannot take {ranks_per_host} ranks")
        self.names = [f"h{number}" for number in range(1, hosts + 1)]
        self.rate = rate
        self.environment = {**os.environ, **ENVIRONMENT, **dict(env or {}), "PATH": search_path()}
        self._user = [] if os.geteuid() == 0 else ["--user"]
        self._root: subprocess.Popen | None = None

    @property
    def size(self) -> int:
        """How many ranks fill the cluster."""
        return sum(self.slots)

    @property
    def nodes(self) -> list[int]:
        """The number of the host of each rank, if the ranks fill the cluster."""
        return [host for host, count in enumerate(self.slots) for _ in range(count)]

    def __enter__(self) -> Cluster:
        command = ["unshare", *self._user, *["--map-root-user"] * bool(self._user)]
        command += ["--net", "--mount", "--ipc", "--pid", "--fork", "--kill-child", "--mount-proc"]
        command += [str(HERE / "hosts.sh"), self.rate or "none", *map(str, self.slots)]
        pipe = subprocess.PIPE
        self._root = subprocess.Popen(
            command,
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            env=self.environment,
            text=True,
            start_new_session=True,
        )
        if self._root.stdout.readline() != "ready\n":
            self._root.stdin.close()
            said = self._root.stderr.read().strip() or "it ended at once"
            self.__exit__()
            raise ClusterError(f"no namespaces with a network here: {said.splitlines()[-1]}")
        [self._first] = descendants(self._root.pid, deep=False)
        self._holders = self._inside()
        return self

    def __exit__(self, *rest: object) -> None:
        # The first process ends, and the kernel ends all others of its namespace.
        root, self._root = self._root, None
        for pipe in (root.stdin, root.stdout, root.stderr):
            pipe.close()
        try:
            root.wait(PREPARATION)
        except subprocess.TimeoutExpired:
            root.kill()
            root.wait()

    def command(self, argv: Sequence[str], host: str | None = None) -> list[str]:
        """The command line that runs `argv` on a host (default: the first), in this directory."""
        words = f"cd {shlex.quote(os.getcwd())} && exec {shlex.join(map(str, argv))}"
        return [*self._enter(), str(HERE / "enter.sh"), host or self.names[0], words]

    def call(
        self, argv: Sequence[str], *, timeout: float, host: str | None = None, **more: object
    ) -> subprocess.CompletedProcess[str]:
        """Run `argv` on a host and wait; all that it started is ended at the deadline.

        `more` is as in `subprocess.run`; by default the output is kept.

        Raises:
            subprocess.TimeoutExpired: with what was printed until then.
        """
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL}
        process = self.popen(argv, host=host, **{**pipes, **more})
        try:
            out, err = process.communicate(timeout=timeout)
        except BaseException as error:
            self.end_all()
            process.kill()
            out, err = process.communicate()
            if isinstance(error, subprocess.TimeoutExpired):
                error.output, error.stderr = out, err
            raise
        return subprocess.CompletedProcess(argv, process.returncode, out, err)

    def popen(
        self, argv: Sequence[str], *, host: str | None = None, **more: object
    ) -> subprocess.Popen:
        """Start `argv` on a host; `more` is as in `subprocess.Popen`."""
        options = {"env": self.environment, "text": True, **more}
        return subprocess.Popen(self.command(argv, host), **options)

    def run(self, n: int, *program: str, timeout: float) -> subprocess.CompletedProcess[str]:
        """Run a Python program (``program.py ...`` or ``-m module ...``) on `n` ranks.

        It runs on MPI itself, as started by mpiexec, under the supervision of `mpicoll run`: all
        ranks end at the deadline, with exit status 124 and a report of where they were.
        """
        words = ["-m", "mpicoll", "run", "--native", "-n", str(n), "--timeout", str(timeout)]
        return self.call([sys.executable, *words, *program], timeout=timeout + PREPARATION)

    def mpicoll(self, *words: str, timeout: float) -> subprocess.CompletedProcess[str]:
        """Run a command of mpicoll on the first host."""
        return self.call([sys.executable, "-m", "mpicoll", *words], timeout=timeout)

    def traffic(self) -> dict[str, Traffic]:
        """What has crossed each host's link so far, as the bridge's end counts it."""
        listed = subprocess.run(
            [*self._enter(), "ip", "-json", "-statistics", "link", "show", "type", "veth"],
            env=self.environment,
            capture_output=True,
            text=True,
            check=True,
        )
        found = {}
        for link in json.loads(listed.stdout):
            counters = link["stats64"]
            name = "h" + link["ifname"].removeprefix("v")
            # What the bridge's end receives is what the host has sent.
            found[name] = Traffic(counters["rx"]["bytes"], counters["tx"]["bytes"])
        return found

    def cut(self, host: str) -> None:
        """Take a host off the network, as a pulled cable does."""
        self._link(host, "down")

    def mend(self, host: str) -> None:
        """Put a host back on the network."""
        self._link(host, "up")

    def _link(self, host: str, state: str) -> None:
        command = ["ip", "link", "set", "v" + host.removeprefix("h"), state]
        subprocess.run([*self._enter(), *command], env=self.environment, check=True)

    def processes(self) -> set[int]:
        """The process numbers, as seen from here, of all that runs inside."""
        return self._inside() - self._holders

    def end_all(self) -> None:
        """Kill all that runs inside."""
        while running := self.processes():
            for pid in running:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue

    def _enter(self) -> list[str]:
        user = [*self._user, "--preserve-credentials"] if self._user else []
        spaces = ["--mount", "--net", "--ipc", "--pid"]
        return ["nsenter", "--target", str(self._first), *user, *spaces, "--"]

    def _inside(self) -> set[int]:
        space = os.readlink(f"/proc/{self._first}/ns/pid")
        found = set()
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                if os.readlink(entry / "ns" / "pid") == space and alive(int(entry.name)):
                    found.add(int(entry.name))
            except OSError:
                continue  # it ended meanwhile, or is another user's
        return found


def main(kind: type[Cluster] = Cluster) -> int:
    """Run a command on a cluster of the given shape; its exit status, 3 if there can be none."""
    parser = argparse.ArgumentParser(
        description=sys.modules["__main__"].__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--hosts", type=int, default=4, metavar="N", help="default: 4")
    parser.add_argument(
        "--ranks-per-host", default="1", metavar="R[,R...]", help="slots (default: 1)"
    )
    parser.add_argument("--rate", default="1gbit", help="as tc has it, or none (default: 1gbit)")
    parser.add_argument("--timeout", type=float, default=3600, metavar="S", help="default: 3600")
    parser.add_argument("command", nargs="+", metavar="-- COMMAND")
    args = parser.parse_args()
    slots = [int(part) for part in args.ranks_per_host.split(",")]
    rate = None if args.rate == "none" else args.rate
    try:
        cluster = kind(args.hosts, slots if len(slots) > 1 else slots[0], rate)
    except ValueError as error:
        parser.error(str(error))
    try:
        with cluster:
            output = {"stdout": None, "stderr": None, "stdin": None}
            status = cluster.call(args.command, timeout=args.timeout, **output).returncode
            for host, (sent, received) in cluster.traffic().items():
                print(f"{host}: {sent:,} bytes sent, {received:,} received", file=sys.stderr)
    except ClusterError as error:
        print(f"cluster.py: {error}", file=sys.stderr)
        return 3
    except subprocess.TimeoutExpired:
        print(f"cluster.py: no end after {args.timeout:g} s", file=sys.stderr)
        return 124
    return status


if __name__ == "__main__":
    sys.exit(main())
