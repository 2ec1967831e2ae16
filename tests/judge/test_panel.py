"""Several judges on the same samples: medians, agreement, where they differ most, and which runs are refused."""

import json
import random
from collections import Counter

import pytest
from click.testing import CliRunner
from running import judge, sample_case, synthesis

from synthesis.cli.main import main
from synthesis.errors import OptionError, RunFolderError
from synthesis.judge.ledger import Identity
from synthesis.judge.panel import PanelRun, build_panel, lower_median
from synthesis.judge.run import EvaluationConfig
from synthesis.report.judged.run import Iteration, JudgedRun, JudgedSample, SavedScore
from synthesis.stats import bootstrap_interval, krippendorff_alpha

# K. Krippendorff (2011), "Computing Krippendorff's Alpha-Reliability", example C: four observers, missing data.
TEXTBOOK = ["1 2 3 3 2 1 4 1 2 . . .", "1 2 3 3 2 2 4 1 2 5 . 3", ". 3 3 3 2 3 4 2 2 5 1 .", "1 2 3 3 2 4 4 1 2 5 1 ."]


def sample(name, score, *, stale=False):
    said = {"faithfulness": SavedScore(score)}
    return JudgedSample(
        query_log_id=name, judge_verdict=said, overall_score=float(score), passed=score >= 4, stale=stale
    )


def run(name, scores, *, model=None, rubric="rag:1", texts=None, stale=(), provider="openai"):
    """A run with one axis; None is a sample without a verdict."""
    records = tuple(sample(id_, score, stale=id_ in stale) for id_, score in scores.items() if score is not None)
    judged = JudgedRun(name, f"{provider} ({model or name})", "rag", (("faithfulness", 4),), (_last(records),))
    return PanelRun(
        name, Identity(provider, model or name, "v1", rubric, ""), judged, texts or dict.fromkeys(scores, "t")
    )


def _last(records):
    return Iteration(1, {}, {}, {}, records, ())


def of(*rows):
    """Runs a, b, ... with the scores of one row each; a dot is a missing score."""
    return [
        run(name, {f"q-{n}": None if s == "." else int(s) for n, s in enumerate(row.split(), 1)})
        for name, row in zip("abcdef", rows, strict=False)
    ]


@pytest.mark.parametrize(("scores", "middle"), [([5, 1, 4], 4), ([2, 5], 2), ([4, 1, 5, 3], 3), ([3], 3)])
def test_the_median_is_a_score_that_a_judge_gave_the_lower_one_of_two(scores, middle):
    assert lower_median(scores) == middle


def test_alpha_of_the_textbook_example_with_missing_data():
    found = build_panel(of(*TEXTBOOK))
    [axis] = found.axes
    assert axis.agreement.alpha == pytest.approx(0.815, abs=5e-4)
    assert found.left_out.fewer_than_two_verdicts == ["q-12"]  # one score cannot agree with anything
    assert len(found.samples) == 11
    assert [judge.missing for judge in found.judges] == [["q-10", "q-11", "q-12"], ["q-11"], ["q-1", "q-12"], ["q-12"]]
    assert not found.is_complete


def test_alpha_and_median_of_two_judges_by_hand():
    # Units (1,1) (1,2) (2,2): three scores of each, distance (6 - 3)^2 = 9; observed 9, expected 3 * 3 * 9 / 5.
    found = build_panel(of("1 1 2", "1 2 2"))
    [axis] = found.axes
    assert axis.agreement.alpha == pytest.approx(1 - 9 / (81 / 5))
    assert [one.median["faithfulness"] for one in found.samples] == [1, 1, 2]
    assert axis.mean_of_medians == pytest.approx(4 / 3)
    assert axis.medians == {"score1": 2, "score2": 1, "score3": 0, "score4": 0, "score5": 0}


