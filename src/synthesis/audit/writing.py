"""`audit.json`, `audit.html` and `audit.md` in a folder."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from synthesis.audit.drawing import html, markdown
from synthesis.errors import OutputError, Place
from synthesis.model.report import Report
from synthesis.report.files import replaced, write_report

JSON, HTML, MARKDOWN, SAMPLE = "audit.json", "audit.html", "audit.md", "sample.json"


def require_folder(folder: Path) -> None:
    """Refuse a place that cannot become the folder, before hours of reading; OutputError says why."""
    there = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    if not there.is_dir() or not os.access(there, os.W_OK):
        reason = "nothing may be written there" if there.is_dir() else "it is a file"
        raise OutputError(
            f"the documents need a folder: {reason}", place=Place(str(there)), hint="Choose another path with --out."
        )


def write_audit(document: Mapping[str, Any], folder: Path, sample: Report | None = None) -> list[Path]:
    """Write the three, and the sample beside them; each is put in its place when it is whole."""
    texts = {
        JSON: msgspec.json.format(msgspec.json.encode(document), indent=2).decode() + "\n",
        HTML: "".join(html.render(document)),
        MARKDOWN: "".join(markdown.render(document)),
    }
    for name, text in texts.items():
        with replaced(folder / name) as file:
            file.write(text.encode())
    if sample is not None:
        write_report(sample, folder / SAMPLE)
    return [folder / name for name in (*texts, *([SAMPLE] if sample else ()))]
