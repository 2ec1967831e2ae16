"""`audit.json`, `audit.html` and `audit.md` in a folder."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from synthesis.audit.drawing import html, markdown
from synthesis.model.report import Report
from synthesis.report.files import replaced, write_report

JSON, HTML, MARKDOWN, SAMPLE = "audit.json", "audit.html", "audit.md", "sample.json"


def write_audit(document: Mapping[str, Any], folder: Path, sample: Report | None = None) -> list[Path]:
    """Write the three, and the sample beside them; each is put in its place when it is whole."""
    folder.mkdir(parents=True, exist_ok=True)
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
