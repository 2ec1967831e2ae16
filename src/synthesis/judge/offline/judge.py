"""The offline judge: what is compared with what, and what the verdict says about it."""

import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache

from synthesis.errors import JudgeError, LanguageError, shorten
from synthesis.judge.claims import CANNOT_TELL, CONTRADICTED, SUPPORTED, CheckedClaim, with_passages
from synthesis.judge.model import AxisVerdict, Course, Rubric, TestCase, Verdict
from synthesis.judge.offline.answers import Claim, is_frame, is_question, plain_lines, split_claims
from synthesis.judge.offline.compare import Source
from synthesis.judge.offline.completeness import completeness, look_for_bridging, question_stems
from synthesis.judge.offline.context import MOST_WORDS, ContextIndex
from synthesis.judge.offline.courses import CourseEvidence, evidence_text, speaks_to_reader
from synthesis.judge.offline.lexicon import shared_language
from synthesis.judge.offline.text import Original, Place, can_segment
from synthesis.judge.offline.verdicts import Told, faithfulness, tell
from synthesis.judge.prompt import context_texts

VERSION = "3"  # part of the judge's name: verdicts of another version are not mixed with its own
AXES = ("faithfulness", "completeness")
MOST_CLAIMS = 300
NOT_VALIDATED = "Completeness offline is not validated: no agreement with people was found."
NAMES = {"en": "English", "de": "German", "es": "Spanish", "th": "Thai"}
_UNKNOWN = (
    f"sentences in another language than {', '.join(NAMES.values())} are compared only where they are copied whole"
)
_DIFFER = "answer and context are in different languages"


class OfflineJudge:
    """Compares words and values; needs no key and no network, and gives the same verdict every time."""

    def judge(self, case: TestCase, rubric: Rubric) -> Verdict:
        """A verdict with the evidence for each claim in `details`; without scores where it cannot be told.

        Raises LanguageError for a sample whose words cannot be compared.
        """
        _refuse_other_axes(rubric)
        refuse_incomparable(case)
        claims = split_claims(case.answer)
        read = claims[:MOST_CLAIMS]
        reader = _Courses(case) if _has_courses(case) else _Passages(case)
        told = [(claim, reader.tell(claim)) for claim in worth_checking(read) if not reader.skips(claim)]
        score = faithfulness([answer.answer for _, answer in told]) if claims else 1
        bridging = look_for_bridging(case.question, read, reader.index, reader.courses)
        limits = [*_limits(len(claims), reader.truncated), *reader.limits]
        details = {
            "judge": "offline",
            **_compared(told, case),
            "bridging": bridging._asdict(),
            "language": reader.language or "",
            "limits": limits,
        }
        why = " ".join([_said(told), *limits])
        return Verdict(axes=_axes(rubric, score, why, *completeness(bridging)), details=details)


def _compared(told: Sequence[tuple[Claim, Told]], case: TestCase) -> dict[str, object]:
    """The share of the answer that the context has, and the evidence for each claim."""
    texts = context_texts(case.context)
    evidence = [claim.as_detail() for claim in _evidence(told, case.answer, texts)]
    return {
        "support": round(_mean([answer.share for _, answer in told]), 6),
        **with_passages(evidence, texts),
    }


def _axes(rubric: Rubric, score: int | None, why: str, complete: int, said: str) -> dict[str, AxisVerdict]:
    """A sample that cannot be told has no score on any axis: the other one is not validated and would stand alone."""
    verdicts = {
        "faithfulness": AxisVerdict(score, why),
        "completeness": AxisVerdict(None if score is None else complete, f"{NOT_VALIDATED} {said}"),
    }
    return {axis.name: verdicts[axis.name] for axis in rubric.axes}


def _refuse_other_axes(rubric: Rubric) -> None:
    others = [axis.name for axis in rubric.axes if axis.name not in AXES]
    if others or not rubric.axes:
        raise JudgeError(
            f"the offline judge cannot score {', '.join(others) or 'no axis'} (rubric '{rubric.name}')",
            hint=f"It serves rubrics with the axes {' and '.join(AXES)}; choose another judge provider.",
        )


def worth_checking(claims: Sequence[Claim]) -> list[Claim]:
    """What claims something. Questions back claim nothing beside an answer, but a reply of nothing else is compared."""
    said = [claim for claim in claims if not is_frame(claim)]
    return said or [claim for claim in claims if is_question(claim) and not claim.heading]


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 1.0


