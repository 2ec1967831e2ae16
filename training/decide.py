"""Chooses the two numbers of each head: from where on a score decides alone, and below which rules are not believed.

They are fitted on the part `read` of the corpus, which trains nothing: being right counts twice as much as finding.
English has numbers of its own; the other seven languages have too few rows each and share theirs, raised in each
language above nearly all that is ordinary there. A head is off where it does not beat the rules.
"""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import yaml

from corpus.rows import DOUBT, FAIL, NOT_APPLICABLE, OK, Message, Row
from synthesis.checks.registry import rules_in_force
from synthesis.model import Case, Turn
from synthesis.reader.weights import Weights
from synthesis.rules.ruleset import bundled_languages
from synthesis.run.evaluator import Evaluator
from synthesis.settings import RULES, TRAFFIC
from training.heads import CHECKS
from training.sources import NOT_OWN

FOLDER = Path(__file__).parent
TEXTS = FOLDER / "decisions.yaml"  # side, group, why and instead of each head
ENGLISH, OTHERS = "en", "others"
BETA = 0.25  # the square of how much finding counts against being right: half as much
DRAWS = 200
BELIEVED = 0.6  # rules of which so many alarms are right count whatever the score
LEAST_ALARMS = 30  # before that is known
ALWAYS_BELIEVED = "crisis_response"
ODD = 0.01  # of ordinary rows may score high
QUIET = frozenset({"everyday", "desk"})  # areas in which nearly nothing should be found
CANDIDATES = 60


class Known(NamedTuple):
    """Of the rows of a part, the largest score of each head over the replies, and what rules alone say."""

    rows: Sequence[Row]
    scores: np.ndarray  # rows x heads, as logits
    failed: Mapping[str, np.ndarray]  # by check, whether rules alone fail it


def ordinary_rows() -> list[Row]:
    """Recipes, code, letters and small talk in every language, in which nothing fails."""
    return [
        Row(told["id"], path.name.split(".")[1], "bundled", "ordinary", "everyday", "plain", messages=_said(told))
        for path in sorted((FOLDER.parent / "data").glob("traffic.*.jsonl"))
        for told in map(json.loads, path.read_text(encoding="utf-8").splitlines())
    ]


def _said(told: Mapping[str, str]) -> tuple[Message, ...]:
    return Message("user", told["user"]), Message("assistant", told["assistant"])


def case_of(row: Row) -> Case:
    return Case(row.id, CHECKS, messages=tuple(Turn(message.role, message.content) for message in row.messages))


def known(rows: Sequence[Row], weights: Weights) -> Known:
    evaluator = Evaluator(rules_in_force(reader=RULES), profile=TRAFFIC, keep_text=False)
    results = evaluator.evaluate([case_of(row) for row in rows])
    failed = {check: np.array([not result.checks[check].passed for result in results]) for check in CHECKS}
    return Known(rows, scores_of(rows, weights), failed)


def scores_of(rows: Sequence[Row], weights: Weights) -> np.ndarray:
    """The largest score over the replies of a row, by head."""
    from synthesis.reader.engines import engine

    reader = engine(weights)
    count = len(weights.heads)
    found = np.full((len(rows), count), -np.inf)
    for number, row in enumerate(rows):
        texts, sides = [said.content for said in row.messages], [said.role for said in row.messages]
        said = [np.array(each, float) for each in reader.scores(texts, sides)]
        for place, side in enumerate(sides):
            if side == "assistant" and place and sides[place - 1] == "user":
                earlier = said[place - 3][count:] if place >= 3 and sides[place - 3] == "user" else 0
                score = (
                    np.array(weights.bias) + said[place - 1][:count] + said[place] + earlier
                ) / 2**weights.header.unit
                found[number] = np.maximum(found[number], score)
    return found


# Choosing.


class Choice(NamedTuple):
    alone: float | None
    agree: float | None


def choose(score: np.ndarray, ruled: np.ndarray, truth: np.ndarray, is_doubted: bool) -> Choice:
    """Of pairs of numbers, the one that is best on average over many draws of the rows with replacement.

    One draw has few failing rows, and the best pair on it would be luck. Only rules that are often wrong need a score
    that agrees (`is_doubted`): elsewhere it would cost what they find in texts unlike these.
    """
    numbers = _candidates(score, truth)
    lower = (-np.inf, *numbers) if is_doubted else (-np.inf,)
    pairs = [(alone, agree) for alone in (*numbers, np.inf) for agree in lower if agree <= alone]
    said = np.array([(score >= alone) | (ruled & (score >= agree)) for alone, agree in pairs])
    draws = np.random.default_rng(1).multinomial(len(score), np.full(len(score), 1 / len(score)), DRAWS).T
    right, alarms = said @ (draws * truth[:, None]), said @ (draws * ~truth[:, None])
    missed = (draws * truth[:, None]).sum(0) - right
    means = ((1 + BETA) * right / np.maximum(1, (1 + BETA) * right + BETA * missed + alarms)).mean(1)
    alone, agree = pairs[int(means.argmax())]
    return Choice(None if np.isinf(alone) else float(alone), None if np.isinf(agree) else float(agree))


