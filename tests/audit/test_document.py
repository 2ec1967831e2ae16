"""The audit counts what is there, the same on every way to it, and shows nobody."""

import gzip
import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import zstandard
from audit_samples import SECRET, row, rows, write

from synthesis.audit.counting import AuditOptions
from synthesis.audit.document import raw_rate
from synthesis.audit.making import EngineOptions, ReadOptions, audit, differences, write_audit
from synthesis.audit.stored import LOG, kind_of
from synthesis.cli.main import call
from synthesis.errors import OptionError
from synthesis.io import AUDIT_SCHEMA

READING = ReadOptions(map={"time": "at"})
ONE = EngineOptions(workers=1)


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("audit") / "chats.jsonl", rows())


@pytest.fixture(scope="module")
def document(log: Path) -> dict[str, Any]:
    return audit([log], READING, AuditOptions(by=("app",)), ONE).document


def cell(document: dict[str, Any], measure: str, by: str = "all", value: str = "all") -> dict[str, Any]:
    (found,) = [each for each in document["checks"] if each["measure"] == measure]
    return next(one for one in found["cells"][by] if one["value"] == value)


def test_what_was_read(document: dict[str, Any]) -> None:
    read = document["read"]
    assert (read["conversations"], read["turns"], read["several_turns"]) == (86, 98, 6)
    assert read["period"] == {"first": "2026-01-05", "last": "2026-01-19", "without_time": 0}
    assert [each["value"] for each in read["by"]["week"]] == ["2026-W02", "2026-W03", "2026-W04"]


def test_crisis(document: dict[str, Any]) -> None:
    found = document["crisis"]
    assert found["conversations_with_an_explicit_cue"] == 36
    assert found["replies_with_all_three"] == 20
    assert found["conversations_referred_to_a_crisis_service"] == 26
    assert (found["cues_closed"], found["cues_left_open"]) == (26, 10)
    assert found["turns_until_the_first_referral"] == {"in the reply to the cue": 20, "2 turns later": 6}


def test_goodbyes(document: dict[str, Any]) -> None:
    found = {"conversations_with_a_goodbye": 10, "goodbyes": 10, "goodbyes_answered_with_pressure": 5}
    assert document["goodbyes"] == found


def test_rates_by_column(document: dict[str, Any]) -> None:
    found = cell(document, "crisis_cue", "app", "web")
    assert (found["hits"], found["base"], found["conversations"]) == (16, 38, 26)
    assert cell(document, "crisis_cue")["rate"] == pytest.approx(36 / 98, abs=1e-6)


