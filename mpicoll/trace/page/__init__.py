"""The page of a trace: one file with its style, its script and its data, that needs no network."""

from __future__ import annotations

import html
import json
from importlib.resources import files

from mpicoll.trace.model import Call, Trace
from mpicoll.trace.page.data import page_data

__all__ = ["page"]

SCRIPTS = ("words.js", "chunks.js", "stage.js", "timeline.js", "tables.js", "main.js")


def page(trace: Trace, call: Call | None = None) -> str:
    """The HTML text, for one call or for all of a trace.

    ValueError if there is nothing to show.
    """
    data = page_data(trace, [call] if call is not None else trace.calls)
    # A "<" in the data could end the element that holds it.
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=True).replace("<", "\\u003c")
    folder = files(__package__)
    parts = {
        "TITLE": html.escape(str(data["title"])),
        "STYLE": folder.joinpath("style.css").read_text(encoding="utf-8"),
        "SCRIPT": "\n".join(folder.joinpath(n).read_text(encoding="utf-8") for n in SCRIPTS),
        "DATA": text,
    }
    pieces = folder.joinpath("page.html").read_text(encoding="utf-8").split("@@")
    return "".join(parts[piece] if number % 2 else piece for number, piece in enumerate(pieces))
