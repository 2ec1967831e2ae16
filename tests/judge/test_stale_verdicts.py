"""A verdict on an earlier text is no verdict: console, files, gate, report, history and comparison say the same."""

import asyncio
import json

import pytest
from click.testing import CliRunner
from running import QUICK, config_for, judge, read, sample_case, sample_cases, write_set
from server import JudgeServer, scores_of

from synthesis.cli.main import call, main
from synthesis.history import Provenance, open_history
from synthesis.judge.calibration import calibrate
from synthesis.judge.journal import read_ledger
from synthesis.judge.panel import build_panel, panel_run
from synthesis.judge.results import read_run
from synthesis.judge.rubric import load_rubric
from synthesis.judge.run import EvaluationConfig, run_evaluation
from synthesis.report.judged import html
from synthesis.report.judged.run import compare_runs
from synthesis.report.markdown import render_judged

COUNT = 12
ITERATIONS = 2
FRESH = range(4, COUNT)  # the answers of the first four have changed


def changed():
    return [sample_case(n) if n in FRESH else sample_case(n, "It leaves at ten.") for n in range(COUNT)]


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A run whose first four verdicts are about earlier answers."""
    root = tmp_path_factory.mktemp("kept")
    with JudgeServer() as server:
        judge(sample_cases(COUNT), config_for(server, root, iterations=ITERATIONS))
        result = judge(changed(), config_for(server, root, iterations=ITERATIONS, on_change="keep"))
    assert result.calls == 0
    return result


def passes(number):
    return min(scores_of(f"sample-{number}")) >= 4


PASSED = sum(map(passes, FRESH))


def test_the_metrics_are_about_the_present_texts(kept):
    for metrics in kept.metrics:
        assert (metrics["judged"], metrics["stale"], metrics["notJudged"]) == (len(FRESH), COUNT - len(FRESH), 0)
        rate = metrics["overallPassRate"]
        assert (rate["numerator"], rate["denominator"]) == (PASSED, COUNT)
        assert (rate["judgedOnly"]["numerator"], rate["judgedOnly"]["denominator"]) == (PASSED, len(FRESH))
        assert metrics["averageFaithfulnessScore"]["denominator"] == len(FRESH)
        assert sum(metrics["faithfulnessDistribution"].values()) == len(FRESH)


def test_the_gate_reads_the_rate_that_the_metrics_tell(kept):
    assert kept.gate_rate == pytest.approx(PASSED / COUNT)
    assert kept.gate_rate == pytest.approx(kept.metrics[0]["overallPassRate"]["value"])
    assert not kept.complete


def test_failure_analysis_cost_and_final_metrics_are_about_the_same_records(kept):
    analysis = read(kept.folder / "low-faithfulness" / "low-faithfulness-iteration-1.json")
    assert (analysis["totalSamples"], analysis["totalLowQuality"]) == (len(FRESH), len(FRESH) - PASSED)
    assert read(kept.folder / "cost" / "cost-iteration-1.json")["samples"] == len(FRESH)
    final = kept.final_metrics
    assert len(final["stability"]["samples"]) == len(FRESH)
    assert final["stability"]["sampleCount"] == COUNT
    assert final["agreement"]["faithfulness"]["samples"] == len(FRESH)


def test_the_records_keep_what_was_said_and_mark_it(kept):
    records = read(kept.folder / "records" / "records-iteration-1.json")
    assert [record.get("stale", False) for record in records] == [n not in FRESH for n in range(COUNT)]


def test_the_progress_file_tells_what_is_done(kept):
    progress = read(kept.folder / "iteration-1" / ".progress.json")
    assert progress["statistics"]["completedQuestions"] == len(progress["entries"]) == len(FRESH)
    assert progress["statistics"]["pendingQuestions"] == COUNT - len(FRESH)


def test_the_progress_of_a_run_counts_no_stale_verdict_as_done(tmp_path):
    seen = []
    with JudgeServer() as server:
        judge(sample_cases(3), config_for(server, tmp_path))
        cases = [sample_case(0, "Another."), *sample_cases(3)[1:]]
        config = config_for(server, tmp_path, on_change="keep")
        asyncio.run(run_evaluation(cases, config, observer=seen.append))
    assert (seen[-1].total, seen[-1].done, seen[-1].left_stale) == (3, 2, 1)


def test_the_console_and_the_status_say_the_same(kept):
    root = kept.folder.parent
    told = CliRunner().invoke(main, ["judge", "report", "run", "--root", str(root)]).output
    assert f"{PASSED} of {COUNT}" in told
    assert "4 stale" in told
    assert not [number for number in range(COUNT) if number not in FRESH and f"log-{number}:" in told]
    status = CliRunner().invoke(main, ["judge", "status", "run", "--root", str(root)]).output
    assert f"{len(FRESH)} judged, 4 stale, 0 failed, 0 pending" in status


def test_the_reports_list_stale_samples_apart(kept):
    run = read_run(kept.folder)
    assert {sample.query_log_id for sample in run.failed()} == {f"log-{n}" for n in FRESH if not passes(n)}
    page = "".join(html.render(run))
    before, _, rest = page.partition("Stale: 4")
    stale, _, after = rest.partition("</section>")
    assert "log-0" in stale
    assert "log-0" not in before + after
    assert "log-0" not in "".join(render_judged(run))


def test_a_comparison_leaves_them_out(kept, tmp_path):
    with JudgeServer() as server:
        judge(changed(), config_for(server, tmp_path, iterations=ITERATIONS))
    found = compare_runs(read_run(kept.folder), read_run(tmp_path / "run"))
    assert found.in_both == len(FRESH)
    assert list(found.only_after) == [f"log-{n}" for n in range(COUNT) if n not in FRESH]


def test_calibration_and_panel_leave_them_out(kept, tmp_path):
    labels = {f"log-{n}": {"faithfulness": 3} for n in range(COUNT)}
    found = calibrate(read(kept.folder / "records" / "records-iteration-1.json"), labels, load_rubric("rag"))
    assert (found["n"], found["records"]) == (len(FRESH), len(FRESH))
    with JudgeServer() as server:
        judge(changed(), config_for(server, tmp_path, judge_model="gpt-4.1-mini"))
    runs = [panel_run(name, read_ledger(folder)) for name, folder in (("a", kept.folder), ("b", tmp_path / "run"))]
    panel = build_panel(runs)
    assert len(panel.samples) == len(FRESH)
    assert panel.judges[0].missing == [f"log-{n}" for n in range(COUNT) if n not in FRESH]


def test_a_recording_does_not_replay_them(kept, tmp_path):
    config = EvaluationConfig(
        output_dir="again", root=tmp_path, judge_provider="replay", judge_model=str(kept.folder), patience=QUICK
    )
    result = judge(sample_cases(COUNT), config)
    assert [error["reason"] for error in result.results.iterations[0].errors] == [
        "the recording has no verdict on this sample"
    ] * (COUNT - len(FRESH))


def test_the_history_has_no_verdict_on_them(kept, tmp_path):
    with open_history(tmp_path / "history.db") as history:
        run_id = history.add_judged(kept.folder, Provenance(with_text=True))
        figures = history.run(run_id).figures
        assert (figures.total, figures.failures) == (ITERATIONS * COUNT, ITERATIONS * (COUNT - PASSED))
        assert history.samples(run_id, iteration=1, outcome=("pass", "fail")).total == len(FRESH)
        first = history.samples(run_id).items[0]
        assert (first.passed, first.faithfulness, first.record["stale"]) == (None, None, True)
        assert compare_runs(history.judged(run_id), read_run(kept.folder)).in_both == len(FRESH)
        assert {position for position, _ in history.labels(run_id)._samples()} == set(FRESH)
        document = "".join(history.export(run_id))
    (tmp_path / "run.json").write_text(document)
    with open_history(tmp_path / "other.db") as history:
        history.add(tmp_path / "run.json", Provenance(with_text=True))
        assert history.samples(run_id, iteration=1, outcome=("pass", "fail")).total == len(FRESH)
    shown = CliRunner().invoke(main, ["history", "show", run_id, "--history", str(tmp_path / "history.db")]).output
    assert "stale log-0 (iteration 1)" in shown


def test_the_exit_code_is_3_with_or_without_a_gate(kept, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-a-key-that-must-never-be-written-down")
    path = write_set(tmp_path / "set.json", changed())
    given = ["judge", "run", str(path), "--root", str(kept.folder.parent), "--output-dir", "run", "--iterations"]
    judge_options = ["--judge-provider", "openai", "--judge-model", "gpt-4o-mini", "--judge-seed", "7"]
    args = [*given, str(ITERATIONS), *judge_options, "--base-url", "http://127.0.0.1:9/v1", "--on-change", "keep"]
    for more in ([], ["--fail-under", "0.01"], ["--json"]):
        capsys.readouterr()
        assert call([*args, *more]) == 3
    told = json.loads(capsys.readouterr().out)
    assert told["iterations"][0]["metrics"]["judged"] == len(FRESH)
