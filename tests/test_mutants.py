"""Planted faults stay alive: each can be planted, names tests that exist, and one that nobody notices is told."""

import re
from pathlib import Path

import pytest

from campaign import mutants
from campaign.kinds import KINDS
from campaign.mutants import PLANNED, ROOT, Fault, load_faults

FOUR = ("journal-fsync-dropped", "audit-cell-not-escaped", "report-written-in-place", "rule-cost-hundredfold")
HARMLESS = """
[[fault]]
name = "harmless"
room = "sample"
breaks = "nothing"
file = "src/synthesis/audit/document.py"
old = "LEAST_SHOWN = 5"
new = "LEAST_SHOWN = 2 + 3"
caught_by = ["tests/audit/test_cells.py"]
"""


def is_there(catcher: str) -> bool:
    if catcher.startswith(PLANNED):
        return catcher.split()[1] in KINDS
    file, _, test = catcher.partition("::")
    path = ROOT / file
    return path.is_file() and (not test or f"def {test.partition('[')[0]}(" in path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("fault", load_faults(), ids=lambda fault: fault.name)
def test_each_fault_can_be_planted_and_names_who_catches_it(fault: Fault) -> None:
    assert fault.planted(ROOT) != (ROOT / fault.file).read_text(encoding="utf-8")
    assert fault.caught_by
    assert [catcher for catcher in fault.caught_by if not is_there(catcher)] == []


def test_the_list_is_long_enough_and_no_name_appears_twice() -> None:
    names = [fault.name for fault in load_faults()]
    assert len(names) == len(set(names)) >= 28
    assert set(FOUR) <= set(names)


def test_a_fault_whose_place_has_changed_is_told() -> None:
    moved = Fault("moved", "sample", "nothing", "Makefile", "no such words", "", ("tests/test_mutants.py",))
    with pytest.raises(ValueError, match="moved: its text appears 0 times in Makefile"):
        moved.planted(ROOT)


@pytest.mark.slow
def test_a_planted_fault_is_caught_and_one_that_nobody_notices_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    listed = mutants.FAULTS.read_text(encoding="utf-8")
    shown = next(part for part in re.split(r"\n(?=\[\[fault\]\])", listed) if '"small-cells-shown"' in part)
    (tmp_path / "faults.toml").write_text(shown + HARMLESS, encoding="utf-8")
    monkeypatch.setattr(mutants, "FAULTS", tmp_path / "faults.toml")
    assert mutants.main([]) == 2
    said = capfd.readouterr().out
    assert "| `small-cells-shown` | privacy | `test_cells.py::test_" in said
    assert "| `harmless` | sample | **survived** |" in said
    assert "1 of 2 faults caught" in said
