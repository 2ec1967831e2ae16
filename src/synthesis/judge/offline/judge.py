"""The offline judge: what is compared, and how support becomes a score."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from synthesis.errors import JudgeError, shorten
from synthesis.judge.model import AxisVerdict, Course, Rubric, TestCase, Verdict
from synthesis.judge.offline.bridging import (
    completeness,
    factual_part,
    is_frame,
    look_for_bridging,
    question_stems,
    speaks_to_reader,
)
from synthesis.judge.offline.claims import Claim, split_claims
from synthesis.judge.offline.context import ContextIndex
from synthesis.judge.offline.courses import CourseEvidence, admits_loose_fit
from synthesis.judge.offline.support import Support, support_of
from synthesis.judge.offline.tokens import language_of

MOSTLY_COPIED = 0.4  # share of words in copied runs, from which an answer is held to copying rightly
WEAK_CLAIM = 0.27  # a claim below this makes the answer mixed at best


class Style(NamedTuple):
    """How an answer relates to its context, with the least support for 2, 3, 4 and 5."""

    name: str
    cuts: tuple[float, float, float, float]


# A true sentence in own words shares fewer words with its source than a wrongly joined copy does, so the two
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


AXES = ("faithfulness", "completeness")
MOST_CLAIMS = 300
WHAT_IT_IS = "Offline judge: a comparison of words, not an understanding of them."


class OfflineJudge:
    """Compares words; needs no key and no network, and gives the same verdict every time."""

    def judge(self, case: TestCase, rubric: Rubric) -> Verdict:
        """A verdict on faithfulness and completeness, with the evidence for each claim in `details`."""
        _refuse_other_axes(rubric)
        claims = split_claims(case.answer)
        read = claims[:MOST_CLAIMS]
        courses = _courses(case)
        index = courses.together if courses else ContextIndex([str(passage) for passage in case.context])
        checked = _check(read, case.question, index, courses)
        faithful = _faithfulness([(claim.text, support) for claim, support in checked], read, courses)
        bridging = look_for_bridging(case.question, read, index, courses)
        complete, why = completeness(bridging)
        limits = _limits(len(claims), index)
        verdicts = {
            "faithfulness": AxisVerdict(faithful.score, " ".join([WHAT_IT_IS, faithful.reasoning, *limits])),
            "completeness": AxisVerdict(complete, f"{WHAT_IT_IS} {why}"),
        }
        details = {
            "judge": "offline",
            "support": round(faithful.support, 6),
            "claims": [_claim_details(claim.text, support) for claim, support in checked],
            "bridging": bridging._asdict(),
            "language": language_of(case.answer),
            "style": faithful.style.name,
            "limits": limits,
        }
        return Verdict(axes={axis.name: verdicts[axis.name] for axis in rubric.axes}, details=details)


def _refuse_other_axes(rubric: Rubric) -> None:
    others = [axis.name for axis in rubric.axes if axis.name not in AXES]
    if others or not rubric.axes:
        raise JudgeError(
            f"the offline judge cannot score {', '.join(others) or 'no axis'} (rubric '{rubric.name}')",
            hint=f"It serves rubrics with the axes {' and '.join(AXES)}; choose another judge provider.",
        )


def _courses(case: TestCase) -> CourseEvidence | None:
    courses = [item for item in case.context if isinstance(item, Course)]
    return CourseEvidence(courses) if courses else None


def _check(
    claims: list[Claim], question: str, index: ContextIndex, courses: CourseEvidence | None
) -> list[tuple[Claim, Support]]:
    asked = question_stems(question)
    checked: list[tuple[Claim, Support]] = []
    subject: list[int] = []
    for claim in claims:
        if courses:
            subject = courses.subject(claim.text, claim.tokens, subject)
        if is_frame(claim):
            continue
        given = asked if speaks_to_reader(claim.text) or admits_loose_fit(claim.text) else frozenset[str]()
        tokens = factual_part(claim, asked, index)
        if not tokens or (courses and courses.is_frame(tokens, given)):
            continue
        support = courses.support_of(tokens, subject, given) if courses else support_of(tokens, index, given)
        checked.append((claim, _with_loose_note(claim.text, support)))
    return checked


def _with_loose_note(text: str, support: Support) -> Support:
    if not admits_loose_fit(text):
        return support
    return support._replace(notes=[*support.notes, "says itself that the fit is loose"])


def _faithfulness(
    checked: list[tuple[str, Support]], claims: list[Claim], courses: CourseEvidence | None
) -> Faithfulness:
    if checked:
        return faithfulness(checked, listed=courses is not None)
    nothing = Support(1.0 if claims else 0.0, 0.0, None, "", [], [], False)
    verdict = faithfulness([("", nothing)], listed=False)
    said = "The answer claims nothing that the context could support or contradict." if claims else "It has no words."
    return verdict._replace(reasoning=said)


def _limits(count: int, index: ContextIndex) -> list[str]:
    limits = []
    if count > MOST_CLAIMS:
        limits.append(f"Only the first {MOST_CLAIMS} of {count} claims were compared.")
    if index.truncated:
        limits.append("The context was too long to be read to its end.")
    return limits


def _claim_details(text: str, support: Support) -> dict[str, Any]:
    return {
        "text": text,
        "support": round(support.value, 6),
        "passage": support.passage,
        "evidence": support.evidence,
        "unsupported": support.unsupported,
        "notes": support.notes,
    }
