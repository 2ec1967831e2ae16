"""The offline judge: what is compared with what, and what the verdict says about it."""

from synthesis.errors import JudgeError
from synthesis.judge.model import AxisVerdict, Course, Rubric, TestCase, Verdict
from synthesis.judge.offline.bridging import (
    completeness,
    factual_part,
    is_frame,
    is_question,
    look_for_bridging,
    question_stems,
    says_nothing_found,
    speaks_to_reader,
)
from synthesis.judge.offline.claims import Claim, split_claims
from synthesis.judge.offline.context import ContextIndex
from synthesis.judge.offline.courses import CourseEvidence, admits_loose_fit
from synthesis.judge.offline.evidence import claim_evidence
from synthesis.judge.offline.scoring import OWN_WORDS, Faithfulness, faithfulness
from synthesis.judge.offline.scripts import refuse_incomparable
from synthesis.judge.offline.support import Support, support_of
from synthesis.judge.offline.tokens import language_of
from synthesis.judge.passages import with_passages
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
        evidence = claim_evidence(checked, case.answer, texts, listed=courses is not None)
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
