"""The offline judge: what is compared with what, and what the verdict says about it."""

import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache

from synthesis.errors import JudgeError, LanguageError
from synthesis.judge.claims import CONTRADICTED, NOT_FOUND, SUPPORTED, CheckedClaim, with_passages
from synthesis.judge.model import AxisVerdict, Course, Rubric, TestCase, Verdict
from synthesis.judge.offline.courses import CourseEvidence, admits_loose_fit, evidence_text
from synthesis.judge.offline.scoring import (
    OWN_WORDS,
    Faithfulness,
    completeness,
    factual_part,
    faithfulness,
    is_frame,
    is_question,
    is_supported,
    look_for_bridging,
    question_stems,
    says_nothing_found,
    speaks_to_reader,
)
from synthesis.judge.offline.support import Claim, ContextIndex, Support, split_claims, support_of
from synthesis.judge.offline.text import Original, Place, can_segment, language_of
from synthesis.judge.prompt import context_texts

AXES = ("faithfulness", "completeness")
MOST_CLAIMS = 300
WHAT_IT_IS = "Offline judge: a comparison of words, not an understanding of them."
# Completeness went with the scores of experts no better than length alone does (Spearman 0.11).
NOT_VALIDATED = "Completeness offline is not validated: no agreement with people was found."


class OfflineJudge:
    """Compares words; needs no key and no network, and gives the same verdict every time."""

    def judge(self, case: TestCase, rubric: Rubric) -> Verdict:
        """A verdict on faithfulness and completeness, with the evidence for each claim in `details`.

        Raises LanguageError for a sample whose words cannot be compared.
        """
        _refuse_other_axes(rubric)
        refuse_incomparable(case)
        claims = split_claims(case.answer)
        read = claims[:MOST_CLAIMS]
        courses = _courses(case)
        index = courses.together if courses else ContextIndex([str(passage) for passage in case.context])
        checked = check_claims(read, case.question, index, courses)
        faithful = _faithfulness([(claim.text, support) for claim, support in checked], read, courses)
        bridging = look_for_bridging(case.question, read, index, courses)
        complete, why = completeness(bridging)
        limits = _limits(len(claims), index)
        verdicts = {
            "faithfulness": AxisVerdict(faithful.score, " ".join([WHAT_IT_IS, faithful.reasoning, *limits])),
            "completeness": AxisVerdict(complete, f"{WHAT_IT_IS} {NOT_VALIDATED} {why}"),
        }
        texts = context_texts(case.context)
        evidence = _claim_evidence(checked, case.answer, texts, listed=courses is not None)
        details = {
            "judge": "offline",
            "support": round(faithful.support, 6),
            **with_passages([claim.as_detail() for claim in evidence], texts),
            "bridging": bridging._asdict(),
            "language": language_of(case.answer),
            "style": faithful.style,
            "scoring": faithful.scoring,
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


def check_claims(
    claims: list[Claim], question: str, index: ContextIndex, courses: CourseEvidence | None
) -> list[tuple[Claim, Support]]:
    """The claims that say something the context could support, each with its support."""
    asked = question_stems(question)
    checked: list[tuple[Claim, Support]] = []
    subject: list[int] = []
    for claim in _worth_checking(claims):
        if courses:
            subject = courses.subject(claim.text, claim.tokens, subject)
        if is_frame(claim) and not is_question(claim):
            continue
        given = asked if speaks_to_reader(claim.text) or admits_loose_fit(claim.text) else frozenset[str]()
        tokens = factual_part(claim, asked, index)
        if not tokens or (courses and courses.is_frame(tokens, given)):
            continue
        support = courses.support_of(tokens, subject, given) if courses else support_of(tokens, index, given)
        if courses and support.passage is not None:
            # Also with the words that tie the claim to the reader: they often name the outcome it rests on.
            support = support._replace(quote=courses.nearest_line(support.passage, claim.tokens))
        checked.append((claim, _with_loose_note(claim.text, support)))
    return checked


def _worth_checking(claims: list[Claim]) -> list[Claim]:
    """Questions back claim nothing beside an answer; a reply of nothing else is compared, for it answers nothing."""
    answers = [claim for claim in claims if not is_question(claim)]
    return answers if any(not is_frame(claim) or says_nothing_found(claim.text) for claim in answers) else claims


def _with_loose_note(text: str, support: Support) -> Support:
    if not admits_loose_fit(text):
        return support
    return support._replace(notes=[*support.notes, "says itself that the fit is loose"])


def _faithfulness(
    checked: list[tuple[str, Support]], claims: list[Claim], courses: CourseEvidence | None
) -> Faithfulness:
    if checked:
        return faithfulness(checked, listed=courses is not None)
    if claims:
        said = "The answer claims nothing that the context could support or contradict."
        return Faithfulness(5, 1.0, OWN_WORDS, said, {})
    return Faithfulness(1, 0.0, OWN_WORDS, "It has no words.", {})


def _limits(count: int, index: ContextIndex) -> list[str]:
    limits = []
    if count > MOST_CLAIMS:
        limits.append(f"Only the first {MOST_CLAIMS} of {count} claims were compared.")
    if index.truncated:
        limits.append("The context was too long to be read to its end.")
    return limits


# What the offline judge shows for each claim, in the form that every judge's claims have.


def _claim_evidence(
    checked: Sequence[tuple[Claim, Support]], answer: str, passages: Sequence[str], *, listed: bool
) -> Iterator[CheckedClaim]:
    """Each claim with its verdict, its place in the answer and the words of the passage that decide it."""
    said, shown = Original(answer), [Original(passage) for passage in passages]
    end = 0
    for claim, support in checked:
        # In order, so that a sentence that the answer repeats is marked each time.
        span = said.locate(claim.text, after=end)
        end = span[1] if span else end
        yield _claim(claim.text, support, span, shown, _claim_verdict(support, listed))


def _claim_verdict(support: Support, listed: bool) -> str:
    """A contradiction needs a sentence that says otherwise; what merely is not there is not found."""
    if support.contradicted:
        return CONTRADICTED
    return SUPPORTED if is_supported(support, listed) else NOT_FOUND


def _claim(text: str, support: Support, span: Place | None, passages: Sequence[Original], verdict: str) -> CheckedClaim:
    number, found = support.passage, None
    if number is not None and verdict != NOT_FOUND:
        found = passages[number].locate(support.quote)
    return CheckedClaim(
        text=text,
        support=round(support.value, 6),
        evidence=support.evidence,
        unsupported=tuple(support.unsupported),
        notes=tuple(support.notes),
        verdict=verdict,
        span=span,
        passage=None if number is None else number + 1,
        quote=passages[number].text[slice(*found)] if number is not None and found else "",
        quote_found=None if verdict == NOT_FOUND else found is not None,
        quote_span=found,
    )


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
    for script, name in SEGMENTED.items():
        if _share(answer, script) >= STRAY and not can_segment():
            raise LanguageError(
                f"{name} is written without spaces, and dividing it into words needs the extra 'segmentation'. {_CURE}"
            )
    if answer and context:
        script = _main(answer)
        if _share(context, script) < STRAY and _share(answer, _main(context)) < STRAY:
            raise LanguageError(
                f"the answer is in {_named(script)} letters and the context in {_named(_main(context))} ones: "
                "the offline judge compares words and cannot translate. Choose another judge with --judge-provider"
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
