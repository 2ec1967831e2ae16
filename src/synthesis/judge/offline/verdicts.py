"""What can be told of a claim offline: supported, contradicted, or that it cannot be told."""

from collections.abc import Sequence
from typing import NamedTuple

from synthesis.judge.offline.compare import Comparison, Slot, Source
from synthesis.judge.offline.sentences import Sentence, places

SUPPORTED, CONTRADICTED, CANNOT_TELL = "supported", "contradicted", "cannot tell"
AMOUNTS = frozenset({"number", "time", "date", "place in a row"})


class Told(NamedTuple):
    """The answer for one claim, with the sentence it rests on and why."""

    answer: str
    nearest: Comparison | None
    slot: Slot | None = None
    note: str = ""


def tell(text: str, source: Source, question: str = "") -> Told:
    claim = source.read_claim(text)
    found = source.nearest(claim, source.read_claim(question))
    if any(places(phrase, claim.lexemes) for phrase in source.known.unsaid):
        return Told(CANNOT_TELL, found[0] if found else None, note="says what the context does not say")
    if not found:
        return Told(CANNOT_TELL, None, note="nothing similar in the context")
    if slot := contradiction(claim, found):
        return Told(CONTRADICTED, _single(found), slot)
    best = next((one for one in found[:3] if supports(one)), None)
    return Told(SUPPORTED, best) if best else Told(CANNOT_TELL, found[0])


def _single(found: Sequence[Comparison]) -> Comparison | None:
    return next((one for one in found if one.window.single), None)


def contradiction(claim: Sentence, found: Sequence[Comparison]) -> Slot | None:
    """The one part that the nearest sentence fills differently, where all else is there."""
    best = _single(found)
    if best is None or len(best.slots) != 1:
        return None
    if any(not one.slots and not one.amounts.unfound and one.covered >= best.covered - 0.05 for one in found[:5]):
        return None  # another sentence says what the claim says
    slot = best.slots[0]
    if slot.kind in AMOUNTS:
        return slot if best.covered >= 0.7 and best.weight >= 1.3 else None
    return slot if best.covered >= 0.85 and best.weight >= 2 and not best.missing else None


def supports(one: Comparison) -> bool:
    """Every part of the claim is in the sentence, none of it is turned or taken from elsewhere."""
    if one.slots or one.amounts.unfound or one.dropped or one.crossed or one.order < 0.8 or one.covered < 0.7:
        return False
    return not one.missing or (len(one.missing) == 1 and one.amounts.same > 0 and len(one.claim.words) > 4)
