"""What a judged run comes to, in the words that page, Markdown and console share: outcome, differences, what to do."""

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from synthesis.report.findings import count
from synthesis.report.judged.run import (
    FAILED,
    FAITHFULNESS,
    NOT_VALIDATED,
    PASSED,
    STALE,
    UNTOLD,
    ClaimEvidence,
    JudgedRun,
    JudgedSample,
    Rate,
    axis_title,
    cost,
    is_offline,
    stability,
)
from synthesis.stats import rate

CONTRADICTED, NOT_FOUND, CANNOT_TELL = "contradicted", "not found", "cannot tell"
ESCALATE = "--escalate openai:MODEL"


class Part(NamedTuple):
    """How many samples ended one way: `kind` is good, bad, open or plain, and `anchor` the section that shows them."""

    number: int
    words: str
    kind: str
    sign: str
    anchor: str


class Outcome(NamedTuple):
    """How the samples of the last iteration ended; `total` are all of the set."""

    total: int
    passed: int
    failed: int
    untold: int
    stale: int
    errors: int
    not_judged: int

    @property
    def told(self) -> int:
        return self.passed + self.failed

    def parts(self) -> list[Part]:
        """Passed and failed always, the others where there are any."""
        every = (
            Part(self.passed, "passed", "good" if self.passed else "plain", "✓", "passed"),
            Part(self.failed, "failed", "bad" if self.failed else "plain", "✗", "failed"),
            Part(self.untold, "needs a judge" if self.untold == 1 else "need a judge", "open", "?", "untold"),
            Part(self.stale, "stale: changed since", "open", "~", "stale"),
            Part(self.errors, "error" if self.errors == 1 else "errors", "bad", "!", "errors"),
            Part(self.not_judged, "not yet judged", "open", "…", ""),
        )
        return [part for part in every if part.number or part.words in {"passed", "failed"}]


def outcome(run: JudgedRun) -> Outcome:
    """The last iteration, by the gate."""
    endings = Counter(map(run.ending, run.last.records))
    metrics = run.last.metrics
    return Outcome(
        metrics["sampleCount"],
        endings[PASSED],
        endings[FAILED],
        endings[UNTOLD],
        endings[STALE],
        metrics["errors"],
        metrics["notJudged"],
    )


def headline(run: JudgedRun) -> str:
    """`18 of 26 samples told offline: 14 passed, 4 failed, 7 need a judge, 1 error`."""
    found = outcome(run)
    parts = ", ".join(f"{part.number:,} {part.words}" for part in found.parts())
    return f"{told_words(run)}: {parts}"


def told_words(run: JudgedRun) -> str:
    """`18 of 26 samples told offline`."""
    found = outcome(run)
    verb = "told offline" if is_offline(run.judge) else "judged"
    if is_offline(run.judge) and any(sample.judged_by for sample in run.last.records):
        verb = "told"
    return f"{found.told:,} of {count(found.total, 'sample')} {verb}"


def gate_rate(run: JudgedRun) -> Rate:
    """The share of all samples of the last iteration that pass, which is what a gate looks at."""
    found = outcome(run)
    return msgspec.convert(rate(found.passed, found.total), Rate)


def gate_words(run: JudgedRun) -> str:
    """`14 of 26 pass, 53.8 % (faithfulness of 4 or more)`."""
    found = gate_rate(run)
    share = "" if found.value is None else f", {100 * found.value:.1f} %"
    return f"{found.numerator:,} of {found.denominator:,} pass{share} ({bar(run)})"


def bar(run: JudgedRun) -> str:
    """What a sample has to reach: `faithfulness and completeness of 4 or more`."""
    if len({passes_at for _, passes_at in run.gate}) == 1:
        return f"{' and '.join(axis for axis, _ in run.gate)} of {run.gate[0][1]} or more"
    return " and ".join(f"{axis} of {passes_at} or more" for axis, passes_at in run.gate)


# A claim: what the answer says and what the passage says instead, or why it cannot be told.


class Piece(NamedTuple):
    """A part of a sentence; `whose` words it quotes: of the answer or of the passage."""

    text: str
    whose: str = ""


KINDS = {
    "weekdays": "days of the week",
    "place in a row": "rank",
    "entity": "name",
    "negation": "denial",
    "quantifier": "how many",
    "role": "who does what",
}
_NOTHING = {"", "–", "-"}


def difference(claim: ClaimEvidence) -> list[Piece]:
    """`The answer says "8 to 19", passage 2 says "9 to 17" (time).`"""
    slot, source = claim.slot, f"passage {claim.passage}" if claim.passage else "the context"
    if slot is None:
        return [Piece(f"The answer contradicts {source}.")]
    kind = KINDS.get(slot.kind, slot.kind)
    if slot.claim in _NOTHING:
        return [Piece(f"The answer affirms what {source} denies: "), Piece(slot.source, "passage"), Piece(".")]
    if slot.source in _NOTHING:
        return [Piece(f"The answer denies what {source} affirms: "), Piece(slot.claim, "answer"), Piece(".")]
    kind = "the opposite" if slot.kind == "negation" else kind
    return [
        Piece("The answer says "),
        Piece(slot.claim, "answer"),
        Piece(f", {source} says "),
        Piece(slot.source, "passage"),
        Piece(f" ({kind})."),
    ]


def in_quotes(pieces: list[Piece]) -> str:
    """As one text, for where there is no markup."""
    return "".join(f"“{piece.text}”" if piece.whose else piece.text for piece in pieces)