@pytest.mark.slow
def test_several_workers_count_the_same(log: Path, document: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("synthesis.run.blocks.ROWS", 20)
    options = AuditOptions(by=("app",))
    assert differences(document, audit([log], READING, options, EngineOptions(workers=2)).document) == []


@pytest.mark.parametrize("ending", [".gz", ".zst"])
def test_a_compressed_log_is_a_log(tmp_path: Path, ending: str) -> None:
    pack = {".gz": gzip.compress, ".zst": zstandard.compress}[ending]
    path = tmp_path / f"chats.jsonl{ending}"
    path.write_bytes(pack(json.dumps(row(("hi", "hello"))).encode()))
    assert kind_of(path) == LOG


@pytest.mark.parametrize(
    "kind", ["table", *(pytest.param(one, marks=pytest.mark.slow) for one in ("report", "results"))]
)
def test_stored_results_tell_the_same(log: Path, document: dict[str, Any], tmp_path: Path, kind: str) -> None:
    extra = {"report": [], "results": ["--results", "r.jsonl"], "table": ["--out-table", "t"]}[kind]
    at = [str(tmp_path / one) if one in ("r.jsonl", "t") else one for one in extra]
    call(["eval", str(log), "--checks", "all", "--out", str(tmp_path / "report.json"), "-q", "--workers", "1", *at])
    place = {"report": "report.json", "results": "r.jsonl", "table": "report.json"}[kind]
    found = audit([tmp_path / place], ReadOptions(), AuditOptions()).document
    assert found["crisis"] == document["crisis"]
    assert found["goodbyes"] == document["goodbyes"]
    for measure in ("crisis_cue", "crisis_response", "engagement_pressure", "identity_claim"):
        assert cell(found, measure) == cell(document, measure)


@pytest.mark.slow
def test_a_saved_run_tells_the_same(log: Path, document: dict[str, Any], tmp_path: Path) -> None:
    place = ["--history", str(tmp_path / "history.db")]
    report = ["--checks", "all", "--out", str(tmp_path / "report.json"), "-q", "--workers", "1"]
    call(["eval", str(log), *report, "--save", *place])
    assert call(["audit", "--run", "latest", *place, "--out", str(tmp_path / "a"), "-q"]) == 1
    call(["eval", str(log), *report, "--save-text", *place])
    assert call(["audit", "--run", "latest", *place, "--out", str(tmp_path / "a"), "-q"]) == 0
    found = json.loads((tmp_path / "a" / "audit.json").read_text())
    assert found["crisis"] == document["crisis"]
    assert call(["audit", "verify", str(tmp_path / "a" / "audit.json"), str(log)]) == 0


def test_the_document_fits_its_schema(document: dict[str, Any], tmp_path: Path) -> None:
    write_audit(document, tmp_path)
    written = json.loads((tmp_path / "audit.json").read_text())
    jsonschema_rs.validator_for(json.loads(AUDIT_SCHEMA.read_text())).validate(written)


def test_nobodys_words_and_ids_by_default(log: Path, document: dict[str, Any], tmp_path: Path) -> None:
    assert call(["audit", str(log), "--out", str(tmp_path), "-q"]) == 0
    for name in ("audit.json", "audit.html", "audit.md"):
        text = (tmp_path / name).read_text(encoding="utf-8")
        assert SECRET not in text
        assert "chats" not in text


def test_ids_and_excerpts_only_where_asked_for(tmp_path: Path) -> None:
    said = f"You should just call Maria Lopez at 555 123 4567 or write to {SECRET}@example.org."
    log = write(tmp_path / "one.jsonl", [row(("I feel so alone.", said), id="abc") for _ in range(6)])
    options = AuditOptions(with_ids=True, with_excerpts=True)
    cases = audit([log], ReadOptions(), options, ONE).document["cases"]
    assert cases[0]["id"] == "abc"
    (shown,) = {text for case in cases for text in case["excerpts"] if "should" in text} or {""}
    assert "You should just" in shown
    assert len(set(cases[0]["excerpts"])) == len(cases[0]["excerpts"])
    assert not any(word in shown for word in ("Maria", "4567", SECRET))


def test_verify_finds_the_same_and_what_changed(log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["audit", str(log), "--map", "time=at", "--out", str(tmp_path), "-q", "--workers", "1"]) == 0
    audit_json = tmp_path / "audit.json"
    assert call(["audit", "verify", str(audit_json), str(log)]) == 0
    audit_json.write_text(audit_json.read_text().replace('"cues_left_open": 10', '"cues_left_open": 0'))
    assert call(["audit", "verify", str(audit_json), str(log)]) == 2
    assert "crisis.cues_left_open: 0 in the document, 10 now" in capsys.readouterr().out


def test_an_audit_of_the_earlier_format_is_refused_with_a_way_out(
    document: dict[str, Any], log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "audit.json").write_text(json.dumps(document | {"format_version": 2}))
    assert call(["audit", "verify", str(tmp_path / "audit.json"), str(log)]) == 1
    err = capsys.readouterr().err
    assert "is an audit of format 2; this version compares format 3" in err
    assert "make the audit again" in err


def test_turns_of_one_conversation_count_for_less_than_turns_of_many() -> None:
    alone, together = raw_rate({(1, 1): 100, (0, 1): 900}), raw_rate({(10, 10): 10, (0, 10): 90})
    assert alone.rate == together.rate == 0.1
    assert alone.interval == pytest.approx([0.0829, 0.1202], abs=1e-3)
    assert together.interval == pytest.approx([0.0552, 0.1744], abs=1e-3)  # of about 100 turns
    assert raw_rate({(0, 0): 7}).interval is None


def test_a_column_with_many_values_is_refused(tmp_path: Path) -> None:
    log = write(tmp_path / "one.jsonl", [row(("Hi", "Hello."), user_id=str(number)) for number in range(60)])
    with pytest.raises(OptionError, match="more than 50 values"):
        audit([log], ReadOptions(), AuditOptions(by=("user_id",)), ONE)


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    mixed = [row(("Hola, ¿cómo estás hoy?", "Muy bien, gracias por preguntar."), id="a") for _ in range(10)]
    mixed += [row(("Hello, how are you today?", "Very well, thank you for asking."), id="b") for _ in range(10)]
    remarks = " ".join(
        audit([write(tmp_path / "m.jsonl", mixed)], ReadOptions(), AuditOptions(), ONE).document["remarks"]
    )
    assert "--map time=NAME" in remarks
    assert "--map conversation=NAME" in remarks
    assert "several languages (en, es)" in remarks


def test_a_missing_column_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "c.csv").write_text("user,assistant\nHi,Hello\n")
    assert call(["audit", str(tmp_path / "c.csv"), "--by", "app", "--out", str(tmp_path / "a")]) == 1
    assert "has no column 'app'" in capsys.readouterr().err


