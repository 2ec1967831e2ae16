"""Rubrics are data: axes are free, figures follow them, and a wrong file is told with its line."""

import pytest
from running import config_for, judge, read, sample_cases
from server import JudgeServer, good_content, says

from synthesis.errors import OptionError, TestSetError
from synthesis.judge.model import Course, TestCase
from synthesis.judge.rubric import bundled_rubrics, default_rubric, load_rubric, rubric_hash

LEVELS = "".join(f"\n      - {{score: {n}, label: L{n}, meaning: m{n}}}" for n in range(1, 6))
OWN = f"""name: own
version: "1"
instructions: Look closely.
axes:
  - name: warmth
    question: Is it warm?
    passAt: 3
    levels:{LEVELS}
"""


def test_three_rubrics_are_bundled_and_the_context_chooses():
    assert bundled_rubrics() == ("course", "rag", "relational")
    assert default_rubric([TestCase("a", "q", "a", ("text",))]).name == "rag"
    assert default_rubric([TestCase("a", "q", "a", (Course("C", "N"),))]).name == "course"


@pytest.mark.parametrize("name", ["course", "rag"])
def test_the_two_axes_follow_the_contract(name):
    axes = {axis.name: axis for axis in load_rubric(name).axes}
    assert list(axes) == ["faithfulness", "completeness"]
    assert [axis.pass_at for axis in axes.values()] == [4, 4]
    keys = {name: {level.score: level.key for level in axis.levels if level.key} for name, axis in axes.items()}
    assert keys["faithfulness"] == {1: "completelyFalse", 2: "mostlyFalse", 3: "mixed"}
    assert keys["completeness"] == {1: "fail", 2: "weak", 3: "descriptiveOnly"}


def test_evidence_checks_belong_to_the_course_rubric_alone():
    assert "Existence" in load_rubric("course").instructions
    assert "Content" in load_rubric("course").instructions
    assert "course" not in load_rubric("rag").instructions


def test_metrics_analysis_and_progress_follow_a_rubric_with_other_axes(tmp_path):
    path = tmp_path / "own.yaml"
    path.write_text(OWN)
    content = says(good_content("sample-0", ["warmth"]))
    with JudgeServer({"sample-0": [content]}) as server:
        result = judge(sample_cases(1), config_for(server, tmp_path, rubric=load_rubric(path)))
    [record] = result.records[0]
    assert list(record["judgeVerdict"]) == ["warmth"]
    assert record["overallScore"] == 1
    assert "warmthPassRate" in result.metrics[0]
    progress = read(tmp_path / "run" / "iteration-1" / ".progress.json")
    assert progress["entries"][0]["result"] == {"warmthScore": 1, "passed": False}
    analysis = read(tmp_path / "run" / "low-faithfulness" / "low-faithfulness-iteration-1.json")
    assert "byWarmthReason" in analysis


def test_a_comment_changes_nothing_a_meaning_does(tmp_path):
    path = tmp_path / "own.yaml"
    path.write_text(OWN)
    before = rubric_hash(load_rubric(path))
    path.write_text("# a remark\n" + OWN)
    assert rubric_hash(load_rubric(path)) == before
    path.write_text(OWN.replace("m3", "something else"))
    assert rubric_hash(load_rubric(path)) != before


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("passAt: 3", "passAt: 9", 7, "from 1 to 5, not 9"),
        ("passAt: 3", "passAt: high", 7, "Expected `int`"),
        ("score: 5", "score: 4", 9, "each score from 1 to 5"),
        ("name: warmth", "name: Warmth of tone", 5, "is not an axis name"),
        ("question:", "queries:", 5, "missing required field `question`"),
        ("name: own\n", "name: own\nname: twice\n", 2, "appears twice"),
        ('version: "1"', "version: [", None, "not valid YAML"),
        ("axes:", "axes: []\nunused:", 4, "at least one axis"),
    ],
)
def test_a_wrong_file_is_told_with_its_line(tmp_path, old, new, line, message):
    path = tmp_path / "own.yaml"
    assert old in OWN
    path.write_text(OWN.replace(old, new))
    with pytest.raises(TestSetError, match=message) as caught:
        load_rubric(path)
    assert caught.value.place.file == str(path)
    assert line is None or caught.value.place.line == line


@pytest.mark.parametrize("content", [b"\xff\xfe", b"", b"- a\n- b\n", b"{{{"])
def test_a_file_that_is_no_rubric_is_refused(tmp_path, content):
    path = tmp_path / "own.yaml"
    path.write_bytes(content)
    with pytest.raises(TestSetError):
        load_rubric(path)


def test_a_missing_rubric_is_told():
    with pytest.raises(OptionError, match="Did you mean 'course'"):
        load_rubric("curse")
    with pytest.raises(TestSetError, match="cannot be read"):
        load_rubric("nowhere/own.yaml")