def why_untold(claim: ClaimEvidence) -> str:
    """In a few words."""
    notes = [note for note in claim.notes if note != claim.verdict]
    if claim.unsupported:
        notes.append(f"not in the context: {', '.join(claim.unsupported)}")
    return "; ".join(notes) or "nothing in the context decides it"


def claims_of(sample: JudgedSample, *verdicts: str) -> list[ClaimEvidence]:
    """The claims with one of these verdicts, in the order of the verdicts, then of the answer."""
    return [claim for verdict in verdicts for claim in sample.claims if claim.verdict == verdict]


def to_be_judged(run: JudgedRun) -> list[tuple[str, bool]]:
    """How to get a verdict on what could not be told: words, and whether they are code."""
    if not is_offline(run.judge):
        return [("Another judge may be able to tell.", False)]
    return [
        ("To have them judged by a model, give the same command with ", False),
        (ESCALATE, True),
        (": it asks about these samples alone.", False),
    ]


# What the failures have in common, with counts, and what to do about it.


ADVICE = {
    FAITHFULNESS: (
        "restrict the generator to the given context: no claim without its source, and say so when nothing fits",
        "look for added details that the context does not have, and forbid them in the prompt",
    ),
    "completeness": (
        "have every recommendation explained, and valid options used where the context offers them",
        "ask in the prompt why each point matters to the question, not only what it is",
    ),
}
GENERAL_ADVICE = (
    "read these records first and fix what they share",
    "read these records and sharpen the prompt",
)
EMPTY_ADVICE = "find out why the system said nothing before judging what it says"
COPY_ADVICE = "have numbers, dates and names copied from the context, never recalled or rounded"


class Weakness(NamedTuple):
    """What some of the failed samples have in common, and what to do."""

    number: int
    failed: int
    words: str
    advice: str

    def __str__(self) -> str:
        verb = "has" if self.number == 1 else "have"
        return f"{self.number:,} of {count(self.failed, 'failed sample')} {verb} {self.words}: {self.advice}."


def weaknesses(run: JudgedRun) -> list[Weakness]:
    """Those that most failed samples have first. A sample can be in several."""
    failed = run.failed()
    found = [Weakness(number, len(failed), words, advice) for number, words, advice in _shared(run, failed) if number]
    return sorted(found, key=lambda one: -one.number)


def _shared(run: JudgedRun, failed: list[JudgedSample]) -> Iterator[tuple[int, str, str]]:
    spoken = [sample for sample in failed if not sample.is_empty]
    yield len(failed) - len(spoken), "an empty answer", EMPTY_ADVICE
    against = [sample for sample in spoken if claims_of(sample, CONTRADICTED)]
    yield len(against), f"a claim that the context contradicts{_by_kind(against)}", COPY_ADVICE
    strange = [sample for sample in spoken if claims_of(sample, NOT_FOUND)]
    yield len(strange), "a claim that the context does not have", ADVICE[FAITHFULNESS][1]
    explained = {sample.query_log_id for sample in (*against, *strange)}
    for axis, passes_at in run.gate:
        low = [sample for sample in spoken if (sample.score(axis) or passes_at) < passes_at]
        told = [one for one in low if axis != FAITHFULNESS or one.query_log_id not in explained]
        yield len(told), f"{axis} below {passes_at}", ADVICE.get(axis, GENERAL_ADVICE)[0]


def _by_kind(samples: list[JudgedSample]) -> str:
    """`: number 2, time 1`, by the samples that differ so."""
    kinds = Counter(
        kind
        for sample in samples
        for kind in {claim.slot.kind for claim in claims_of(sample, CONTRADICTED) if claim.slot}
    )
    ordered = sorted(kinds.items(), key=lambda pair: (-pair[1], pair[0]))
    words = ", ".join(f"{KINDS.get(kind, kind)} {number}" for kind, number in ordered)
    return f" ({words})" if words else ""


# How it was judged, said once.


WHAT_OFFLINE_IS = (
    "The offline judge compares words, numbers and names with the context. It does not understand them, "
    "and where it cannot tell, it says so."
)


def how(run: JudgedRun) -> Iterator[str]:
    """A few sentences: the judge, what it can do, what else took part, and the cost."""
    number = len(run.iterations)
    several = f", {number} iterations; what is shown is the last one" if number > 1 else ""
    yield f"Judge: {run.judge}, rubric {run.rubric}{several}."
    if is_offline(run.judge):
        yield WHAT_OFFLINE_IS
        yield from _not_validated(run)
    else:
        yield "A score is the judge's opinion. How far it agrees with people, synthesis judge calibrate measures."
    yield "Only the given context counts: an answer can be faithful to a context that is wrong."
    yield from _escalated(run)
    if number > 1 and run.final_metrics and stability(run) is None:
        yield "The iterations are alike: this judge gives the same verdict every time."
    yield f"Cost: {cost(run)}."


def _not_validated(run: JudgedRun) -> Iterator[str]:
    for axis, _ in run.axes:
        if axis_title(run.judge, axis) != axis:
            yield f"Its {axis} is {NOT_VALIDATED}: it was not found to agree with people, so no sample fails by it."


def _escalated(run: JudgedRun) -> Iterator[str]:
    models = Counter(sample.judged_by for sample in run.last.records if sample.judged_by)
    for model, number in sorted(models.items()):
        yield f"{count(number, 'sample')} that it could not tell {'was' if number == 1 else 'were'} judged by {model}."