def test_alpha_with_unequal_numbers_of_scores_by_hand():
    # (1,1,3) and (3,3), three judges: n1 = 2, n3 = 3, distance (5 - 2.5)^2 = 6.25.
    # Observed 2 * 1 * 6.25 / 2 = 6.25; expected 2 * 3 * 6.25 / 4 = 9.375; alpha = 1 - 6.25 / 9.375 = 1/3.
    assert krippendorff_alpha({(1, 1, 3): 1, (3, 3): 1}) == pytest.approx(1 / 3)
    assert build_panel(of("1 3", "1 3", "3 .")).axes[0].agreement.alpha == pytest.approx(1 / 3)


def test_the_interval_is_over_samples_seeded_and_the_same_in_any_order():
    scores = random.Random(3)
    rows = [[scores.randint(1, 5) for _ in range(40)] for _ in range(3)]
    units = [tuple(sorted(unit)) for unit in zip(*rows, strict=True)]
    found = build_panel(of(*(" ".join(map(str, row)) for row in rows))).axes[0].agreement
    assert found.interval == bootstrap_interval(reversed(units), krippendorff_alpha)
    low, high = found.interval
    assert low < found.alpha < high
    assert high - low < 0.6
    narrow = bootstrap_interval(units * 16, krippendorff_alpha)  # sixteen times the samples: a quarter of the width
    assert (high - low) / (narrow[1] - narrow[0]) == pytest.approx(4, rel=0.2)


def test_alpha_is_the_same_to_the_last_digit_in_any_order():
    scores = random.Random(5)
    units = [tuple(sorted(scores.choices(range(1, 6), k=4))) for _ in range(60)]
    found = {krippendorff_alpha(Counter(scores.sample(units, len(units)))) for _ in range(50)}
    assert len(found) == 1


def test_agreement_without_variation_is_undefined_with_a_reason():
    [axis] = build_panel(of("4 4", "4 4")).axes
    assert (axis.agreement.alpha, axis.agreement.interval) == (None, None)
    assert "same score throughout" in axis.agreement.reason


def test_so_few_samples_have_no_interval_but_say_why():
    [axis] = build_panel(of("1 2 3 4 5", "1 2 3 5 5")).axes
    assert axis.agreement.alpha is not None
    assert (axis.agreement.interval, axis.agreement.reason) == (None, "no interval for fewer than 6 samples")
    [axis] = build_panel(of("1 2 3 4 5 1", "1 2 3 5 5 2")).axes
    assert axis.agreement.interval is not None


def test_where_judges_differ_most_comes_first_with_the_scores_of_each():
    found = build_panel(of("5 4 1 3", "5 3 5 4", "5 4 4 3"))
    assert found.differ_most == ["q-3", "q-2", "q-4"]
    worst = found.most_different(1)[0]
    assert worst.scores == {"a": {"faithfulness": 1}, "b": {"faithfulness": 5}, "c": {"faithfulness": 4}}
    assert (worst.median, worst.spread, worst.passed, worst.split) == (
        {"faithfulness": 4},
        {"faithfulness": 4},
        True,
        True,
    )
    assert (found.passed.numerator, found.split.numerator, found.split.denominator) == (3, 3, 4)
    assert [judge.means["faithfulness"] for judge in found.judges] == [3.25, 4.25, 4.0]
    assert found.is_complete


def test_one_run_or_the_same_run_twice_is_refused():
    with pytest.raises(OptionError, match="two runs or more"):
        build_panel(of("1 2"))
    with pytest.raises(OptionError, match="'a' is named twice"):
        build_panel([*of("1 2"), *of("1 2")])


def test_different_rubrics_are_refused_with_both_names():
    with pytest.raises(RunFolderError, match="'a' has rag:1, 'b' has course:2") as caught:
        build_panel([run("a", {"q": 1}), run("b", {"q": 1}, rubric="course:2")])
    assert "--rubric" in caught.value.hint


@pytest.mark.parametrize(
    ("second", "told"),
    [
        (run("b", {"x": 1}), "no sample in common"),
        (run("b", {"q": 1}, texts={"q": "other"}), "different texts"),
        (run("b", {"q": None}), "no sample has verdicts of two judges"),
        (run("b", {"q": 3}, stale=["q"]), "no sample has verdicts of two judges"),
    ],
)
def test_runs_without_a_sample_to_compare_are_refused(second, told):
    with pytest.raises(RunFolderError, match=told) as caught:
        build_panel([run("a", {"q": 1}), second])
    assert caught.value.hint