def _limits(count: int, truncated: bool) -> list[str]:
    limits = []
    if count > MOST_CLAIMS:
        limits.append(f"Only the first {MOST_CLAIMS} of {count} claims were compared.")
    if truncated:
        limits.append("The context was too long to be read to its end.")
    return limits


def _said(told: Sequence[tuple[Claim, Told]]) -> str:
    """How many claims were told, and the first that decides."""
    if not told:
        return "The answer says nothing that could be compared with the context."
    counts = Counter(answer.answer for _, answer in told)
    parts = [f"{counts[name]} {name}" for name in (CONTRADICTED, CANNOT_TELL, SUPPORTED) if counts[name]]
    said = f"{len(told)} claim{'s' if len(told) > 1 else ''}: {', '.join(parts)}."
    for claim, answer in told:
        if slot := answer.slot:
            return f"{said} The answer says “{slot.claim}”, the context “{slot.source}” ({slot.kind})."
        if answer.answer == CONTRADICTED:
            return f"{said} “{shorten(claim.text)}”: {answer.note}."
    untold = next(((claim, answer) for claim, answer in told if answer.answer == CANNOT_TELL), None)
    return f"{said} First that cannot be told: “{shorten(untold[0].text)}” ({_why(untold[1])})." if untold else said


def _why(answer: Told) -> str:
    words = f"not in the context: {', '.join(answer.missing)}" if answer.missing else ""
    return answer.note or words


# What the claims of a sample are compared with: the sentences of passages, or what is listed for courses.


class _Passages:
    """Passages in a language that is known are compared part by part; in another, whole sentences alone."""

    courses = None

    def __init__(self, case: TestCase) -> None:
        passages = [str(passage) for passage in case.context]
        self._question = case.question
        self.index = ContextIndex(passages)
        self.language, self._why_not = _language(case.answer, passages)
        self.limits = [f"{self._why_not[:1].upper()}{self._why_not[1:]}."] if self._why_not else []
        self._source = Source(passages, self.language, MOST_WORDS) if self.language else None
        self._plain = ["\n".join(plain_lines(passage)) for passage in passages]
        self.truncated = self.index.truncated

    def skips(self, claim: Claim) -> bool:  # noqa: ARG002
        return False

    def tell(self, claim: Claim) -> Told:
        if (number := _copied_from(claim.text, self._plain)) is not None:
            return Told(SUPPORTED, number, claim.text, share=1.0)
        if self._source is None:
            return Told(CANNOT_TELL, note=self._why_not)
        return tell(claim.text, self._source, self._question)


def _language(answer: str, passages: Sequence[str]) -> tuple[str | None, str]:
    """The language that answer and context share, or why they cannot be compared."""
    shared = shared_language(answer, " ".join(passages)[:SAMPLE])
    if shared:
        return shared, ""
    return None, _DIFFER if shared is None else _UNKNOWN


def _copied_from(claim: str, passages: Sequence[str]) -> int | None:
    """The passage that has the claim as a whole sentence: such a copy is supported in any language."""
    for number, passage in enumerate(passages):
        at = passage.find(claim)
        while at >= 0:
            if _is_sentence(passage, at, at + len(claim)):
                return number
            at = passage.find(claim, at + 1)
    return None


def _is_sentence(text: str, start: int, end: int) -> bool:
    before, behind = text[:start].rstrip(' "“„«('), text[end:].lstrip(" ")
    begins = not before or before[-1] in _SENTENCE_ENDS
    return begins and (not behind or behind[0] == "\n" or text[end - 1] in _SENTENCE_ENDS)


_SENTENCE_ENDS = "\n.!?…。！？।؟"


class _Courses:
    """A claim belongs to the course it names, else to the one named before."""

    limits: tuple[str, ...] = ()
    language = None

    def __init__(self, case: TestCase) -> None:
        self.courses = CourseEvidence([item for item in case.context if isinstance(item, Course)])
        self.index = self.courses.together
        self.truncated = self.index.truncated
        self._asked = question_stems(case.question)
        self._subject: list[int] = []

    def skips(self, claim: Claim) -> bool:
        """What credits nothing to a course."""
        self._subject = self.courses.subject(claim.text, claim.tokens, self._subject)
        return self.courses.is_frame(claim.tokens, self._given(claim))

    def tell(self, claim: Claim) -> Told:
        found = self.courses.credit(claim.tokens, self._subject, self._given(claim))
        missing = tuple(found.lacking)
        if found.wrong:
            return Told(CONTRADICTED, found.course, found.line, note=found.wrong, missing=missing)
        if not missing:
            return Told(SUPPORTED, found.course, found.line, share=1.0)
        return Told(CANNOT_TELL, found.course, found.line, missing=missing, note="not listed for the course")

    def _given(self, claim: Claim) -> frozenset[str]:
        """Words that need no proof: the question's, in a sentence about the reader."""
        return self._asked if speaks_to_reader(claim.text) else frozenset()


