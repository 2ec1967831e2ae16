"""The minimal pairs of corpus/answers: whole, drawn by subject, and readable in every part."""

from collections import Counter

import pytest

from corpus.minimal_pairs import ANSWERS, DOUBT, KINDS, LABELS, SUPPORTED, documents

PARTS = {"read": 5, "scored": 10, "sealed": 5}  # subjects of each
LANGUAGES = ("de", "en", "es", "th")
WRITERS = 2  # documents on a subject in each language


@pytest.fixture(scope="module")
def by_part():
    return {part: list(documents(part)) for part in PARTS}


def test_each_language_has_the_same_subjects_in_each_part(by_part):
    for part, number in PARTS.items():
        subjects = {code: {one.subject for one in by_part[part] if one.language == code} for code in LANGUAGES}
        assert len({frozenset(found) for found in subjects.values()}) == 1
        assert len(subjects["en"]) == number
        assert Counter(one.language for one in by_part[part]) == dict.fromkeys(LANGUAGES, WRITERS * number)


def test_no_subject_is_in_two_parts(by_part):
    subjects = [one.subject for part in PARTS for one in by_part[part] if one.language == "en"]
    assert Counter(subjects) == dict.fromkeys(subjects, WRITERS)


def test_each_document_has_a_pair_of_each_kind_and_a_label_for_each_answer(by_part):
    for part in PARTS:
        for one in by_part[part]:
            assert Counter(answer.kind for answer in one.answers) == dict.fromkeys(KINDS, 2)
            assert {answer.label for answer in one.answers} <= set(LABELS)
            assert all(answer.question.strip() and answer.answer.strip() for answer in one.answers)
            for kind in KINDS:
                pair = [answer.label for answer in one.answers if answer.kind == kind]
                assert DOUBT in pair or pair.count(SUPPORTED) == 1, (one.id, kind)


def test_ids_and_answers_are_told_apart(by_part):
    answers = [answer for part in PARTS for one in by_part[part] for answer in one.answers]
    assert len({answer.id for answer in answers}) == len(answers) == 3200


def test_the_labels_of_the_sealed_part_are_not_to_be_read_by_accident():
    for path in ANSWERS.glob("*.jsonl"):
        for line in path.read_text(encoding="utf-8").splitlines():
            assert '"part": "sealed"' not in line or '"label": "supported"' not in line