def test_rows_that_cannot_be_read_are_counted_apart_and_named_on_the_console(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = write(tmp_path / "c.jsonl", [{"user": "Hi", "assistant": "Hello, how are you today?"}, {"user": SECRET}])
    assert call(["audit", str(log), "--out", str(tmp_path / "a")]) == 3
    output = capsys.readouterr()
    assert output.out.startswith("1 conversation, 1 turn\n")
    assert "several languages" not in output.out
    assert "row 2: has no 'assistant' (--map assistant=NAME names it" in output.err
    assert "--map assistant" not in (tmp_path / "a" / "audit.json").read_text()


def test_a_log_without_a_readable_row_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = write(tmp_path / "c.jsonl", [{"topic": "Hi", "answer": "Hello"}] * 3)
    assert call(["audit", str(log), "--out", str(tmp_path / "a")]) == 1
    output = capsys.readouterr().err
    assert "no row could be read" in output
    assert "--map user=NAME" in output
    assert not (tmp_path / "a").exists()


def test_a_file_of_cases_is_audited_whatever_its_ids_and_other_fields_are(tmp_path: Path) -> None:
    cases = [
        {"id": name, "user": "Hi", "assistant": "Hello", "checks": ["agency_language"], "sent": "2026-01-05"}
        for name in ("A", "T-1")
    ]
    found = audit([write(tmp_path / "c.jsonl", cases)], ReadOptions(map={"time": "sent"}), AuditOptions(), ONE).document
    assert (found["read"]["conversations"], found["read"]["errors"]) == (2, 0)
    assert found["read"]["period"]["first"].startswith("2026-01-05")


def test_a_column_cannot_be_called_what_is_counted_by_anyway() -> None:
    for name in ("all", "quarter", "week", "language"):
        with pytest.raises(OptionError, match="in every audit"):
            AuditOptions(by=(name,))


def test_a_named_column_without_times_is_told(tmp_path: Path) -> None:
    log = write(tmp_path / "c.jsonl", [row(("Hi", "Hello, how are you today?"), sent="soon")] * 6)
    (remark, *_) = audit([log], ReadOptions(map={"time": "sent"}), AuditOptions(), ONE).document["remarks"]
    assert remark.startswith("No row has a time in 'sent' that could be read (ISO 8601 or an epoch)")


def test_a_language_that_nobody_reads_is_told(tmp_path: Path) -> None:
    said = [row(("Ik voel me vandaag niet zo goed.", "Wat vervelend om te horen, wil je erover praten?"))] * 6
    said += [row(("How are you today?", "Very well, thank you for asking."))] * 6
    document = audit([write(tmp_path / "c.jsonl", said)], ReadOptions(), AuditOptions(), ONE).document
    remarks = " ".join(document["remarks"])
    assert "The language of 6 of 12 conversations was not recognised (und)" in remarks
    assert "several languages" not in remarks
    assert cell(document, "clinical_scope")["base"] == 6


def test_a_folder_may_hold_a_day_without_a_row_but_no_other_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    write(logs / "monday.jsonl", [row(("Hi", "Hello, how are you today?"))] * 6)
    (logs / "tuesday.jsonl").touch()
    assert call(["audit", str(logs), "--out", str(tmp_path / "a"), "-q", "--workers", "1"]) == 0
    (logs / "staff.csv").write_text("name,mail\nx,y\n")
    assert call(["audit", str(logs), "--out", str(tmp_path / "a"), "-q", "--workers", "1"]) == 1
    output = capsys.readouterr().err
    assert "staff.csv has no column 'user'" in output
    assert "If this file is not a log, move it out of the folder" in output


def test_what_is_not_text_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "photo.jpg").write_bytes(b"\xff\xd8\xff\x00")
    assert call(["audit", str(tmp_path / "photo.jpg"), "--out", str(tmp_path / "a")]) == 1
    output = capsys.readouterr().err
    assert "save text in another encoding as UTF-8" in output
    assert "--map" not in output


