"""From support to a score: a small fitted map, whose every part can be read in the verdict."""

import math
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import yaml

from synthesis.errors import shorten
from synthesis.judge.offline.support import Support

LEAST_SUPPORT = 0.03  # added before the logarithm: no claim is infinitely unsupported
WEAK_CLAIM, WEAK_LISTED = 0.05, 0.27
SUPPORTED_AT = 4  # the score from which people found an answer supported, in the sets of the fit
MIXED_SHARE = 0.25  # of claims that are weak or against the context, from which an answer is mixed at best
OWN_WORDS, EXTRACT, LISTED = "in its own words", "an extract of the context", "compared with listed evidence"

Range = tuple[float, float]
Cuts = tuple[float, float, float, float]  # the least value for 2, 3, 4 and 5
Checked = Sequence[tuple[str, Support]]


class OwnWordsWeights(msgspec.Struct, frozen=True):
    bar: float
    slope: float
    conflicts: float


class ExtractWeights(msgspec.Struct, frozen=True):
    bar: float
    slope: float
    floor: float


class Weights(msgspec.Struct, frozen=True):
    """The file `weights.yaml`."""

    version: str
    own_words: OwnWordsWeights
    extract: ExtractWeights
    extract_share: Range
    extract_words: Range
    probabilities: Cuts
    mixed: Range
    listed: Cuts


@cache
def weights() -> Weights:
    """The weights that travel with the package."""
    text = Path(__file__).with_name("weights.yaml").read_text(encoding="utf-8")
    return msgspec.convert(yaml.safe_load(text), Weights)


class Features(NamedTuple):
    """What the map sees of an answer."""

    support: float  # the mean over its claims
    conflicts: float  # the share of claims against the context
    extract_share: float  # of its words in runs of three or more that the context has
    extract_words: int  # how many these are


def features_of(supports: Sequence[Support]) -> Features:
    extracted = sum(support.extracted for support in supports)
    return Features(
        support=sum(support.value for support in supports) / len(supports),
        conflicts=sum(support.conflict for support in supports) / len(supports),
        extract_share=extracted / max(1, sum(support.words for support in supports)),
        extract_words=extracted,
    )


def log_support(support: float) -> float:
    return math.log(support + LEAST_SUPPORT)


def extract_weight(features: Features) -> float:
    """0 for own words, 1 for an extract."""
    share = _ramp(features.extract_share, weights().extract_share)
    return share * _ramp(features.extract_words, weights().extract_words)


def _ramp(value: float, between: Range) -> float:
    low, high = between
    return min(1.0, max(0.0, (value - low) / (high - low)))


def contributions(features: Features) -> dict[str, float]:
    """The parts of the log odds.

    A true sentence in own words shares fewer words with its source than a wrongly joined copy does. So there are two
    bars, and an answer between the styles is held to both in part.
    """
    own, extract, share = weights().own_words, weights().extract, extract_weight(features)
    above = own.slope * (log_support(features.support) - log_support(own.bar))
    return {
        "support": (1 - share) * above,
        "conflicts": (1 - share) * own.conflicts * features.conflicts,
        "copying": share * max(extract.floor, extract.slope * (features.support - extract.bar)),
    }


class Faithfulness(NamedTuple):
    score: int
    support: float
    style: str
    reasoning: str
    scoring: dict[str, Any]


def faithfulness(checked: Checked, listed: bool) -> Faithfulness:
    """The score of an answer with at least one claim, and what made it."""
    supports = [support for _, support in checked]
    features = features_of(supports)
    style, score, scoring = _listed(features) if listed else _fitted(features)
    against = [(text, support) for text, support in checked if support.conflict]
    weak = [text for text, support in checked if support.value < weak_claim(listed)]
    limit = score_limit(supports, listed)
    noun = "claim was" if len(checked) == 1 else "claims were"
    said = [
        f"{len(checked)} {noun} compared with the context word by word; the mean support is {features.support:.2f}.",
        _explained(style, scoring),
    ]
    if against:
        text, support = against[0]
        said.append(f"{len(against)} against the context, first: “{shorten(text)}” ({support.notes[0]}).")
    if weak:
        said.append(f"{len(weak)} with hardly any support, first: “{shorten(weak[0])}”.")
    if limit < score:
        said.append(f"That allows {limit} at most.")
    return Faithfulness(min(score, limit), features.support, style, " ".join(said), scoring | {"limit": limit})


def is_supported(support: Support, listed: bool) -> bool:
    """Whether a claim would pass as an answer of its own."""
    _, score, _ = _listed(features_of([support])) if listed else _fitted(features_of([support]))
    return min(score, score_limit([support], listed)) >= SUPPORTED_AT


def _listed(features: Features) -> tuple[str, int, dict[str, Any]]:
    """Evidence on courses is a list of terms. No labels exist for it: its cuts are set, not fitted."""
    return LISTED, _above(features.support, weights().listed), {}


def _fitted(features: Features) -> tuple[str, int, dict[str, Any]]:
    parts = contributions(features)
    probability = 1 / (1 + math.exp(-sum(parts.values())))
    style = EXTRACT if extract_weight(features) > 0.5 else OWN_WORDS
    scoring = {
        "probability": round(probability, 4),
        "contributions": {name: round(value, 3) for name, value in parts.items()},
        "features": {name: round(value, 4) for name, value in features._asdict().items()},
    }
    return style, max(_above(probability, weights().probabilities), _above(features.support, weights().mixed)), scoring


def _above(value: float, cuts: Sequence[float]) -> int:
    return 1 + sum(value >= cut for cut in cuts)


def _explained(style: str, scoring: dict[str, Any]) -> str:
    if "probability" not in scoring:
        return f"The answer is {style}, where {weights().listed[2]:.2f} is the bar for 4."
    return (
        f"The answer is {style}; people find {scoring['probability']:.0%} of answers with such figures fully supported "
        f"where half of all answers are (4 needs {weights().probabilities[2]:.0%})."
    )


def score_limit(supports: Sequence[Support], listed: bool) -> int:
    """The highest score that conflicts and weak claims allow."""
    against = sum(support.conflict for support in supports)
    faults = sum(support.conflict or support.value < weak_claim(listed) for support in supports)
    if not faults:
        return 5
    if 2 * against > len(supports):
        return 2  # mixed needs something sound beside what is wrong
    # One name that the context spells otherwise is no fault of a long answer.
    return 3 if listed or faults >= MIXED_SHARE * len(supports) else 4


def weak_claim(listed: bool) -> float:
    """The support below which nothing in the context speaks for a claim."""
    return WEAK_LISTED if listed else WEAK_CLAIM
