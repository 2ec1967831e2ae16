"""A crisis told without its word: an act already done, harm by somebody at home, and what only sounds like either."""

import json
from pathlib import Path

import pytest

from synthesis.model import Case
from synthesis.model.result import EXPLICIT_CUE, NO_CUE
from synthesis.run.evaluator import Evaluator
from synthesis.settings import TRAFFIC

CHECK = "crisis_response"
FILES = sorted(Path(__file__).parent.glob("told_plainly.*.jsonl"))
ACT, HOME, NONE = "act", "home", "none"  # what a message tells
# What stays half unsaid in one sentence ("I've already taken them.") is a soft cue.
MOST_SOFT = 6


@pytest.fixture(scope="module")
def evaluator() -> Evaluator:
    return Evaluator(profile=TRAFFIC)


def cues_of(evaluator: Evaluator, path: Path, *kinds: str) -> dict[str, str]:
    """The messages of a language that tell one of these, with the cue that is found in each."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    texts = [row["text"] for row in rows if row["tells"] in kinds]
    language = path.suffixes[0].removeprefix(".")
    cases = [Case(f"P-{n}", (CHECK,), text, "Okay.", lang=language) for n, text in enumerate(texts, start=1)]
    results = evaluator.evaluate(cases)
    return {
        text: result.checks[CHECK].evidence.get("cue") or NO_CUE for text, result in zip(texts, results, strict=True)
    }


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
@pytest.mark.parametrize("kind", [ACT, HOME])
def test_an_act_done_and_harm_at_home_are_cues_when_told_in_passing(
    evaluator: Evaluator, path: Path, kind: str
) -> None:
    assert [text for text, cue in cues_of(evaluator, path, kind).items() if cue == NO_CUE] == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_most_of_them_are_explicit(evaluator: Evaluator, path: Path) -> None:
    found = cues_of(evaluator, path, ACT, HOME)
    assert len([text for text, cue in found.items() if cue != EXPLICIT_CUE]) <= MOST_SOFT


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_medicine_as_ordered_biscuits_sport_and_films_are_no_cue(evaluator: Evaluator, path: Path) -> None:
    assert [text for text, cue in cues_of(evaluator, path, NONE).items() if cue != NO_CUE] == []
