"""`synthesis report convert` and `--format`: documents beside the report, nothing overwritten, no traceback."""

import json
from pathlib import Path

import pytest
from helpers import CommandLine, row, write_jsonl
from report_samples import FAILED, realistic, report, result, write

from synthesis.report.formats import FORMATS

BAD = row(id="T-2", assistant="You should just get over it.", tags=["family"])
DRAWN = sorted(set(FORMATS) - {"json"})


@pytest.fixture
def stored(cli: CommandLine) -> Path:
    return write(realistic(), cli.folder / "report.json")


@pytest.mark.parametrize("name", [name for name in DRAWN if name != "github"])
def test_a_stored_report_is_drawn_beside_itself(cli: CommandLine, stored: Path, name: str) -> None:
    outcome = cli("report", "convert", stored, "--format", name)
    assert outcome.code == 0
    document = stored.with_suffix(str(FORMATS[name].suffix))
    assert "APP-1" in document.read_text(encoding="utf-8")
    assert outcome.out == ""
    assert str(document) in outcome.err


def test_annotations_are_printed(cli: CommandLine, stored: Path) -> None:
    outcome = cli("report", "convert", stored, "--format", "github")
    assert outcome.out.startswith("::error file=cases/replies.jsonl,line=3")  # the worst, and of these the surest


def test_a_path_of_ones_own_and_standard_output(cli: CommandLine, stored: Path) -> None:
    assert cli("report", "convert", stored, "--format", "html", "--out", "deep/er/page.html").code == 0
    assert (cli.folder / "deep" / "er" / "page.html").read_text().startswith("<!doctype html>")
    assert cli("report", "convert", stored, "--format", "markdown", "--out", "-").out.startswith("### ")


def test_redaction_leaves_no_words(cli: CommandLine, stored: Path) -> None:
    assert cli("report", "convert", stored, "--format", "json", "--redact", "--out", "share.json").code == 0
    assert "divorce" in stored.read_text()
    assert "divorce" not in (cli.folder / "share.json").read_text()


def test_texts_come_from_the_cases_where_the_report_has_none(cli: CommandLine) -> None:
    cases = write_jsonl(cli.folder / "cases.jsonl", [BAD])
    cli("--cases", cases, "--no-text", "--out", "report.json")
    cli("report", "convert", "report.json", "--format", "html", "--out", "bare.html")
    assert "came without texts" in (cli.folder / "bare.html").read_text()
    assert cli("report", "convert", "report.json", "--format", "html", "--cases", cases).code == 0
    page = (cli.folder / "report.html").read_text()
    assert "came without texts" not in page
    assert "I lost my job and I feel awful." in page


def test_cases_that_are_not_the_evaluated_ones_are_refused(cli: CommandLine) -> None:
    cases = write_jsonl(cli.folder / "cases.jsonl", [BAD])
    cli("--cases", cases, "--no-text", "--out", "report.json")
    other = write_jsonl(cli.folder / "other.jsonl", [row(id="T-2", assistant="Something else.")])
    outcome = cli("report", "convert", "report.json", "--format", "html", "--cases", other)
    assert outcome.code == 1
    assert "T-2 is not the one that was evaluated" in outcome.err
    assert not (cli.folder / "report.html").exists()


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["none.json", "--format", "html"], "no such file"),
        ([".", "--format", "html"], "folder"),
        (["report.json", "--format", "htlm"], "Did you mean 'html'"),
        (["report.json"], "Missing option '--format'"),
        (["report.json", "--format", "json"], "same file"),
        (["report.json", "--format", "html", "--out", "report.json"], "same file"),
        (["report.json", "--format", "html", "--out", "."], "is a folder"),
        (["report.json", "--format", "html", "--cases", "none.jsonl"], "no such file"),
        (["bad.json", "--format", "html"], "bad.json"),
    ],
)
def test_mistakes_end_with_a_message_and_nothing_written(
    cli: CommandLine, stored: Path, args: list[str], message: str
) -> None:
    (cli.folder / "bad.json").write_text('{"summary": 1}')
    before = {path.name: path.read_bytes() for path in cli.folder.iterdir()}
    outcome = cli("report", "convert", *args)
    assert outcome.code == 1
    assert message in outcome.err
    assert "Traceback" not in outcome.err
    assert {path.name: path.read_bytes() for path in cli.folder.iterdir()} == before


def test_a_report_that_breaks_off_leaves_the_earlier_document_alone(cli: CommandLine, stored: Path) -> None:
    cli("report", "convert", stored, "--format", "csv")
    document = stored.with_suffix(".csv")
    earlier = document.read_bytes()
    stored.write_text(stored.read_text().replace('{"id":"APP-14"', '{"id":14,"x":"APP-14"'))
    assert cli("report", "convert", stored, "--format", "csv").code == 1
    assert document.read_bytes() == earlier
    assert sorted(path.name for path in cli.folder.iterdir()) == ["report.csv", "report.json"]


def test_a_run_draws_documents_as_well(cli: CommandLine) -> None:
    cases = write_jsonl(cli.folder / "cases.jsonl", [BAD])
    outcome = cli("--cases", cases, "--format", "html", "--format", "junit=ci/junit.xml", "--format", "github")
    assert outcome.code == 2
    assert "::error file=cases.jsonl,line=1" in outcome.out
    assert (cli.folder / "out" / "report.html").exists()
    assert "<testsuites" in (cli.folder / "ci" / "junit.xml").read_text()
    assert cli.report()["summary"]["cases"] == 1


def test_with_an_artifact_on_standard_output_annotations_go_elsewhere(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MCP_OUTPUT", "json")
    cases = write_jsonl(cli.folder / "cases.jsonl", [BAD])
    outcome = cli("--cases", cases, "--format", "github")
    assert json.loads(outcome.out)["type"] == "artifact"
    assert "::error" in outcome.err


@pytest.mark.parametrize(
    "formats",
    [["nope"], ["json"], ["html=cases.jsonl"], ["html=out/report.json"], ["html=x", "csv=x"], ["html=."]],
)
def test_a_format_that_cannot_be_written_stops_before_the_run(cli: CommandLine, formats: list[str]) -> None:
    cases = write_jsonl(cli.folder / "cases.jsonl", [BAD])
    outcome = cli("--cases", cases, *(part for name in formats for part in ("--format", name)))
    assert outcome.code == 1
    assert not (cli.folder / "out").exists()
    assert cases.read_text().startswith('{"id"')


def test_explanations_come_from_rules_of_ones_own(cli: CommandLine) -> None:
    (cli.folder / "mine").mkdir()
    (cli.folder / "mine" / "pack.yaml").write_text('language: en\nname: Mine\nversion: "1"\nlicence: MIT\n')
    (cli.folder / "mine" / "agency.yaml").write_text(
        "rules:\n  - id: agency.negative.chin-up\n    group: dismissal\n    pattern: chin up\n"
        "    why: Tells somebody how to hold their face.\n    instead: Stay with them.\n"
        '    match: ["Chin up!", "Well, chin up then."]\n    miss: ["Her chin.", "Up we go."]\n'
    )
    one = result("A-1", "Hi", "Chin up!", findings=[("Chin up", "agency.negative.chin-up")])
    write(report(one | {"checks": {"agency_language": FAILED}, "outcome": "fail"}), cli.folder / "report.json")
    outcome = cli("report", "convert", "report.json", "--format", "csv", "--out", "-", "--rules", "mine")
    assert "Tells somebody how to hold their face." in outcome.out
