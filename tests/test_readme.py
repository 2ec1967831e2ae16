"""The readme: its figures are those that were measured, and the two commands that everything leans on stay in it."""

import sys
from pathlib import Path

import pytest

from synthesis.checks.measured import measured

ROOT = Path(__file__).parent.parent
sys.path.append(str(ROOT / "docs"))

from measured_table import QUALITY, measured_rows, readmes, with_figures  # noqa: E402


@pytest.mark.parametrize("path", readmes(), ids=lambda path: path.name)
def test_the_figures_are_those_that_were_measured(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert with_figures(text) == text, "run `make docs`"


def test_a_figure_that_was_changed_by_hand_is_put_right() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    first = next(measured_rows(QUALITY.read_text(encoding="utf-8")))
    assert text.count(first) == 1
    assert with_figures(text.replace(first, first.replace(" / ", "1 / "))) == text


def test_every_measured_check_and_language_has_a_row() -> None:
    rows = list(measured_rows(QUALITY.read_text(encoding="utf-8")))
    wanted = [f"| `{check}` | {language} |" for check, languages in measured().items() for language in languages]
    assert all(any(row.startswith(start) for row in rows) for start in wanted)


@pytest.mark.parametrize("path", readmes(), ids=lambda path: path.name)
def test_the_two_commands_stay(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    assert [line.split("#")[0].strip() for line in lines if line.startswith("make ")] == ["make run", "make test"]


def test_a_document_without_the_table_is_refused() -> None:
    with pytest.raises(ValueError, match="one table"):
        with_figures("# Synthesis\n")
