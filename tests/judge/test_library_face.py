"""The library: one call judges a set, each stage works alone, and importing it costs little."""

import asyncio
import subprocess
import sys

import pytest
from running import read, sample_cases

import synthesis.judge as library
from synthesis.io import TEST_SETS


def test_every_public_name_is_there_and_in_order():
    assert library.__all__ == sorted(library.__all__)
    for name in library.__all__:
        assert getattr(library, name).__name__ == name
    assert set(library._HOMES) == set(library.__all__)
    with pytest.raises(AttributeError):
        _ = library.nothing_of_that_name


def test_importing_it_imports_nothing_heavy():
    heavy = "[m for m in ('pydantic_ai', 'openai', 'rich') if m in sys.modules]"
    code = f"import sys, synthesis.judge; print({heavy})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_offline_judge_runs_without_the_clients_libraries(tmp_path):
    code = (
        "import sys; sys.modules.update(dict.fromkeys(['pydantic_ai', 'openai', 'genai_prices'], None));"
        "from synthesis.cli.main import call;"
        "sys.exit(call(['judge', 'run', '--root', sys.argv[1], '--allow-untold', '1']))"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_one_call_judges_a_set(tmp_path):
    seen = []
    config = library.EvaluationConfig(output_dir="mine", root=tmp_path, iterations=2)
    cases = library.load_test_set(TEST_SETS / "courses.json")
    result = asyncio.run(library.run_evaluation(cases, config, observer=seen.append))
    assert result.complete
    assert [len(records) for records in result.records] == [8, 8]
    assert [metrics["iteration"] for metrics in result.metrics] == [1, 2]
    assert result.final_metrics["iterations"] == 2
    assert result.records[0] == tuple(read(tmp_path / "mine" / "records" / "records-iteration-1.json"))
    assert (seen[0].done, seen[-1].done, seen[-1].total) == (0, 16, 16)


def test_each_stage_works_alone(tmp_path):
    [case] = sample_cases(1)
    rubric = library.load_rubric("rag")
    verdict = library.OfflineJudge().judge(case, rubric)
    record = library.make_record(case, verdict, rubric)
    assert record["overallScore"] == rubric.overall(verdict)
    assert record["passed"] == rubric.passed(verdict)
    figures = library.iteration_metrics(
        [record], rubric, iteration=1, timestamp="now", total=1, errors=0, not_judged=0, stale=0
    )
    assert figures["sampleCount"] == 1
    assert library.failure_analysis([record], rubric)["totalSamples"] == 1


def test_a_record_has_the_shape_of_the_contract(tmp_path):
    config = library.EvaluationConfig(output_dir="mine", root=tmp_path)
    cases = library.load_test_set(TEST_SETS / "courses.json")
    result = asyncio.run(library.run_evaluation(cases, config))
    assert list(result.records[0][0])[:8] == [
        "queryLogId",
        "question",
        "systemAnswer",
        "judgeVerdict",
        "overallScore",
        "passed",
        "courseCount",
        "tokenUsage",
    ]
    assert set(result.records[0][0]["judgeVerdict"]) == {"faithfulness", "completeness"}
    assert 0 <= result.records[0][0]["details"]["support"] <= 1


def test_the_offline_judge_gives_the_same_bytes_every_time(tmp_path):
    for name in ("one", "two"):
        config = library.EvaluationConfig(output_dir="mine", root=tmp_path / name, concurrency=1 + len(name))
        asyncio.run(library.run_evaluation(library.load_test_set(TEST_SETS / "passages.json"), config))
    one, two = ((tmp_path / name / "mine/records/records-iteration-1.json").read_bytes() for name in ("one", "two"))
    assert one == two
