"""The handbook's chapter on the judge: its program prints what it says, and every option it names exists."""

import re
import subprocess
import sys
from pathlib import Path

from running import environment

CHAPTER = Path(__file__).parents[2] / "docs" / "judge.md"
BLOCK = re.compile(r"^```(console|python|json) ?(\S*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def blocks():
    return BLOCK.findall(CHAPTER.read_text(encoding="utf-8"))


def run(folder, *args):
    return subprocess.run(
        [sys.executable, *args], cwd=folder, capture_output=True, text=True, env=environment(), check=True
    ).stdout


def test_the_python_example_prints_what_it_says(tmp_path):
    [code] = [content for kind, _, content in blocks() if kind == "python"]
    assert run(tmp_path, "-c", code).strip() == "True 8 8"
    assert "It prints `True 8 8`" in CHAPTER.read_text()


def test_every_option_that_the_chapter_names_exists():
    text = CHAPTER.read_text()
    parts = ("run", "report", "panel")
    help_text = "".join(run(".", "-m", "synthesis", "judge", part, "--help-all") for part in parts)
    for option in set(re.findall(r"--[a-z][a-z-]+", text)):
        assert option in help_text, option
