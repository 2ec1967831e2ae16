"""The exchange of the readme's first example, as an HTML report shows it, and a digest of what there is to see.

The picture carries the digest of the page that it was taken from, so that a test notices when the page looks otherwise.
"""

import hashlib
import json
import re
import subprocess
import sys
from pathlib import Path

PICTURE = Path(__file__).parent / "images" / "finding.png"
KEY = "page-digest"  # of the text chunk in the picture
USER = "I didn't get the job. I feel like such a failure."
REPLY = "I'm sorry. I know how you feel. You should just apply elsewhere."
COMMAND = f'synthesis check "{USER}" "{REPLY}"'
_STYLE = re.compile(r"<style>.*?</style>", re.DOTALL)
_CASE = re.compile(r'<article class="case.*?</article>', re.DOTALL)
_CLOSED = re.compile(r"(<details><summary>.*?</summary>).*?</details>", re.DOTALL)
_CHUNK = re.compile(rb"tEXt" + KEY.encode() + rb"\0([0-9a-f]{64})")


def report_page(folder: Path) -> str:
    """The report of a log with this one exchange, made in a folder of its own."""
    messages = [{"role": "user", "content": USER}, {"role": "assistant", "content": REPLY}]
    (folder / "chat.jsonl").write_text(json.dumps({"messages": messages}), encoding="utf-8")
    command = [sys.executable, "-m", "synthesis", "eval", "chat.jsonl", "--format", "html=report.html", "--quiet"]
    subprocess.run(command, cwd=folder, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return (folder / "report.html").read_text(encoding="utf-8")


def digest(page: str) -> str:
    """Of the case and the style; what is folded away is not in the picture."""
    case, style = _CASE.search(page), _STYLE.search(page)
    if case is None or style is None:
        raise ValueError("the report has no <style> or no <article class='case'>: see docs/finding.py")
    return hashlib.sha256((_CLOSED.sub(r"\1", case[0]) + style[0]).encode()).hexdigest()


def digest_in(picture: bytes) -> str | None:
    found = _CHUNK.search(picture)
    return found[1].decode() if found else None
