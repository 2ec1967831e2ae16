"""The compiled reader says what of a reply is prose exactly as Python does, on any text."""

import json
import time
from pathlib import Path
from random import Random

import pytest
from both_readers import needs_library
from drawn_texts import INLINE, LINE_MARKS, SPACES, document, letters, quoting
from hypothesis import example, given, settings
from hypothesis import strategies as st
from native_functions import drafts, prose_of

from synthesis.io import CASES
from synthesis.rules import prose as python

pytestmark = needs_library
ROOT = Path(__file__).parent.parent.parent
LOWER_CASE_BY_PYTHON = set("Σİ")
FRAGMENTS = [*LINE_MARKS, *INLINE, *SPACES]
documents = st.lists(st.sampled_from(FRAGMENTS), max_size=16).map("".join) | st.text(max_size=60)


def same(pairs: list[tuple[str, str]]) -> int:
    """How many texts are not prose as a whole; both must say the same of all that are not declined."""
    changed = 0
    for (text, answers), found in zip(pairs, prose_of(pairs), strict=True):
        expected = python.prose(text, answers)
        assert found == expected or (found is None and LOWER_CASE_BY_PYTHON & set(text + answers)), (text, answers)
        changed += expected != text
    return changed


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 22))])
def test_prose_of_drawn_texts(seed: int) -> None:
    chance = Random(seed)
    pairs = [(document(chance), "") for _ in range(20_000)]
    assert same(pairs) > 4_000


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 22))])
def test_quotations_of_what_the_user_said(seed: int) -> None:
    chance = Random(seed)
    assert same([quoting(chance) for _ in range(6_000)]) > 1_000


@settings(max_examples=200)
@given(documents, documents)
@example('](http://a(b "c")', "")
@example("`a\n    b`\n    c", "")
@example("<!--\n\n-->     b", "")
@example("`http://a` WWW.b", "")  # addresses in capitals count beside another one only
@example("a|b\n\\|-|-|", "")
@example("- ```\n  a\nb", "")
@example("- " * 8 + "> a\n\nb", "")
@example("- " * 9 + "> a\n\nb", "")
@example("-    a\n\n       b", "")  # four spaces belong to the mark, five to the code behind it
@example("-     a\n\n       b", "")
@example("](\ua78f)", "")
@example("「我再也不想见任何人了真的」", "我再也不想见任何人了真的")
@example("x <!-- a\n\nb --> <!-- c -->", "")
def test_prose_of_any_text(text: str, answers: str) -> None:
    same([(text, answers)])


def test_many_quotations_are_looked_up_as_few_are() -> None:
    words = [f"w{number % 97}" for number in range(400)]
    quotations = [" ".join(words[start : start + 7]) for start in range(0, 390, 3)]
    replies = [" ".join(f'"{one}" "{one} no"' for one in some) for some in (quotations, quotations[:3], quotations[9:])]
    assert same([(reply, " ".join(words)) for reply in replies] + [(replies[0], "no " * 9)]) == len(replies)


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 12))])
def test_drafts_of_drawn_texts(seed: int) -> None:
    chance = Random(seed)
    for _ in range(8_000):
        case = letters(chance)
        assert drafts(*case) == python.drafts(*case), case
        text = document(chance)
        assert drafts(text) == python.drafts(text), text


def test_a_line_of_marks_alone_begins_with_its_first() -> None:
    case = "** \nBest", [(0, 0)], [(4, 8)]
    assert drafts(*case) == python.drafts(*case) == [(0, 8)]


@pytest.mark.parametrize("every", [20, pytest.param(1, marks=pytest.mark.slow)])
def test_on_replies(every: int) -> None:
    files = [*CASES.parent.glob("evals*.jsonl"), *ROOT.glob("corpus/rows/train/*.jsonl")]
    files += [*ROOT.glob("corpus/rows/read/*.jsonl"), *ROOT.glob("training/pairs/*.jsonl")]
    lines = [line for path in sorted(files) for line in path.read_text(encoding="utf-8").splitlines()]
    rows = [json.loads(line) for line in lines[::every]]
    pairs = [
        (value, row["user"])
        for row in rows
        for key, value in row.items()
        if key != "user" and isinstance(value, str) and isinstance(row.get("user"), str)
    ]
    assert prose_of(pairs) == [python.prose(*pair) for pair in pairs]
    assert [drafts(text) for text, _ in pairs] == [python.drafts(text) for text, _ in pairs]


HOSTILE = {
    *FRAGMENTS,
    "``` ` ",
    "`a``b",
    "a|b\n-|-\n",
    '](a "',
    "<a@",
    '"a b c d e f" ',
    "「ああああああああああああ」",
}


@pytest.mark.slow
@pytest.mark.parametrize("part", sorted(HOSTILE - {""}))
def test_the_time_grows_with_the_length(part: str) -> None:
    def seconds(length: int) -> float:
        text = (part * length)[:length]
        started = time.process_time()
        prose_of([(text, text)])
        drafts(text)
        return time.process_time() - started

    short = min(seconds(100_000) for _ in range(3))
    assert min(seconds(1_000_000) for _ in range(3)) < 25 * max(short, 0.004)
