"""A run says what it left to Python, apart from the report, whose bytes are the same whoever decided."""

from pathlib import Path

import pytest
from both_readers import needs_library
from helpers import CommandLine, row, write_jsonl

from synthesis.checks import rules_in_force
from synthesis.io import CASE_SCHEMA
from synthesis.read.inputs import Input
from synthesis.rules.matcher import PythonReader
from synthesis.run.files import RunOutcome, evaluate_files
from synthesis.run.spec import RunSpec

CASES = [
    row(id="T-1"),
    row(id="T-2", assistant="İ you should rest."),
    row(id="T-3", assistant="You must rest, ΣΑΣ."),
]


def evaluated(folder: Path, *, native: bool, monkeypatch: pytest.MonkeyPatch) -> tuple[RunOutcome, bytes]:
    cases = write_jsonl(folder / "cases.jsonl", CASES)
    rules = rules_in_force()
    if not native:
        monkeypatch.setitem(rules.__dict__, "native", None)
        monkeypatch.setitem(rules.__dict__, "reader", PythonReader(rules))
    spec = RunSpec(inputs=(Input.of(str(cases)),), schema=CASE_SCHEMA, out=folder / "report.json", fail_on=9)
    return evaluate_files(spec, rules=rules), (folder / "report.json").read_bytes()


@needs_library
def test_a_run_names_its_reader_and_counts_what_was_left_to_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    native, report = evaluated(tmp_path, native=True, monkeypatch=monkeypatch)
    python, same_report = evaluated(tmp_path, native=False, monkeypatch=monkeypatch)
    assert (native.reader, native.deferred) == ("native", 2)
    assert (python.reader, python.deferred) == ("python", 0)
    assert report == same_report


@needs_library
@pytest.mark.parametrize(("case", "is_noted"), [(CASES[0], False), (CASES[1], True)])
def test_the_command_line_notes_what_was_left_to_python(
    cli: CommandLine, case: dict[str, object], is_noted: bool
) -> None:
    outcome = cli("--cases", write_jsonl(cli.folder / "cases.jsonl", [case]), "--fail-on", "9")
    assert ("note: 1 case had to be evaluated in Python, which takes longer." in outcome.err) == is_noted
    assert "in Python" not in outcome.out
