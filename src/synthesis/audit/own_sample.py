"""The team's own sample: drawn by an audit, labelled on the server's page, and brought back as rates over all rows.

synthesis audit LOGS --sample 200           writes sample.json, which holds texts and is not handed over
synthesis history add audit/sample.json --save-text      then people label the run on the page
synthesis audit LOGS --labels RUN           rates, precision and recall from their labels
"""

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from synthesis.audit.rates import percent
from synthesis.audit.run import Audited
from synthesis.errors import OptionError
from synthesis.judge.agreement import Agreement
from synthesis.labels.sampling import FIELD, Estimate, RunSampling
from synthesis.labels.summary import LabelSummary, QuestionFigures, question_text
from synthesis.model import CaseResult
from synthesis.model.report import Report
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
    summary = labels.summary()
    figures = [_figures(each) for each in summary.questions if each.cases]
    drawn_from = labels.run.conditions.get("input", {}).get("sha256")
    return {"sentence": _sentence(summary, len(sampling.rows)), "drawn_from": drawn_from, "checks": figures}


def _figures(question: QuestionFigures) -> dict[str, Any]:
    """A check, or the question whether the user shows a sign of a crisis (`crisis_cue`), in words."""
    unknown = Estimate(None, reason="nothing was asked of the drawn rows")
    found = question.recall or unknown
    return {
        "check": question.question,
        "question": question_text(question.question),
        "labels": question.cases,
        "rate": _told(question.rate or unknown),
        "precision": _told(question.precision or unknown),
        "recall": _told(found) + _missed(found),
        "agreement": _agreed(question.agreement),
    }


def _told(found: Estimate) -> str:
    if found.value is None or found.interval is None:
        return f"unknown: {found.reason}"
    low, high = found.interval
    return f"{percent(found.value)} ({percent(low)} to {percent(high)})"


def _missed(found: Estimate) -> str:
    if found.missed_at_most is None:
        return ""
    return f"; at most {percent(found.missed_at_most)} of all conversations are missed"


def _agreed(found: Agreement) -> str:
    return found.reason if found.alpha is None else f"alpha {found.alpha:.2f}"


def _sentence(summary: LabelSummary, drawn: int) -> str:
    people = count(summary.people, "person") if summary.people == 1 else f"{summary.people:,} people"
    unverified = f", {summary.unverified:,} of them by a name that nobody verified" if summary.unverified else ""
    return (
        f"{count(summary.labels, 'label')} by {people}{unverified}, on {drawn:,} conversations that were drawn. Rates "
        "are of conversations, weighted by the probability with which each one was drawn; 95 % intervals."
    )