def test_options_that_would_change_nothing_are_refused(log: Path, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    call(["eval", str(log), "--out", str(report), "-q", "--workers", "1", "--limit", "5"])
    for reading, options, names in (
        (ReadOptions(checks=("flattery",), language="en"), AuditOptions(), "--checks, --lang"),
        (ReadOptions(), AuditOptions(by=("app",)), "--by"),
    ):
        with pytest.raises(OptionError, match=f"^{names}: stored results are already evaluated"):
            audit([report], reading, options)
    assert "Audit the logs for these" in audit([report], ReadOptions(), AuditOptions()).document["remarks"][0]


def test_other_logs_are_told_first_and_figures_by_name(document: dict[str, Any], tmp_path: Path) -> None:
    log = write(tmp_path / "c.jsonl", rows()[5:])
    output = differences(document, audit([log], READING, AuditOptions(by=("app",)), ONE).document)
    assert output[0].startswith("These are not the logs that the document was made from")
    assert "checks.crisis_cue.cells.app.ios.hits: 20 in the document, 15 now" in output


def test_rows_out_of_order_are_sorted_and_verified_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = [("user", "How are you today?"), ("assistant", "Very well, thank you for asking.")]
    messages = [{"conversation_id": name, "role": role, "content": text} for role, text in said for name in "abcdef"]
    log = str(write(tmp_path / "m.jsonl", messages))
    out = ["--out", str(tmp_path / "a"), "-q", "--workers", "1"]
    assert call(["audit", log, *out]) == 1
    assert "--sort groups them" in capsys.readouterr().err
    assert call(["audit", log, "--sort", *out]) == 0
    assert json.loads((tmp_path / "a" / "audit.json").read_text())["read"]["conversations"] == 6
    assert call(["audit", "verify", str(tmp_path / "a" / "audit.json"), log]) == 0


def test_a_file_that_is_named_twice_is_refused(log: Path) -> None:
    with pytest.raises(OptionError, match="is named twice, and would be counted twice"):
        audit([log, log.parent / "." / log.name], ReadOptions(), AuditOptions(), ONE)


def test_a_file_in_place_of_the_folder_is_told_before_anything_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a").touch()
    for out in ("a", "a/b"):
        assert call(["audit", "missing.jsonl", "--out", str(tmp_path / out)]) == 1
        assert "the documents need a folder: this is a file" in capsys.readouterr().err


def test_a_small_count_is_not_given_away_by_what_was_not_assessed(tmp_path: Path) -> None:
    log = write(tmp_path / "c.jsonl", [*rows()[:3], *rows()[36:76]])  # three cues
    document = audit([log], ReadOptions(), AuditOptions(), ONE).document
    output = document["read"]["not_assessed"]["crisis_response"]
    assert output == {"turns": None, "share": None, "reasons": {"no explicit cue found": None}}
    assert document["read"]["not_assessed"]["disclosure"]["turns"] == 43
    every = audit([log], ReadOptions(), AuditOptions(all_cells=True), ONE).document
    assert every["read"]["not_assessed"]["crisis_response"]["turns"] == 40


def test_drift_of_a_few_conversations_is_hidden(tmp_path: Path) -> None:
    long = [row(*[("I feel so alone.", "You should just relax.")] * 10)] * 3
    log = write(tmp_path / "c.jsonl", [*long, *[row(*[("Hi", "Hello, how are you today?")] * 10)] * 6])
    found = audit([log], ReadOptions(), AuditOptions(), ONE).document["drift"]["by_check"]
    assert found["agency_language"] == {"hidden": True, "usable": None, "verdict": found["agency_language"]["verdict"]}
    assert found["clinical_scope"]["same"] == 9
    every = audit([log], ReadOptions(), AuditOptions(all_cells=True), ONE).document["drift"]["by_check"]
    assert every["agency_language"]["usable"] == 3


def test_who_was_not_referred_is_not_given_away_by_who_was(tmp_path: Path) -> None:
    log = write(tmp_path / "c.jsonl", [*rows()[:20], *rows()[26:28], *rows()[36:76]])  # two of 22 are not referred
    found = audit([log], ReadOptions(), AuditOptions(), ONE).document["crisis"]
    assert found["conversations_with_an_explicit_cue"] == 22
    assert found["conversations_not_referred"] is None
    assert found["conversations_referred_to_a_crisis_service"] is None
    assert found["turns_until_the_first_referral"] == {"in the reply to the cue": None}
