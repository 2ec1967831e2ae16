"""What can be told of a claim offline (supported, contradicted, cannot tell), and what that makes of a sample."""

from collections.abc import Sequence
from typing import NamedTuple

from synthesis.judge.claims import CANNOT_TELL, CONTRADICTED, SUPPORTED, Slot
from synthesis.judge.offline.compare import AMOUNTS, ENTITY, ROLE, Comparison, Source
from synthesis.judge.offline.sentences import Sentence, clauses_of, places


class Told(NamedTuple):
    """The answer for one claim, with the words of the context that it rests on and why it cannot be told."""

    answer: str
    passage: int | None = None
    quote: str = ""
    share: float = 0.0  # of the claim that these words have
    slot: Slot | None = None
    missing: tuple[str, ...] = ()
    note: str = ""


NOTHING_SIMILAR = Told(CANNOT_TELL, note="nothing similar in the context")


def tell(text: str, source: Source, question: str = "") -> Told:
    """What the context says of one claim, as a whole or clause by clause; the question helps to find the place."""
    asked = source.read_claim(question)
    whole = _tell(text, source, asked)
    if whole.answer != CANNOT_TELL:
        return whole
    parts = [_tell(part, source, asked) for part in clauses_of(text, source.known)]
    return _together(parts) or whole


def _together(parts: Sequence[Told]) -> Told | None:
    """What several clauses add up to: one that is contradicted decides; else all have to be supported."""
    wrong = next((part for part in parts if part.answer == CONTRADICTED), None)
    if wrong or not parts or any(part.answer != SUPPORTED for part in parts):
        return wrong
    return min(parts, key=lambda part: part.share)


def _tell(text: str, source: Source, asked: Sentence) -> Told:
    claim = source.read_claim(text)
    found = source.nearest(claim, asked)
    if any(places(phrase, claim.lexemes) for phrase in source.known.unsaid):
        return _told(CANNOT_TELL, found[0], note="says what the context does not say") if found else NOTHING_SIMILAR
    if not found:
        return NOTHING_SIMILAR
    single = next((one for one in found if one.window.single), found[0])
    if slot := contradiction(found):
        return _told(CONTRADICTED, single)._replace(slot=slot)
    best = next((one for one in found[:3] if supports(one)), None)
    return _told(SUPPORTED, best) if best else _told(CANNOT_TELL, found[0], note=_why_not(found[0]))


def _told(answer: str, one: Comparison, note: str = "") -> Told:
    missing = tuple(dict.fromkeys(one.missing)) if answer == CANNOT_TELL else ()
    return Told(answer, one.window.passage, one.window.text, one.covered, None, missing, note)


def _why_not(one: Comparison) -> str:
    if one.missing:
        return ""  # the words are named
    if one.amounts.unfound:
        return "a figure that nothing similar in the context can be compared with"
    if one.slots:
        return "the nearest sentence differs, but not only there"
    return "the words are in the context, but not together"


def contradiction(found: Sequence[Comparison]) -> Slot | None:
    """The one part that the nearest sentence fills differently, where all else is there."""
    best = next((one for one in found if one.window.single), None)
    if best is None or len(best.slots) != 1:
        return None
    if any(not one.slots and not one.amounts.unfound and one.covered >= best.covered - 0.05 for one in found[:5]):
        return None  # another sentence says what the claim says
    slot = best.slots[0]
    if slot.kind in AMOUNTS:
        if best.amounts.is_bare and best.covered < 0.95:
            return None
        enough = 1.0 if best.asked >= 0.5 else 1.3
        return slot if best.covered >= 0.7 and best.weight + best.amounts.same >= enough else None
    if slot.kind == ENTITY:
        return slot if best.covered_but_names >= 0.95 and best.matched >= 2 else None
    if best.covered < 0.95 or best.missing or best.matched < (3 if slot.kind == ROLE else 2):
        return None
    return slot if slot.kind == ROLE or best.order >= 0.8 else None


def supports(one: Comparison) -> bool:
    """Every part of the claim is in the sentence, none of it is turned or taken from elsewhere."""
    if one.slots or one.amounts.unfound or one.dropped or one.crossed or not one.is_denied_alike:
        return False
    if one.order < 0.8 or one.covered < 0.9 or one.missing:
        return False
    return one.matched + (one.asked >= 0.8) >= 2


# The answers for all claims make the score of the sample.


def faithfulness(answers: Sequence[str]) -> int | None:
    """5 where every claim is supported, at most 3 where one is contradicted, None where it cannot be told."""
    if not answers:
        return None  # a greeting, a question back
    wrong = answers.count(CONTRADICTED)
    if not wrong:
        return 5 if answers.count(SUPPORTED) == len(answers) else None
    if wrong == len(answers):
        return 1
    return 2 if 2 * wrong > len(answers) else 3
