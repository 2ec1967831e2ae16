"""A judged run as one page: the outcome, what failed with its evidence, what needs a judge, then the figures."""

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

from markupsafe import Markup

from synthesis.lazy import regex
from synthesis.report.findings import count
from synthesis.report.html.case import Span, pieces
from synthesis.report.html.prose import Part, Step, plain, prose
from synthesis.report.judged.figures import SCORES, repeated, rows, tiles
from synthesis.report.judged.outcome import (
    CANNOT_TELL,
    CONTRADICTED,
    NOT_FOUND,
    Piece,
    difference,
    gate_words,
    how,
    outcome,
    to_be_judged,
    told_words,
    weaknesses,
    why_untold,
)
from synthesis.report.judged.run import (
    FAILED,
    FAITHFULNESS,
    PASSED,
    STALE,
    UNTOLD,
    ClaimEvidence,
    JudgedRun,
    JudgedSample,
    PassagePart,
    axis_title,
    is_offline,
    last_figures,
    stability,
)
from synthesis.report.templates import environment, macro, stream

MOST_SAMPLES = 500
_PARTS = "judged_parts.html"
_SHADES = 4
_CORNERS = {
    "top left": ("persuasive but wrong", (4, 5), (1, 2)),
    "top right": ("right and helpful", (4, 5), (4, 5)),
    "bottom left": ("wrong and useless", (1, 2), (1, 2)),
    "bottom right": ("accurate but useless", (1, 2), (4, 5)),
}


def render(run: JudgedRun) -> Iterator[str]:
    """The page, piece by piece."""
    return stream("judged_report.html", **_values(run))


def body(run: JudgedRun) -> Markup:
    """What the page says about the run, to be put into another page."""
    return Markup(environment().get_template("judged_body.html").render(_values(run)))


def _values(run: JudgedRun) -> dict[str, Any]:
    figures, found = last_figures(run), outcome(run)
    shown = _Shown(run)
    return {
        "run": run,
        "outcome": found,
        "told": told_words(run),
        "gate": gate_words(run),
        "failed": [view for view in shown.failed if not view.sample.is_empty],
        "empty": [view for view in shown.failed if view.sample.is_empty],
        "untold": shown.untold,
        "to_be_judged": to_be_judged(run),
        "stale": run.ended(STALE)[:MOST_SAMPLES],
        "errors": run.last.errors[:MOST_SAMPLES],
        "passed": shown.passed,
        "left_out": shown.left_out,
        "tiles": list(tiles(run, figures, found)),
        "rows": list(rows(run, figures, found)),
        "weaknesses": weaknesses(run),
        "repeated": repeated(figures),
        "scores": SCORES,
        "matrix": _matrix(run),
        "stability": stability(run),
        "how": list(how(run)),
    }


class _Shown:
    """The samples that the page has room for, each under a name of its own: what failed before what passed."""

    def __init__(self, run: JudgedRun) -> None:
        self._run, self._number = run, 0
        self.left_out: dict[str, int] = {}
        self.failed = self._views(run.failed(), FAILED)
        self.untold = self._views(run.ended(UNTOLD), UNTOLD)
        self.passed = self._views(run.ended(PASSED), PASSED)

    def _views(self, samples: Sequence[JudgedSample], ending: str) -> "list[SampleView]":
        room = samples[: max(0, MOST_SAMPLES - self._number)]
        self.left_out[ending] = len(samples) - len(room)
        views = [
            SampleView(sample, f"s{number}-", self._run.judge) for number, sample in enumerate(room, self._number + 1)
        ]
        self._number += len(room)
        return views


# The two axes against each other.


class Matrix(NamedTuple):
    """Two axes against each other: an answer can be persuasive but wrong, or accurate but useless."""

    down: str
    across: str
    left_out: str
    rows: list[tuple[int, list[tuple[int, str]]]]  # a score, and number and classes of each cell
    corners: list[tuple[str, str]]  # what such an answer is, and how many there are


def _matrix(run: JudgedRun) -> Matrix | None:
    if len(run.axes) < 2:
        return None
    (across, right), (down, up) = run.axes[:2]
    cells: Counter[tuple[int, int]] = Counter()
    for sample in run.last.records:
        scores = sample.score(down), sample.score(across)
        if not sample.is_empty and not sample.stale and scores[0] is not None and scores[1] is not None:
            cells[scores[0], scores[1]] += 1
    most = max(cells.values(), default=1)
    counted = [
        (score, [(cells[score, one], _look(cells[score, one], most, score >= up and one >= right)) for one in SCORES])
        for score in SCORES[::-1]
    ]
    titles = [axis_title(run.judge, axis) for axis in (down, across)]
    return Matrix(titles[0], titles[1], _left_out(run), counted, list(_corners(cells, down, across)))


