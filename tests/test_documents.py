"""Documents stay true: what is generated is up to date, and what is shown as an example runs (links: test_site.py)."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
sys.path.append(str(ROOT / "docs"))

from page_examples import BLOCK, examples, written_down  # noqa: E402

pytestmark = pytest.mark.usefixtures("bundled_reader")  # as whoever tries an example has it
# Those that start servers, prepare a new pack, read thousands of rows, or run many commands.
SLOW = {
    *(f"docs/{name}.md" for name in ("audit", "conversations", "guard", "history", "integrations")),
    *(f"docs/{name}.md" for name in ("false-positives", "labels", "logs", "privacy", "reports", "rules")),
    *(f"docs/tutorials/{name}.md" for name in ("add-a-rule", "audit", "guard-in-fastapi", "judge-a-rag-system")),
    *(f"docs/coming-from/{name}.md" for name in ("deepeval", "vale")),
    "docs/tutorials/read-a-large-log.md",
}


def documents() -> list[Path]:
    return sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def with_blocks() -> list[Any]:
    """Documents with examples to run. Translations of the readme have the readme's, as another test holds."""
    found = [path for path in documents() if BLOCK.search(path.read_text(encoding="utf-8"))]
    own = [path for path in found if not re.fullmatch(r"README\.\w+\.md", path.name)]
    return [pytest.param(path, marks=[pytest.mark.slow] if name_of(path) in SLOW else []) for path in own]


def test_generated_documents_are_up_to_date() -> None:
    command = [sys.executable, str(ROOT / "docs" / "generate.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "COLUMNS": "100"})
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("path", with_blocks(), ids=name_of)
def test_examples_run_and_print_what_they_show(path: Path, tmp_path: Path) -> None:
    for example in examples(path.read_text(encoding="utf-8"), tmp_path):
        assert not example.went_wrong, str(example)
        assert example.fits, str(example)


def test_what_an_example_prints_is_written_where_a_page_shows_it_whole(tmp_path: Path) -> None:
    page = "```console\n$ echo one\nold\n$ echo two\n...\n$ true\n```\n"
    assert written_down(page, list(examples(page, tmp_path))) == page.replace("old", "one")
