"""`audit.json`, `audit.html` and `audit.md` in a folder."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from synthesis.audit.drawing import html, markdown
from synthesis.report.files import replaced

JSON, HTML, MARKDOWN = "audit.json", "audit.html", "audit.md"


def write_audit(document: Mapping[str, Any], folder: Path) -> list[Path]:
    """Write the three; each is put in its place when it is whole."""
    folder.mkdir(parents=True, exist_ok=True)
    texts = {
        JSON: msgspec.json.format(msgspec.json.encode(document), indent=2).decode() + "\n",
        HTML: "".join(html.render(document)),
        MARKDOWN: "".join(markdown.render(document)),
    }
    for name, text in texts.items():
        with replaced(folder / name) as file:
            file.write(text.encode())
    return [folder / name for name in texts]
