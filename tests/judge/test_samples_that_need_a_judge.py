"""Samples that the offline judge cannot tell: in files, on the console, and wherever scores are used."""

import json

import pytest
from running import judge, read, synthesis
from told_samples import CASES, RUBRIC, SAMPLES, judged_by_record

from synthesis.cli.main import main
from synthesis.errors import JudgeError
from synthesis.history import Provenance, open_history
from synthesis.judge import clients
from synthesis.judge.calibration import calibrate
from synthesis.judge.journal import read_ledger
from synthesis.judge.model import AxisVerdict, Verdict
from synthesis.judge.panel import build_panel, panel_run
from synthesis.judge.records import make_record
from synthesis.judge.run import EvaluationConfig

AXES = ("faithfulness", "completeness")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A run in which two samples could not be told."""
    monkeypatch.setattr(clients.LocalJudge, "judge", judged_by_record)
    judge(CASES, EvaluationConfig(output_dir="run", root=tmp_path, rubric=RUBRIC))
    return tmp_path / "run"


def said(capsys, *args):
    code = main([*map(str, args)], standalone_mode=False)
    return code, capsys.readouterr().out


def test_a_record_without_scores_says_that_it_needs_a_judge(folder):
    found = {record["id"]: record for record in read(folder / "records" / "records-iteration-1.json")}
    care, hours, built, asked = (found[name] for name in ("care", "hours", "built", "asked"))
    assert [care["judgeVerdict"][axis]["score"] for axis in AXES] == [None, None]
    assert (care["overallScore"], care["passed"], care["faithfulnessPassed"], care["needsJudge"]) == (
        None,
        False,
        None,
        True,
    )
    assert (hours["faithfulnessPassed"], built["faithfulnessPassed"]) == (False, True)
    assert "needsJudge" not in hours
    assert "faithfulnessPassed" not in asked  # a model has judged it


def test_half_a_verdict_is_none():
    half = Verdict({"faithfulness": AxisVerdict(4, ""), "completeness": AxisVerdict(None, "")})
    with pytest.raises(JudgeError, match="no whole score from 1 to 5 on 'completeness'"):
        make_record(CASES[0], half, RUBRIC)


def test_metrics_count_them_apart_and_no_average_has_them(folder):
    metrics = read(folder / "metrics" / "metrics-iteration-1.json")
    assert (metrics["judged"], metrics["untold"], metrics["sampleCount"]) == (7, 2, 9)
    assert metrics["averageFaithfulnessScore"]["denominator"] == 7
    assert sum(metrics["faithfulnessDistribution"].values()) == 7
    rate = metrics["faithfulnessPassRate"]
    assert (rate["numerator"], rate["denominator"], rate["judgedOnly"]["denominator"]) == (3, 9, 7)
    assert (metrics["claims"]["cannotTell"], metrics["claims"]["unsupported"]["numerator"]) == (2, 4)
    analysis = read(folder / "low-faithfulness" / "low-faithfulness-iteration-1.json")
    assert (analysis["totalLowQuality"], analysis["totalSamples"]) == (5, 7)
    final = read(folder / "final-metrics" / "final-metrics-1.json")
    stable = {one["id"]: one for one in final["stability"]["samples"]}
    assert (stable["care"]["scores"]["faithfulness"], stable["care"]["passed"]) == ([None], [None])


def test_the_journal_reads_them_back(folder):
    assert sum(record.get("needsJudge", False) for record in read(folder / "records" / "records-iteration-1.json")) == 2
    assert len(read_ledger(folder).samples) == 9
    entries = read(folder / "iteration-1" / ".progress.json")["entries"]
    [care] = [entry for entry in entries if entry["id"] == "care"]
    assert care["result"] == {"faithfulnessScore": None, "completenessScore": None, "passed": False}


def test_the_console_says_outcome_failures_and_what_needs_a_judge_in_this_order(folder, capsys):
    _, out = said(capsys, "judge", "report", "run", "--root", folder.parent)
    lines = [line for line in out.splitlines() if line.strip()]
    assert lines[0] == "run: 7 of 9 samples told: 3 passed, 4 failed, 2 need a judge"
    assert " ".join(lines[1].split()) == "gate 3 of 9 pass, 33.3 % (faithfulness of 4 or more)"
    order = [
        "Failed: 4",
        "✗ The answer says “20 hours”, passage 1 says “14 hours” (number).",
        "passage 2: “On weekdays the reading room is open from 9 to 17.”",
        "Need a judge: 2",
        "? “Keep some liquid in it at all times.”: in words of its own",
        "--escalate openai:MODEL",
        "mean faithfulness",
        "What the failures share",
        "The offline judge compares",
    ]
    assert [out.index(words) for words in order] == sorted(out.index(words) for words in order)
    assert out.count("offline judge") == 1


def test_status_counts_them(folder, capsys):
    assert (
        "2 of the judged need a judge that can tell"
        in said(capsys, "judge", "status", "run", "--root", folder.parent)[1]
    )
    shown = json.loads(said(capsys, "judge", "status", "run", "--root", folder.parent, "--json")[1])
    assert shown["iterations"][0]["untold"] == 2


def test_calibration_has_nothing_to_compare_with(folder, capsys):
    labels = {name: {"faithfulness": 4} for name in ("care", "built", "hours")}
    found = calibrate(read(folder / "records" / "records-iteration-1.json"), labels, RUBRIC)
    assert (found["n"], found["needJudge"], found["labelsWithoutRecord"]) == (2, ["cards", "care"], [])
    assert found["axes"]["faithfulness"]["n"] == 2
    (folder.parent / "labels.json").write_text(json.dumps(labels))
    out = said(capsys, "judge", "calibrate", "run", folder.parent / "labels.json", "--root", folder.parent)[1]
    assert "2 samples need a judge" in out


def test_a_panel_counts_them_as_missing(folder, tmp_path):
    recording = tmp_path / "all.json"
    recording.write_text(json.dumps({name: dict.fromkeys(AXES, 4) for name in SAMPLES}))
    settings = {"judge_provider": "replay", "judge_model": str(recording), "rubric": RUBRIC}
    judge(CASES, EvaluationConfig(output_dir="other", root=tmp_path, **settings))
    found = build_panel([panel_run(name, read_ledger(tmp_path / name)) for name in ("run", "other")])
    assert found.judges[0].missing == ["cards", "care"]
    assert len(found.samples) == 7
    assert not found.is_complete


def test_a_replay_repeats_that_it_cannot_be_told(folder, tmp_path):
    settings = {"judge_provider": "replay", "judge_model": str(folder), "rubric": RUBRIC}
    again = judge(CASES, EvaluationConfig(output_dir="again", root=tmp_path, **settings))
    assert [record["id"] for record in again.records[0] if record.get("needsJudge")] == ["cards", "care"]
    assert not again.results.iterations[0].errors


def test_a_history_keeps_them_finds_them_and_exports_them(folder, tmp_path):
    for with_text in (True, False):
        with open_history(tmp_path / f"{with_text}.db") as history:
            run = history.add_judged(folder, Provenance(with_text=with_text))
            figures = history.run(run).figures
            assert (figures.total, figures.failures, figures.untold, figures.pass_rate) == (9, 4, 2, 33.3)
            named = {one.query_log_id for one in history.samples(run, outcome="needs_judge").items}
            assert named == {"cards", "care"}
            assert history.samples(run, outcome="fail").total == 4
            assert history.samples(run, outcome="error").total == 0
            drawn = history.judged(run)
            assert [drawn.ending(sample) for sample in drawn.last.records].count("needs a judge") == 2
            (tmp_path / "run.json").write_text("".join(history.export(run)))
            with open_history(tmp_path / f"{with_text}-again.db") as other:
                again = other.add(tmp_path / "run.json", Provenance(with_text=with_text))
                assert other.samples(again, outcome="needs_judge").total == 2
                assert not any(run.damage for run in other.check())


def test_the_command_compares_and_lists_runs_with_them(folder, tmp_path):
    compared = synthesis("compare", folder, folder, cwd=tmp_path)
    assert compared.returncode == 0, compared.stderr
    assert "7 samples judged in both runs" in compared.stdout
    assert "need a judge in one of the runs: 2" in compared.stdout
    added = synthesis("history", "add", folder, "--history", tmp_path / "h.db", cwd=tmp_path)
    assert added.returncode == 0, added.stderr
    shown = synthesis("history", "show", "latest", "--history", tmp_path / "h.db", cwd=tmp_path)
    assert "2 need a judge" in shown.stdout
    assert "needs a judge care (iteration 1)" in shown.stdout
