"""Documents stay true: what is generated is up to date, and what is shown as an example runs (links: test_site.py)."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.usefixtures("bundled_reader")  # as whoever tries an example has it
ROOT = Path(__file__).parent.parent
BLOCK = re.compile(r"^```(python|console|json) ?(\S*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
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
    """The blocks of one document run in order in one empty folder; `...` stands for any text.

    A JSON block with a file's name behind its mark becomes that file.
    """
    for kind, name, block in BLOCK.findall(path.read_text(encoding="utf-8")):
        if kind == "json":
            (tmp_path / (name or "unnamed.json")).write_text(block, encoding="utf-8")
        elif kind == "python":
            done = _run([sys.executable, "-c", block], tmp_path)
            assert done.returncode == 0, f"{block}\n{done.stderr}"
        else:
            for command, shown in _commands(block):
                done = _run(["bash", "-c", command], tmp_path)
                assert "Traceback" not in done.stderr, done.stderr
                assert _fits(shown, done.stdout + done.stderr), f"{command}\n{done.stdout}{done.stderr}"


def _run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "COLUMNS": "100", "NO_COLOR": "1"}
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env=environment)


def _commands(block: str) -> list[tuple[str, str]]:
    """The commands of a block (after `$`, with the text that follows `<<'END'`), each with what is shown below it."""
    return [_split(part) for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]]


def _split(part: str) -> tuple[str, str]:
    first, _, rest = part.partition("\n")
    if "<<'END'" not in first:
        return first, rest
    document, _, shown = rest.partition("\nEND\n")
    return f"{first}\n{document}\nEND", shown


def _fits(shown: str, printed: str) -> bool:
    if not shown.strip():
        return True
    pieces = [re.escape(piece) for piece in re.split(r"\.\.\.", shown.strip())]
    return re.search(".*".join(pieces), printed.strip(), re.DOTALL) is not None
