"""Judged runs as a page and as Markdown, and two of them compared."""

import asyncio
import json
from pathlib import Path

import msgspec
import pytest
from helpers import CommandLine

from synthesis.judge import EvaluationConfig, run_evaluation
from synthesis.judge.results import read_run
from synthesis.judge.testset import parse_test_cases
from synthesis.report.judged.run import compare_runs

CONTEXT = ["The ferry leaves at 7:10 on weekdays.", "Cars must be booked one day ahead."]
RIGHT = "The ferry leaves at 7:10 on weekdays."
WRONG = "The <b>ferry</b> leaves at 9:45 on weekdays, and lunch is free."


def judged(folder: Path, name: str, answers: list[str]) -> Path:
    rows = [
        {"queryLogId": f"q-{n}", "question": "When does the ferry leave on weekdays?", "answer": a, "context": CONTEXT}
        for n, a in enumerate(answers)
    ]
    config = EvaluationConfig(output_dir=name, root=folder, iterations=2)
    asyncio.run(run_evaluation(parse_test_cases(rows, "set.json"), config))
    return folder / name


@pytest.fixture
def runs(cli: CommandLine) -> tuple[Path, Path]:
    root = cli.folder / "runs"
    return judged(root, "old", [RIGHT] * 9), judged(root, "new", [RIGHT] + [WRONG] * 8)


def test_the_page_shows_outcome_rates_and_claims_and_escapes_everything(
    cli: CommandLine, runs: tuple[Path, Path]
) -> None:
    assert cli("judge", "report", "new", "--root", "runs", "--format", "html").code == 0
    page = (runs[1] / "report.html").read_text(encoding="utf-8")
    assert "9 of 9 samples told offline" in page
    assert ">✓ 1 passed</a>" in page
    assert ">✗ 8 failed</a>" in page
    assert page.index("mean faithfulness") < page.index("mean completeness (not validated)")
    assert "Completeness (not validated)" in page
    assert "95 % interval" in page
    assert "The iterations are alike" in page  # so how far the judge agrees with itself is not told
    for corner in ("Persuasive but wrong", "Accurate but useless", "Right and helpful", "Wrong and useless"):
        assert corner in page
    assert "&lt;b&gt;ferry&lt;/b&gt;" in page
    assert "<b>ferry</b>" not in page
    assert "<script" not in page
    assert page.index("q-1") < page.index(">q-0<")  # what did not pass comes first


def test_the_markdown_is_short_and_escaped(cli: CommandLine, runs: tuple[Path, Path]) -> None:
    out = cli.folder / "summary.md"
    assert cli("judge", "report", "new", "--root", "runs", "--format", "markdown", "--out", out).code == 0
    text = out.read_text(encoding="utf-8")
    assert "9 of 9 samples told offline: 1 passed, 8 failed" in text
    assert "1 of 9 pass, 11.1 %" in text
    assert len(text) < 8000


def test_two_runs_are_compared_by_sample(cli: CommandLine, runs: tuple[Path, Path]) -> None:
    outcome = cli("compare", runs[0], runs[1], "--fail-on-regression")
    assert outcome.code == 2
    assert "9 samples judged in both runs" in outcome.out
    assert "newly failing: 8" in outcome.out
    assert "pass rate 100.0 % -> 11.1 %" in outcome.out
    assert "worse" in outcome.out
    assert cli("compare", runs[1], runs[0], "--fail-on-regression").code == 0
    told = json.loads(cli("compare", runs[0], runs[1], "--json").out)
    assert told["newly_failing"] == [f"q-{n}" for n in range(1, 9)]


def test_a_run_compared_with_itself_is_neither_better_nor_worse(cli: CommandLine, runs: tuple[Path, Path]) -> None:
    assert "no difference shown" in cli("compare", runs[0], runs[0]).out


def test_another_judge_or_rubric_is_another_ruler(runs: tuple[Path, Path]) -> None:
    before, after = map(read_run, runs)
    assert compare_runs(before, after).verdict == "worse"
    for change in ({"judge": "another"}, {"rubric": "another"}):
        found = compare_runs(before, msgspec.structs.replace(after, **change))
        assert found.newly_failing == compare_runs(before, after).newly_failing
        assert (found.verdict, found.ruler_changes) == ("measured differently", list(change))


def test_a_folder_that_is_no_run_is_refused(cli: CommandLine, runs: tuple[Path, Path]) -> None:
    outcome = cli("compare", runs[0], cli.folder)
    assert outcome.code == 1
    assert "Traceback" not in outcome.err