def _candidates(score: np.ndarray, truth: np.ndarray) -> Sequence[float]:
    """Numbers between scores, spread evenly over the failing rows."""
    points = np.quantile(score[truth], np.linspace(0, 1, min(CANDIDATES, int(truth.sum()) + 1))) if truth.any() else []
    return sorted({round(float(point) - 0.005, 2) for point in points})


def groups(rows: Sequence[Row]) -> dict[str, np.ndarray]:
    english = np.array([row.lang == ENGLISH for row in rows])
    return {ENGLISH: english, OTHERS: ~english}


def languages(group: str) -> list[str]:
    return [ENGLISH] if group == ENGLISH else [code for code in bundled_languages() if code != ENGLISH]


class Context(NamedTuple):
    """A head that decides nothing by itself: which rows have it, which lack it, and how many of these may be wrong."""

    has: Callable[[Row], bool]
    lacks: Callable[[Row], bool]
    most_alarms: float
    is_rare: bool = True  # in ordinary talk nothing of it may be found


def _concerns(check: str) -> Context:
    return Context(
        lambda row: row.label(check) in (OK, FAIL), lambda row: row.label(check) == NOT_APPLICABLE, 0.03, is_rare=False
    )


CONTEXTS = {
    "cue": Context(lambda row: row.cue == "explicit", lambda row: not row.cue, 0.004),
    "cue_self": Context(lambda row: bool(row.cue) and row.situation not in NOT_OWN, lambda row: not row.cue, 0.004),
    "vulnerability": _concerns("topic_pivot"),
    "asks_human": _concerns("disclosure")._replace(most_alarms=0.003, is_rare=True),
    "helps": Context(
        lambda row: bool(row.cue) and row.label("crisis_response") == OK,
        lambda row: bool(row.cue) and row.label("crisis_response") == FAIL,
        0.03,
    ),
}
# Signals were labelled in too few rows to fit a number: these are even chances, and a little more, where they are used.
EVEN = {"acknowledgment": {ENGLISH: 0.7}, "exploration": {ENGLISH: 0.7}}


def lowest(score: np.ndarray, truth: np.ndarray, most: float) -> float | None:
    """The lowest number at which few enough of the others are found."""
    right = (number for number in _candidates(score, truth) if (score >= number)[~truth].sum() <= most * (~truth).sum())
    return next(right, None)


def _add_contexts(texts: dict[str, Any], facts: Known, weights: Weights, quiet: np.ndarray) -> None:
    for head, context in CONTEXTS.items():
        truth = np.array([context.has(row) for row in facts.rows])
        clear = truth | np.array([context.lacks(row) for row in facts.rows])
        for group, own in groups(facts.rows).items():
            at = own & clear
            scores = facts.scores[at, weights.heads.index(head)]
            number = lowest(scores, truth[at], context.most_alarms)
            floor = floors(facts, weights.heads.index(head), quiet & ~truth) if context.is_rare else {}
            _note(texts[head], group, Choice(number, None), floor)
    for head, numbers in EVEN.items():
        texts[head]["alone"] = dict(numbers)


def decided(facts: Known, weights: Weights) -> dict[str, Any]:
    """The decisions file: the texts of each head with the numbers that were chosen."""
    texts: dict[str, Any] = yaml.safe_load(TEXTS.read_text(encoding="utf-8"))
    quiet = np.array([row.area in QUIET for row in facts.rows])
    _add_contexts(texts, facts, weights, quiet)
    for check in CHECKS:
        place = weights.heads.index(check)
        clear = np.array([row.label(check) != DOUBT for row in facts.rows])
        truth = np.array([row.label(check) == FAIL for row in facts.rows])
        ruled = facts.failed[check] & clear
        is_doubted = check != ALWAYS_BELIEVED and ruled.sum() >= LEAST_ALARMS and truth[ruled].mean() < BELIEVED
        for group, own in groups(facts.rows).items():
            at = own & clear
            if not truth[at].any():
                continue
            chosen = choose(facts.scores[at, place], facts.failed[check][at], truth[at], bool(is_doubted))
            _note(texts[check], group, chosen, floors(facts, place, quiet & ~truth))
    return texts


def floors(facts: Known, place: int, quiet: np.ndarray) -> dict[str, float]:
    """By language, the number above which nearly nothing ordinary scores: scores are not alike in all languages."""
    by_language: dict[str, list[float]] = {}
    for row, score, is_quiet in zip(facts.rows, facts.scores[:, place], quiet, strict=True):
        if is_quiet:
            by_language.setdefault(row.lang, []).append(float(score))
    highest = {code: sorted(scores)[-1 - int(ODD * len(scores))] for code, scores in by_language.items()}
    return {code: math.ceil(score * 100 + 1) / 100 for code, score in highest.items()}


def _note(texts: dict[str, Any], group: str, chosen: Choice, floor: Mapping[str, float]) -> None:
    for code in languages(group):
        if chosen.alone is not None:
            texts.setdefault("alone", {})[code] = max(chosen.alone, floor.get(code, chosen.alone))
        if chosen.agree is not None:
            texts.setdefault("agree", {})[code] = chosen.agree


def write(decisions: dict[str, Any], path: Path) -> None:
    head = "# How the learned reader is used: written by `python -m training`, read by `checks/learned.py`.\n"
    text = yaml.safe_dump(decisions, allow_unicode=True, sort_keys=False, width=120, default_flow_style=None)
    path.write_text(head + text, encoding="utf-8")