def _left_out(run: JudgedRun) -> str:
    """What has a record and yet no place among the scores."""
    empty = sum(sample.is_empty for sample in run.last.records)
    untold = len(run.ended(UNTOLD))
    parts = [count(empty, "empty answer")] * bool(empty) + [f"{untold:,} that need a judge"] * bool(untold)
    return f", without {' and '.join(parts)}" if parts else ""


def _look(number: int, most: int, passes: bool) -> str:
    """Good or bad, in a shade by the share of the fullest cell."""
    shade = f" shade{-(-_SHADES * number // most)}" if number else ""
    return f"cell {'good' if passes else 'bad'}{shade}"


def _corners(cells: Counter[tuple[int, int]], down: str, across: str) -> Iterator[tuple[str, str]]:
    """The four corners, each two scores wide, named and counted."""
    named = (across, down) == (FAITHFULNESS, "completeness")
    for place, (name, upward, rightward) in _CORNERS.items():
        number = sum(cells[row, column] for row in upward for column in rightward)
        levels = f"{'high' if 5 in upward else 'low'} {down}, {'high' if 5 in rightward else 'low'} {across}"
        title = f"{name.capitalize()} ({place})" if named else place.capitalize()
        yield title, f"{count(number, 'sample')}: {levels}"


# The claims of an answer: marked where they are, and each with the passage opened at its quote.


class Look(NamedTuple):
    """How a verdict looks: by its sign and the kind of line as well as by colour."""

    sign: str
    mark: str
    badge: str
    words: str


LOOKS = {
    "supported": Look("✓", "for", "pass", "supported"),
    CONTRADICTED: Look("✗", "against", "unexpected", "contradicted"),
    NOT_FOUND: Look("?", "outweighed", "missed", "not found in the context"),
    CANNOT_TELL: Look("…", "unrecorded", "not_applicable", "cannot be told"),
}
_WORST = (CONTRADICTED, NOT_FOUND, CANNOT_TELL, "supported")
_TELLING = {CONTRADICTED, NOT_FOUND}  # a claim that failed the sample


class ClaimView(NamedTuple):
    """A claim with its number, its look, and the part of the passage that has its quote, cut at the quote."""

    number: int
    anchor: str
    claim: ClaimEvidence
    look: Look
    part: PassagePart | None
    texts: list[str]
    remarks: str

    @property
    def is_cut(self) -> bool:
        part = self.part
        return part is not None and (part.start > 0 or part.start + len(part.text) < part.length)

    @property
    def difference(self) -> list[Piece]:
        """What the answer says and what the passage says; nothing where they do not differ."""
        return difference(self.claim) if self.claim.verdict == CONTRADICTED else []

    @property
    def why(self) -> str:
        return why_untold(self.claim)

    @property
    def words(self) -> str:
        """The claim without the signs of Markdown."""
        return plain(self.claim.text)


class Fragment(NamedTuple):
    """Tags, then words of the answer with their mark and the claims that end with them."""

    tags: Markup
    text: str
    mark: str
    ended: list[ClaimView]


class SampleView:
    """One sample; `name` tells its anchors from those of others on the page. Without one, claims are not marked."""

    def __init__(self, sample: JudgedSample, name: str = "", judge: str = "") -> None:
        self.sample, self.name = sample, name
        self.verdicts = [
            (axis_title("" if sample.judged_by else judge, axis), one.score, reason_of(one.reasoning))
            for axis, one in sample.judge_verdict.items()
        ]
        self.has_verdicts = any(claim.verdict for claim in sample.claims)
        self.claims = (
            [self._claim(number, one) for number, one in enumerate(sample.claims, 1)] if self.has_verdicts else []
        )
        self.by_comparison = is_offline(judge) and not sample.judged_by and self.has_verdicts

    def answer(self) -> list[Fragment]:
        """The answer without its Markdown, in fragments."""
        found = list(self._fragments())
        last = {number: at for at, (_, _, notes) in enumerate(found) for number in notes}
        return [
            Fragment(
                Markup(tags),
                text,
                self._mark(notes),
                [self.claims[number - 1] for number in notes if last[number] == at],
            )
            for at, (tags, text, notes) in enumerate(found)
        ]

    @property
    def is_prose(self) -> bool:
        return self._steps is not None

    @property
    def telling(self) -> list[ClaimView]:
        """The claims that speak against the answer, contradictions first."""
        found = [one for one in self.claims if one.claim.verdict in _TELLING or one.claim.has_false_quote]
        return sorted(found, key=lambda one: (_WORST.index(one.claim.verdict), one.number))

    @property
    def others(self) -> list[ClaimView]:
        return [one for one in self.claims if one not in self.telling]

    @property
    def untold(self) -> list[ClaimView]:
        return [one for one in self.claims if one.claim.verdict == CANNOT_TELL]

    def tally(self, only_others: bool = False) -> str:
        """`✓ 3 supported, ✗ 1 contradicted`."""
        claims = [one.claim for one in (self.others if only_others else self.claims)]
        verdicts = [claim.verdict for claim in claims]
        parts = [f"{look.sign} {verdicts.count(name)} {name}" for name, look in LOOKS.items() if name in verdicts]
        false = sum(claim.has_false_quote for claim in claims)
        return ", ".join([*parts, *([f"! {count(false, 'false quote')}"] if false else [])])

    def scores(self) -> str:
        """`faithfulness 2, completeness 4 (not validated)`."""
        return ", ".join(
            f"{title}: {'cannot be told' if score is None else score}" for title, score, _ in self.verdicts
        )

    def _spans(self) -> list[Span]:
        claims = [one for one in self.claims if one.claim.span] if self.name else []
        return [Span(*one.claim.span, one.number) for one in claims if one.claim.span]

    @cached_property
    def _steps(self) -> list[Step] | None:
        return prose(self.sample.system_answer or "", [(span.start, span.end) for span in self._spans()])

    def _fragments(self) -> Iterator[tuple[str, str, tuple[int, ...]]]:
        """Tags, text and the claims that it is part of; what Markdown does not show is in no fragment."""
        text = self.sample.system_answer or ""
        cuts = _with_places(text, self._spans())
        tags = ""
        for step in [Part(0, len(text))] if self._steps is None else self._steps:
            if isinstance(step, str):
                tags += step
                continue
            for start, end, notes in cuts:
                here = max(start, step.start), min(end, step.end)
                if here[0] < here[1]:
                    yield tags, text[slice(*here)], notes
                    tags = ""
        if tags:
            yield tags, "", ()

    def _mark(self, numbers: tuple[int, ...]) -> str:
        if not numbers:
            return ""
        worst = min((self.claims[number - 1].claim.verdict for number in numbers), key=_WORST.index)
        return f"{LOOKS[worst].mark}{' several' if len(numbers) > 1 else ''}"

    def _claim(self, number: int, claim: ClaimEvidence) -> ClaimView:
        part = _part(claim, self.sample.passages) if claim.quote else None
        anchor = f"{self.name}claim{number}"
        return ClaimView(number, anchor, claim, LOOKS[claim.verdict], part, _texts(claim, part), _remarks(claim))


