"""Every JSON example of the handbook page is accepted by what it documents."""

import json
import re
from pathlib import Path

import pytest

from synthesis.judge import calibration, querylog, testset

PAGE = Path(__file__).parents[2] / "docs" / "testsets.md"
EXAMPLES = re.findall(r"^```json ([\w-]+)\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.M | re.S)


def stored(tmp_path, kind):
    for number, (name, text) in enumerate(EXAMPLES):
        if name == kind:
            path = tmp_path / f"{kind}-{number}.json"
            path.write_text(text, encoding="utf-8")
            yield path


def test_test_sets_load(tmp_path):
    passages, courses = (testset.load_test_set(path) for path in stored(tmp_path, "testset"))
    assert courses[0].context[0].skills[0].skill == "clock repair"
    assert passages[0].context[1] == "It is closed on Sundays."


def test_the_lines_of_another_tool_load(tmp_path):
    (text,) = (text for name, text in EXAMPLES if name == "testset-lines")
    (tmp_path / "set.jsonl").write_text(text, encoding="utf-8")
    first, second = testset.load_test_set(tmp_path / "set.jsonl")
    assert (first.answer, second.answer, second.context) == ("At nine.", "", ("It is closed on Sundays.",))


def test_answers_and_contexts_join(tmp_path):
    (answers,), (contexts,) = stored(tmp_path, "answers"), stored(tmp_path, "contexts")
    assert len(testset.join_files(answers, contexts)) == 1


def test_the_log_row_becomes_a_case(tmp_path):
    (row,) = (json.loads(text) for name, text in EXAMPLES if name == "log")
    path = tmp_path / "log.jsonl"
    path.write_text(json.dumps(row), encoding="utf-8")
    (built,) = querylog.build_test_set(str(path), querylog.Selection()).objects
    assert (built["answer"], built["duration"], built["promptVersion"]) == ("Take CRA-210.", 1840, "v3")


@pytest.mark.parametrize("number", [0, 1])
def test_both_forms_of_labels_say_the_same(tmp_path, number):
    path = list(stored(tmp_path, "labels"))[number]
    assert calibration.load_labels(path) == {"q-1": {"faithfulness": 4, "completeness": 2}}


def test_every_field_and_name_of_a_row_is_in_the_table():
    from synthesis.judge.querylog import NAMES

    page = PAGE.read_text(encoding="utf-8")
    assert [name for names in NAMES.values() for name in names if f"`{name}`" not in page] == []
