"""Support becomes a whole score: the cut points, which are the only tuned numbers here."""

from collections.abc import Sequence
from typing import NamedTuple

from synthesis.errors import shorten
from synthesis.judge.offline.support import Support

MOSTLY_COPIED = 0.4  # share of words in copied runs, from which an answer is held to copying rightly
WEAK_CLAIM = 0.27  # a claim below this makes the answer mixed at best


class Style(NamedTuple):
    """How an answer relates to its context, with the least support for 2, 3, 4 and 5."""

    name: str
    cuts: tuple[float, float, float, float]


# A true sentence in own words shares fewer words with its source than a wrongly glued copy does, so the two
# are measured against different bars. Evidence on courses is a list of terms: terms are counted, not order.
COPIED = Style("mostly copied from the context", (0.3, 0.6, 0.91, 0.98))
OWN_WORDS = Style("mostly in its own words", (0.08, 0.16, WEAK_CLAIM, 0.6))
LISTED = Style("compared with listed evidence", (0.2, 0.45, 0.75, 0.95))


class Faithfulness(NamedTuple):
    score: int
    support: float
    style: Style
    reasoning: str


def faithfulness(checked: Sequence[tuple[str, Support]], listed: bool) -> Faithfulness:
    """The mean support against the bar of the answer's style; a conflict or weak claim allows 3 at most."""
    supports = [support for _, support in checked]
    mean = sum(support.value for support in supports) / len(supports)
    style = LISTED if listed else _style(supports)
    score = 1 + sum(mean >= cut for cut in style.cuts)
    against = [text for text, support in checked if support.conflict]
    weak = [text for text, support in checked if support.value < WEAK_CLAIM]
    if against or weak:
        # Mixed needs something sound beside what is wrong.
        score = min(score, 2 if 2 * len(against) > len(checked) else 3)
    return Faithfulness(score, mean, style, _reasoning(mean, style, len(checked), against, weak, checked))


def _style(supports: Sequence[Support]) -> Style:
    copied = sum(support.copied for support in supports) / len(supports)
    return COPIED if copied >= MOSTLY_COPIED else OWN_WORDS


def _reasoning(
    mean: float,
    style: Style,
    count: int,
    against: list[str],
    weak: list[str],
    checked: Sequence[tuple[str, Support]],
) -> str:
    noun = "claim was" if count == 1 else "claims were"
    parts = [
        f"{count} {noun} compared with the context word by word; the mean support is {mean:.2f}.",
        f"The answer is {style.name}, where {style.cuts[2]:.2f} is the bar for 4.",
    ]
    if against:
        parts.append(f"{len(against)} against the context, first: {_quote(against[0])} ({_first_note(checked)}).")
    if weak:
        parts.append(f"{len(weak)} with hardly any support, first: {_quote(weak[0])}.")
    return " ".join(parts)


def _first_note(checked: Sequence[tuple[str, Support]]) -> str:
    return next(support.notes[0] for _, support in checked if support.conflict)


def _quote(text: str) -> str:
    return f"“{shorten(text)}”"
