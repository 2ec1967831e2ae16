"""Print the help of every command as one JSON object; in one process, because each start takes its time."""

import io
import json
import re
import runpy
import sys
from contextlib import redirect_stderr, redirect_stdout


def page(path: list[str]) -> str:
    sys.argv = ["synthesis", *path, "--help"]
    said = io.StringIO()
    try:
        with redirect_stdout(said), redirect_stderr(said):
            runpy.run_module("synthesis", run_name="__main__")
    except SystemExit as end:
        said.write(f"exit {end.code or 0}\n")
    return said.getvalue()


def listed(text: str) -> list[str]:
    """The commands that a help lists, in groups: a name, and after a gap what it does."""
    return re.findall(r"^  ([a-z][\w-]*) {2,}\S", text, re.MULTILINE)


def walk(path: list[str]) -> None:
    text = page(path)
    pages[" ".join(["synthesis", *path])] = text
    for below in listed(text):
        walk([*path, below])


pages: dict[str, str] = {}
walk([])
print(json.dumps(pages, ensure_ascii=False))