def _with_places(text: str, spans: Sequence[Span]) -> list[tuple[int, int, tuple[int, ...]]]:
    """The pieces of a text with the place of each."""
    found, here = [], 0
    for piece in pieces(text, spans):
        found.append((here, here + len(piece.text), piece.notes))
        here += len(piece.text)
    return found


# What earlier versions of the offline judge began every reason with: a page says it once, below.
_BOILERPLATE = regex(
    r"Offline judge: a comparison of words, not an understanding of them\.\s*"
    r"|Completeness offline is not validated: no agreement with people was found\.\s*"
    r"|The answer is [^;.]{1,60}; people find [^.]{1,200}\(4 needs \d+\s?%\)\.\s*"
)


def reason_of(reasoning: str) -> str:
    """What a judge says about one sample in particular."""
    return _BOILERPLATE.sub("", reasoning).strip()


def _part(claim: ClaimEvidence, parts: tuple[PassagePart, ...]) -> PassagePart | None:
    """The kept part of the passage that has the quote; its opening where the quote is false."""
    wanted = claim.quote_span or (0, 0)
    inside = (
        part
        for part in parts
        if part.passage == claim.passage and part.start <= wanted[0] and wanted[1] <= part.start + len(part.text)
    )
    return next(inside, None)


def _texts(claim: ClaimEvidence, part: PassagePart | None) -> list[str]:
    """The passage before its quote, the quote, and what follows; one text where there is no quote in it."""
    if part is None:
        return []
    cuts = [place - part.start for place in claim.quote_span or ()]
    return [part.text[start:end] for start, end in pairwise((0, *cuts, len(part.text)))]


def _remarks(claim: ClaimEvidence) -> str:
    """What the judge or the check of its quote adds, and the words that the context does not have."""
    said = {claim.verdict, f"false quote: it does not stand in passage {claim.passage}"}  # stands there already
    notes = [note for note in claim.notes if note not in said]
    if claim.unsupported:
        notes.append(f"words not in the context: {', '.join(claim.unsupported)}")
    return f"{'; '.join(notes)}." if notes else ""


def sample_texts(sample: JudgedSample, name: str = "") -> Markup:
    """Question and answer, where the run has kept them; with a `name`, the answer's claims are marked."""
    return macro(_PARTS, "texts")(SampleView(sample, name))


def claims(sample: JudgedSample, name: str) -> Markup:
    """The evidence for each claim; as a table without verdicts for runs of version 0.1."""
    return macro(_PARTS, "claims")(SampleView(sample, name))


def context(sample: JudgedSample) -> Markup:
    """The parts of the context that were kept, to unfold."""
    return macro(_PARTS, "context")(sample.passages)


def sample_verdicts(sample: JudgedSample, judge: str = "") -> Markup:
    """The score on each axis, with the reason where it was kept, as a list."""
    return macro(_PARTS, "verdicts")(SampleView(sample, judge=judge))
