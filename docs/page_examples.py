"""Runs the examples of documents, and writes down what they print.

python docs/page_examples.py PAGE ...           exit 1 if an example prints something else than its page shows
python docs/page_examples.py --write PAGE ...   write what they print where a page shows it whole, without `...`

The blocks of one document marked `console`, `python` or `json` run in order in one empty folder; `...` stands for any
text. A JSON block with a file's name behind its mark becomes that file.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

BLOCK = re.compile(r"^```(python|console|json) ?(\S*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_PROMPT = re.compile(r"^\$ ", re.MULTILINE)


class Example(NamedTuple):
    """A command of a document, what the document shows below it, and what it printed."""

    command: str
    shown: str
    printed: str
    went_wrong: bool

    @property
    def fits(self) -> bool:
        if not self.shown.strip():
            return True
        pieces = [re.escape(piece) for piece in self.shown.strip().split("...")]
        return re.search(".*".join(pieces), self.printed.strip(), re.DOTALL) is not None

    def __str__(self) -> str:
        return f"$ {self.command}\n{self.printed}"


def examples(text: str, folder: Path) -> Iterator[Example]:
    """The examples of a document, run in a folder."""
    for kind, name, block in BLOCK.findall(text):
        if kind == "json":
            (folder / (name or "unnamed.json")).write_text(block, encoding="utf-8")
        elif kind == "python":
            printed, code = _run([sys.executable, "-c", block], folder)
            yield Example(block, "", printed, code != 0)
        else:
            yield from (_example(*_split(part), folder) for part in _PROMPT.split(block)[1:])


def _example(command: str, shown: str, folder: Path) -> Example:
    printed, _ = _run(["bash", "-c", command], folder)
    return Example(command, shown, printed, "Traceback" in printed)


def _run(command: list[str], folder: Path) -> tuple[str, int]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "COLUMNS": "100", "NO_COLOR": "1"}
    done = subprocess.run(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, env=environment
    )
    return done.stdout, done.returncode


def _split(part: str) -> tuple[str, str]:
    """A command with the text that follows `<<'END'`, and what is shown below it."""
    first, _, rest = part.partition("\n")
    if "<<'END'" not in first:
        return first, rest
    document, _, shown = rest.partition("\nEND\n")
    return f"{first}\n{document}\nEND", shown


def written_down(text: str, run: list[Example]) -> str:
    """A document with what its examples printed, in place of what it showed whole."""
    for example in run:
        if example.shown.strip() and "..." not in example.shown:
            before = f"$ {example.command}\n"
            lines = "".join(f"{line.rstrip()}\n" for line in example.printed.strip("\n").splitlines())
            text = text.replace(before + example.shown, before + lines)
    return text


def main(pages: list[Path], *, write: bool) -> int:
    wrong = 0
    for page in pages:
        text = page.read_text(encoding="utf-8")
        with TemporaryDirectory() as folder:
            run = list(examples(text, Path(folder)))
        if write:
            page.write_text(written_down(text, run), encoding="utf-8")
        left = [one for one in run if one.went_wrong or not (one.fits or (write and "..." not in one.shown))]
        for example in left:
            print(f"{page}:\n{example}")
        wrong += len(left)
    return 1 if wrong else 0


if __name__ == "__main__":
    given = sys.argv[1:]
    sys.exit(main([Path(name) for name in given if name != "--write"], write="--write" in given))
