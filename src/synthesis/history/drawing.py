"""Judged runs for the renderers and the comparison, from a history."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from synthesis.history.model import JUDGE, Run, SampleOutcome
from synthesis.history.reading import MOST_PER_PAGE, sample_page, sample_query
from synthesis.report.judged.run import Iteration, JudgedRun, JudgedSample, UnjudgedSample, decode_sample
from synthesis.report.reading import Record

if TYPE_CHECKING:
    from synthesis.history.database import Database


def stored_judged_run(database: "Database", run: Run) -> JudgedRun:
    """The run as it was saved: without words unless it was saved with its texts."""
    assert run.kind == JUDGE
    found: dict[int, list[SampleOutcome]] = {}
    for sample in _samples(database, run.id):
        found.setdefault(sample.iteration, []).append(sample)
    judge, rubric = run.conditions["judge"], run.conditions["rubric"]
    return JudgedRun(
        name=run.name,
        judge=f"{judge['provider']} ({judge['model']})",
        rubric=rubric["name"],
        axes=tuple((axis["name"], axis["pass_at"]) for axis in rubric["axes"]),
        iterations=tuple(_iteration(said, found.get(said["number"], [])) for said in run.summary["iterations"]),
        final_metrics=run.summary["final_metrics"],
        final_cost=run.summary["final_cost"],
    )


def _iteration(said: Record, samples: list[SampleOutcome]) -> Iteration:
    decoded = [decode_sample(sample.record) for sample in samples]
    return Iteration(
        number=said["number"],
        metrics=said["metrics"],
        cost=said["cost"],
        analysis=said["analysis"],
        records=tuple(sample for sample in decoded if isinstance(sample, JudgedSample)),
        errors=tuple(sample for sample in decoded if isinstance(sample, UnjudgedSample)),
    )


def _samples(database: "Database", run_id: str) -> Iterator[SampleOutcome]:
    query, number = sample_query(run_id, None, None, None), 1
    while (page := sample_page(database, query, number, MOST_PER_PAGE)).items:
        yield from page.items
        number += 1