def _has_courses(case: TestCase) -> bool:
    return any(isinstance(item, Course) for item in case.context)


# What the offline judge shows for each claim, in the form that every judge's claims have.


def _evidence(told: Sequence[tuple[Claim, Told]], answer: str, passages: Sequence[str]) -> Iterator[CheckedClaim]:
    """Each claim with its verdict, its place in the answer and the words of the passage that decide it."""
    said, shown = Original(answer), [Original(passage) for passage in passages]
    end = 0
    for claim, found in told:
        # In order, so that a sentence that the answer repeats is marked each time.
        span = said.locate(claim.text, after=end)
        end = span[1] if span else end
        yield _claim(claim.text, found, span, shown)


def _claim(text: str, found: Told, span: Place | None, passages: Sequence[Original]) -> CheckedClaim:
    number, place = found.passage, None
    if number is not None:
        place = passages[number].locate(found.quote)
    return CheckedClaim(
        text=text,
        support=round(found.share, 6),
        evidence=shorten(found.quote, EVIDENCE_WIDTH),
        unsupported=found.missing,
        notes=(found.note,) if found.note else (),
        verdict=found.answer,
        span=span,
        passage=None if number is None else number + 1,
        quote=passages[number].text[slice(*place)] if number is not None and place else "",
        quote_found=None if found.answer == CANNOT_TELL else place is not None,
        quote_span=place,
        slot=found.slot,
    )


EVIDENCE_WIDTH = 200


# Which scripts a sample is written in, and whether its words can be compared at all.


SAMPLE = 20_000  # characters are enough
STRAY = 0.1  # of the letters: a name or a term in another script, rather than the text's own
SEGMENTED = {"thai": "Thai", "lao": "Lao", "khmer": "Khmer", "myanmar": "Burmese"}
_ONE_FAMILY = {"hiragana": "cjk", "katakana": "cjk", "bopomofo": "cjk"}  # Japanese and Chinese mix these
_CURE = "Install it with: pip install 'synthesis-eval[segmentation]'"


def refuse_incomparable(case: TestCase) -> None:
    """Raise for a sample on which a comparison of words would say the same whatever the answer is."""
    answer = _scripts_of([case.answer])
    context = _scripts_of(item if isinstance(item, str) else evidence_text(item) for item in case.context)
    _refuse_undivided(answer)
    if not answer or not context or _share(context, _main(answer)) >= STRAY or _share(answer, _main(context)) >= STRAY:
        return
    raise LanguageError(
        f"the answer is in {_named(_main(answer))} letters and the context in {_named(_main(context))} ones: "
        "the offline judge compares words and cannot translate. Choose another judge with --judge-provider"
    )


def _refuse_undivided(answer: Counter[str]) -> None:
    for script, name in SEGMENTED.items():
        if _share(answer, script) >= STRAY and not can_segment():
            raise LanguageError(
                f"{name} is written without spaces, and dividing it into words needs the extra 'segmentation'. {_CURE}"
            )


def _scripts_of(texts: Iterable[str]) -> Counter[str]:
    """How many letters of each script the texts have."""
    found: Counter[str] = Counter()
    left = SAMPLE
    for text in texts:
        for char, count in Counter(text[:left]).items():  # far fewer characters than letters
            if char.isalpha():
                found[_script(char)] += count
        left -= len(text)
        if left <= 0:
            break
    return found


@cache
def _script(char: str) -> str:
    name = unicodedata.name(char, "none").split()[0].lower()
    return _ONE_FAMILY.get(name, name)


def _main(scripts: Counter[str]) -> str:
    return min(scripts, key=lambda script: (-scripts[script], script))


def _share(scripts: Counter[str], script: str) -> float:
    return scripts[script] / (scripts.total() or 1)


def _named(script: str) -> str:
    return {"cjk": "Chinese or Japanese", "myanmar": "Burmese"}.get(script, script.capitalize())
