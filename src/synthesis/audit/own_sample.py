"""The team's own sample: drawn by an audit, labelled on the server's page, and brought back as rates over all rows.

synthesis audit LOGS --sample 200           writes sample.json, which holds texts and is not handed over
synthesis history add audit/sample.json --save-text      then people label the run on the page
synthesis audit LOGS --labels RUN           rates, precision and recall from their labels
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from synthesis.audit.rates import percent
from synthesis.audit.run import Audited
from synthesis.errors import OptionError
from synthesis.judge.agreement import Agreement
from synthesis.labels.estimates import Estimate, SampleLabel, precision, recall, weighted_rate
from synthesis.labels.model import YES, Label
from synthesis.labels.sampling import FIELD, RunSampling
from synthesis.labels.summary import LabelSummary, answers_by_place, consensus
from synthesis.model import CaseResult
from synthesis.model.report import Report
from synthesis.model.result import ERROR, FAIL
from synthesis.report.plain import count
from synthesis.runner.run import failures_of
from synthesis.runner.tally import Tally

if TYPE_CHECKING:  # it needs an extra that an audit of logs does without
    from synthesis.history.store import History


def sample_report(audited: Audited) -> Report | None:
    """The drawn conversations as a report that can be saved and labelled; it says how each one was drawn."""
    drawn = audited.tally.sample
    if drawn is None:
        return None
    rows = drawn.rows()
    # Two rows may have the same id, and a run has each id once.
    seen: Counter[str] = Counter()
    results = tuple(_named(row.item, seen) for row in rows)
    tally = Tally()
    for result in results:
        tally.add(result)
    sampling = msgspec.to_builtins(RunSampling.of_rows(rows, drawn.seed))
    given = audited.conditions["input"]
    files = {"files": ["sample"], **given} if isinstance(given, Mapping) else given
    conditions = {**audited.conditions, "input": files, "options": {"sample": drawn.size, "seed": drawn.seed}}
    return Report({**conditions, FIELD: sampling}, tally.to_dict(), failures_of(results), results)


def _named(result: CaseResult, seen: Counter[str]) -> CaseResult:
    seen[result.id] += 1
    again = seen[result.id]
    return result if again == 1 else msgspec.structs.replace(result, id=f"{result.id} ({again})")


def own_labels(history: "History", run_id: str) -> dict[str, Any]:
    """What the labels of a drawn run say about all rows: how many, by how many people, with which agreement."""
    labels = history.labels(run_id)
    sampling = labels.sampling
    if sampling is None:
        raise OptionError(
            f"the run {run_id} is not a drawn sample, so that nothing is known about the rows that are not in it",
            hint="Draw one with `synthesis audit LOGS --sample 200` and save it with its texts.",
        )
    said = {place: consensus([label.answer for label in given]) for place, given in _places(labels.all()).items()}
    results = list(history.report(run_id).results())
    names = sorted({name for result in results for name in result.checks})
    summary = labels.summary()
    agreement = {each.question: each.agreement for each in summary.questions}
    figures = [_figures(name, results, sampling, said, agreement.get(name)) for name in names]
    return {"sentence": _sentence(summary, len(results)), "checks": [each for each in figures if each["labels"]]}


def _places(labels: Sequence[Label]) -> Mapping[tuple[int, str], Sequence[Label]]:
    return answers_by_place(labels)


def _figures(
    name: str,
    results: Sequence[CaseResult],
    sampling: RunSampling,
    said: Mapping[tuple[int, str], str | None],
    agreement: Agreement | None,
) -> dict[str, Any]:
    rows = [
        SampleLabel(
            drawn.stratum, drawn.probability, result.checks[name].outcome == FAIL, _is_yes(said, position, name)
        )
        for position, (result, drawn) in enumerate(zip(results, sampling.rows, strict=True))
        if name in result.checks and result.checks[name].outcome != ERROR
    ]
    found = recall(rows)
    return {
        "check": name,
        "labels": sum(row.positive is not None for row in rows),
        "rate": _told(weighted_rate(rows)),
        "precision": _told(precision(rows)),
        "recall": _told(found) + _missed(found),
        "agreement": _agreed(agreement),
    }


def _is_yes(said: Mapping[tuple[int, str], str | None], position: int, name: str) -> bool | None:
    answer = said.get((position, name))
    return None if answer is None else answer == YES


def _told(found: Estimate) -> str:
    if found.value is None or found.interval is None:
        return f"unknown: {found.reason}"
    low, high = found.interval
    return f"{percent(found.value)} ({percent(low)} to {percent(high)})"


def _missed(found: Estimate) -> str:
    if found.missed_at_most is None:
        return ""
    return f"; at most {percent(found.missed_at_most)} of all conversations are missed"


def _agreed(found: Agreement | None) -> str:
    if found is None or found.alpha is None:
        return found.reason if found else "no labels"
    return f"alpha {found.alpha:.2f}"


def _sentence(summary: LabelSummary, drawn: int) -> str:
    people = count(summary.people, "person") if summary.people == 1 else f"{summary.people:,} people"
    unverified = f", {summary.unverified:,} of them by a name that nobody verified" if summary.unverified else ""
    return (
        f"{count(summary.labels, 'label')} by {people}{unverified}, on {drawn:,} conversations that were drawn. Rates "
        "are of conversations, weighted by the probability with which each one was drawn; 95 % intervals."
    )
