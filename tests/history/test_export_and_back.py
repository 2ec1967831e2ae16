"""An exported run comes back as itself: in another history, of the other kind of database, or after it was deleted."""

import json
from pathlib import Path
from typing import Any

import pytest
from helpers import CommandLine
from hypothesis import given, settings
from hypothesis import strategies as st
from report_samples import realistic, records, result
from run_samples import judge_offline, sample_report, stored

from synthesis.errors import HistoryError, InputError
from synthesis.history import Provenance, open_history
from synthesis.history.store import History
from synthesis.report.stored import from_dict, open_report

KNOWN = Provenance("2026-03-01T10:00:00.000Z", "f00dcafe", with_text=True, tags=("a", "b"))
TEXT = Provenance(with_text=True)


def exported(history: History, run_id: str, path: Path) -> Path:
    path.write_text("".join(history.export(run_id)), encoding="utf-8")
    return path


def test_a_run_of_the_checks_is_exported_as_a_report(history: History, tmp_path: Path) -> None:
    content = realistic()
    path = exported(history, history.add_report(from_dict(content), KNOWN), tmp_path / "run.json")
    report = open_report(path)
    assert records(report) == content["results"]
    assert report.summary == content["summary"]


def test_failures_have_their_evidence_under_the_names_of_a_report(cli: CommandLine, history: History) -> None:
    cli("--quiet")
    whole = cli.report()
    path = exported(history, history.add_report("out/report.json", TEXT), cli.folder / "run.json")
    assert json.loads(path.read_text())["failures"] == whole["failures"]


@pytest.mark.parametrize("kind", ["checks", "judge"])
def test_an_exported_run_comes_back_as_itself(history: History, tmp_path: Path, kind: str) -> None:
    if kind == "checks":
        run_id = history.add_report(stored(), KNOWN)
    else:
        run_id = history.add_judged(judge_offline(tmp_path, iterations=2), KNOWN)
    path = exported(history, run_id, tmp_path / "run.json")
    before = history.run(run_id)
    history.delete(run_id)
    assert history.add(path, TEXT) == run_id
    assert history.run(run_id) == before
    assert exported(history, run_id, tmp_path / "again.json").read_text() == path.read_text()
    with open_history(tmp_path / "other.db") as other:
        other.add(path, TEXT)
        assert other.run(run_id) == before


@pytest.mark.parametrize("kind", ["checks", "judge"])
def test_words_of_an_exported_run_come_back_only_when_asked_for(history: History, tmp_path: Path, kind: str) -> None:
    add: Any = history.add_report if kind == "checks" else history.add_judged
    run_id = add(stored() if kind == "checks" else judge_offline(tmp_path), KNOWN)
    path = exported(history, run_id, tmp_path / "run.json")
    history.delete(run_id)
    history.add(path)
    assert not history.run(run_id).with_text
    again = exported(history, run_id, tmp_path / "again.json").read_text()
    assert not [word for word in ("Ravenna", "Split") if word in again]


def test_a_run_that_is_there_already_is_not_added_twice(history: History, tmp_path: Path) -> None:
    path = exported(history, history.add_report(stored()), tmp_path / "run.json")
    with pytest.raises(HistoryError, match="already in this history"):
        history.add(path)
    assert len(history.runs()) == 1


def test_a_report_from_a_file_began_when_the_file_was_written(history: History, tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_text(json.dumps(sample_report()))
    assert history.run(history.add(path)).started[:4] == "2026"
    assert history.run(history.add(path, Provenance("2020-01-01T00:00:00.000Z"))).started[:4] == "2020"


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        '{"kind": "judge"}',
        '{\n  "kind": "judge",\n  "results": [\n  ]\n}',
        '{\n  "kind": "judge", "history": {"id": "x"}, "conditions": {}, "summary": {}\n}',
    ],
)
def test_a_file_that_is_no_run_is_refused(history: History, tmp_path: Path, content: str) -> None:
    path = tmp_path / "run.json"
    path.write_text(content)
    with pytest.raises(InputError):
        history.add(path)


@pytest.mark.parametrize(
    "said", [None, [], {"id": "../../x"}, {"id": "0123456789ab", "started": "yesterday"}, {"id": 5}]
)
def test_a_run_that_says_nonsense_of_itself_is_refused(history: History, said: object) -> None:
    with pytest.raises(InputError, match="does not describe an exported run"):
        history.add_report(from_dict(sample_report() | {"history": said}))


TEXTS = st.text(st.characters(codec="utf-8"), min_size=1)


@settings(max_examples=25)
@given(said=TEXTS, answered=TEXTS, passed=st.booleans())
def test_whatever_was_said_export_and_back_is_the_identity(
    tmp_path_factory: pytest.TempPathFactory, said: str, answered: str, passed: bool
) -> None:
    folder = tmp_path_factory.mktemp("law")
    content = sample_report(result("T-9", said, answered, checks={"agency_language": {"pass": passed}}))
    with open_history(folder / "history.db") as history:
        run_id = history.add_report(from_dict(content), TEXT)
        assert records(history.report(run_id)) == content["results"]
        path = exported(history, run_id, folder / "run.json")
        history.delete(run_id)
        history.add(path, TEXT)
        assert records(history.report(run_id)) == content["results"]