def test_what_is_left_out_is_counted_and_named():
    texts = {"both": "t", "changed": "other", "mine": "t"}
    found = build_panel(
        [run("a", {"both": 1, "changed": 2}), run("b", {"both": 1, "changed": 2, "mine": 5}, texts=texts)]
    )
    assert (found.left_out.only_in_one_run, found.left_out.different_texts) == (["mine"], ["changed"])
    assert any("different texts under the same id" in warning for warning in found.warnings)
    assert found.is_complete  # nothing is missing where the sets meet


def test_the_same_judge_twice_is_a_warning():
    twice = build_panel([run("a", {"q": 1}, model="m"), run("b", {"q": 2}, model="m")])
    assert any("a and b are by the same judge" in warning for warning in twice.warnings)
    assert not any("same judge" in warning for warning in build_panel(of("1", "2")).warnings)


# The command, over real run folders.


def replayed(folder, name, scores, **changes):
    """A run whose verdicts come from a recording."""
    verdicts = {f"log-{number}": dict.fromkeys(("faithfulness", "completeness"), s) for number, s in scores.items()}
    (folder / f"{name}.json").write_text(json.dumps(verdicts))
    cases = [sample_case(number) for number in range(4)]
    settings = {"output_dir": name, "root": folder / "runs", "judge_provider": "replay", **changes}
    judge(cases, EvaluationConfig(judge_model=str(folder / f"{name}.json"), **settings))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("panel")
    replayed(place, "mild", {0: 5, 1: 5, 2: 4, 3: 2})
    replayed(place, "strict", {0: 5, 1: 1, 2: 3, 3: 2})
    replayed(place, "partial", {0: 5, 1: 4})
    return place


def panel(folder, *args):
    return CliRunner().invoke(main, ["judge", "panel", *args, "--root", str(folder / "runs")], standalone_mode=False)


def test_the_command_prints_a_table_and_writes_the_panel(folder, tmp_path):
    done = panel(folder, "mild", "strict", "--out", str(tmp_path))
    assert done.return_value == 0, done.output
    assert "Panel of 2 judges, rubric rag: 4 samples" in done.stdout
    first = next(line for line in done.stdout.splitlines() if line.startswith("  log-"))
    assert first.startswith("  log-1: faithfulness mild 5, strict 1; completeness mild 5, strict 1: When does")
    written = json.loads((tmp_path / "panel.json").read_text())
    assert [written["format"], written["differMost"]] == [1, ["log-1", "log-2"]]
    assert written["samples"][1]["scores"]["mild"] == {"faithfulness": 5, "completeness": 5}
    again = panel(folder, "mild", "strict", "--out", str(tmp_path / "again.json"))
    assert again.return_value == 0
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "panel.json").read_bytes()


def test_markdown_holds_the_same_figures(folder):
    done = panel(folder, "mild", "strict", "--format", "markdown")
    assert "| faithfulness | alpha 0." in done.stdout
    assert "| **median** |" in done.stdout


def test_a_missing_verdict_ends_with_3_and_is_counted(folder):
    done = panel(folder, "mild", "partial")
    assert done.return_value == 3
    assert "partial has no verdict on 2 samples" in done.stderr
    assert "rubric rag: 2 samples" in done.stdout


def test_a_run_alone_and_a_run_that_is_not_there_end_with_1(folder, tmp_path):
    alone = synthesis("judge", "panel", "mild", "--root", folder / "runs", cwd=tmp_path)
    assert (alone.returncode, "two runs or more" in alone.stderr) == (1, True)
    absent = synthesis("judge", "panel", "mild", "absent", "--root", folder / "runs", cwd=tmp_path)
    assert absent.returncode == 1
    assert "absent" in absent.stderr
    assert "Traceback" not in absent.stderr
