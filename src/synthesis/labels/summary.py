"""What the labels of a run say: what people agree on, where they differ, and how good the checks are."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from synthesis.judge.agreement import Agreement, agreement_of
from synthesis.judge.statistics import wilson_interval
from synthesis.labels.estimates import Estimate, SampleLabel, precision, recall, weighted_rate
from synthesis.labels.model import DOES_NOT_APPLY, NO, SKIP, YES, Label
from synthesis.labels.sampling import RunSampling
from synthesis.model.result import FAIL

Place = tuple[int, str]  # position of a case, question
NOT_DRAWN = "the cases were not drawn with known probabilities"
SAME = "everybody gave the same answer"


class QuestionFigures(msgspec.Struct, frozen=True):
    """One check, or one axis of a judged run: how people answer, how far they agree, and how the check does.

    `cases` have an answer that is not a skip; `answers` counts the answers of all people. `precision` and `recall` are
    None for an axis, which has scores. `rate` is the share of Yes among all rows from which a run was drawn.
    """

    question: str
    cases: int
    answers: dict[str, int]
    disputed: int
    agreement: Agreement
    precision: Estimate | None = None
    recall: Estimate | None = None
    rate: Estimate | None = None


class LabelSummary(msgspec.Struct, frozen=True):
    """All questions of a run, and the places where answers differ."""

    people: int
    unverified: int
    labels: int
    questions: list[QuestionFigures]
    disputed: list[Place]


def answers_by_place(labels: Iterable[Label]) -> dict[Place, list[Label]]:
    """The labels of each case and question, without skips, in order."""
    found: dict[Place, list[Label]] = {}
    for label in labels:
        if label.answer != SKIP:
            found.setdefault((label.position, label.question), []).append(label)
    return dict(sorted(found.items()))


def consensus(answers: Sequence[str]) -> str | None:
    """What more than half of the people say: yes, or not (no or does not apply, the more frequent); None for a tie."""
    counts = Counter(answers)
    yes, others = counts[YES], counts[NO] + counts[DOES_NOT_APPLY]
    if yes == others:
        return None
    if yes > others:
        return YES
    return DOES_NOT_APPLY if counts[DOES_NOT_APPLY] > counts[NO] else NO


def is_disputed(answers: Iterable[str]) -> bool:
    """Whether people differ on what the verdict should be; no and does not apply both let the reply pass."""
    return len({value_of(answer) for answer in answers}) > 1


def value_of(answer: str) -> int:
    """An answer as a number: a score, or whether the check should fail the reply."""
    return int(answer) if answer.isdecimal() else int(answer == YES)


def summarize(
    labels: Sequence[Label],
    verdicts: Mapping[Place, str],
    flagged: Mapping[str, int],
    sampling: RunSampling | None = None,
) -> LabelSummary:
    """The summary of a run's labels.

    `verdicts` has the outcome of each labelled case and check (of every one, if the run was drawn), and is empty for a
    judged run; `flagged` counts the failures of each check in the whole run.
    """
    places = answers_by_place(labels)
    names = sorted({question for _, question in places} | set(flagged))
    people = {label.person for label in labels}
    return LabelSummary(
        len(people),
        sum(not person.verified for person in people),
        sum(map(len, places.values())),
        [_figures(name, places, verdicts, flagged, sampling) for name in names],
        [place for place, given in places.items() if is_disputed(label.answer for label in given)],
    )


def _figures(
    name: str,
    places: Mapping[Place, Sequence[Label]],
    verdicts: Mapping[Place, str],
    flagged: Mapping[str, int],
    sampling: RunSampling | None,
) -> QuestionFigures:
    own = {position: given for (position, question), given in places.items() if question == name}
    answers = {position: [label.answer for label in given] for position, given in own.items()}
    figures = QuestionFigures(
        name,
        len(own),
        dict(sorted(Counter(answer for given in answers.values() for answer in given).items())),
        sum(map(is_disputed, answers.values())),
        _agreement(own.values()),
    )
    if name not in flagged:
        return figures
    failing = {position for (position, check), outcome in verdicts.items() if check == name and outcome == FAIL}
    said = {position: consensus(given) for position, given in answers.items()}
    if sampling is None:
        found = _precision(said, failing, flagged[name])
        return msgspec.structs.replace(figures, precision=found, recall=Estimate(None, reason=NOT_DRAWN))
    asked = {position for position, check in verdicts if check == name}
    rows = _sample(said, failing, asked, sampling)
    return msgspec.structs.replace(figures, precision=precision(rows), recall=recall(rows), rate=weighted_rate(rows))


def _agreement(given: Iterable[Sequence[Label]]) -> Agreement:
    """By first answers: a later one may have been given with the others' in view."""
    units = [tuple(sorted(value_of(a.first_answer) for a in one if a.first_answer != SKIP)) for one in given]
    return agreement_of(units, same=SAME, unit="cases")


def _precision(said: Mapping[int, str | None], failing: set[int], flagged: int) -> Estimate:
    decided = [answer for position, answer in said.items() if position in failing and answer is not None]
    right = sum(answer == YES for answer in decided)
    if not decided:
        reason = "no failure of the check has a label that people agree on" if flagged else "the check failed no case"
        return Estimate(None, None, 0, flagged, reason)
    return Estimate(right / len(decided), wilson_interval(right, len(decided)), len(decided), flagged)


def _sample(
    said: Mapping[int, str | None], failing: set[int], asked: set[int], sampling: RunSampling
) -> list[SampleLabel]:
    """Every drawn case that the check has a verdict on."""
    return [
        SampleLabel(row.stratum, row.probability, position in failing, _is_positive(said.get(position)))
        for position, row in enumerate(sampling.rows)
        if position in asked
    ]


def _is_positive(answer: str | None) -> bool | None:
    return None if answer is None else answer == YES
