"""What `synthesis history` shows: runs as a table, one run with its trouble."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click
import msgspec

from synthesis.cli.terminal import safe
from synthesis.errors import shorten
from synthesis.report.findings import count
from synthesis.report.judged.run import axis_title

if TYPE_CHECKING:
    from synthesis.history import Figures, Page, SavedCase, SavedRun, SavedSample
    from synthesis.history.store import History
    from synthesis.model import CaseResult

_HEADINGS = (
    "RUN",
    "STARTED (UTC)",
    "KIND",
    "PROFILE",
    "CASES",
    "FAILURES",
    "PASSED",
    "LABELS",
    "REVISION",
    "NAME",
    "TAGS",
)
_RIGHT = {"CASES", "FAILURES", "PASSED", "LABELS"}
_NAME_WIDTH = 40
_TROUBLE = ("unexpected", "error", "missed")
_SHOWN_REASONS = 3


def run_fields(run: "SavedRun") -> dict[str, Any]:
    """A run as JSON shows it: with its headline figures."""
    fields: dict[str, Any] = msgspec.to_builtins(run)
    return fields | {"profile": run.profile, "figures": msgspec.to_builtins(run.figures)}


def found_in(history: "History", run: "SavedRun", limit: int) -> "Page[SavedCase] | Page[SavedSample]":
    """The cases or samples of a run that need a look."""
    if run.kind == "judge":
        return history.samples(run.id, outcome=("fail", "error"), per_page=limit)
    return history.outcomes(run.id, kind=_TROUBLE, per_page=limit)


def table_lines(runs: Sequence["SavedRun"], width: int | None = None) -> Iterator[str]:
    """One line for each run, columns that are empty throughout left out; two lines where the terminal is too narrow."""
    if not runs:
        yield "No runs."
        return
    columns = list(zip(_HEADINGS, *map(_cells, runs), strict=True))
    rows = zip(*(_aligned(column) for column in columns if any(column[1:])), strict=True)
    lines = ["  ".join(row).rstrip() for row in rows]
    if width is not None and max(map(_width, lines)) > width:
        for run in runs:
            yield from _narrow(run)
        return
    yield click.style(lines[0], dim=True)
    yield from lines[1:]


def _narrow(run: "SavedRun") -> Iterator[str]:
    kind = ", ".join(filter(None, (run.kind, safe(run.profile))))
    yield f"{click.style(run.id, bold=True)}  {_time(run.started)} UTC  {kind}"
    about = "  ".join(filter(None, (safe(shorten(run.name, _NAME_WIDTH)), safe(", ".join(run.tags)))))
    yield f"  {_headline(run, run.figures)}"
    yield click.style(f"  {about}", dim=True)


def _width(text: str) -> int:
    from rich.cells import cell_len

    return cell_len(text)


def _cells(run: "SavedRun") -> tuple[str, ...]:
    figures = run.figures
    return (
        run.id,
        _time(run.started),
        run.kind,
        safe(run.profile),
        str(figures.total),
        str(figures.failures),
        _percent(figures.pass_rate),
        _percent(figures.label_accuracy),
        safe(run.revision or "")[:8],
        safe(shorten(run.name, _NAME_WIDTH)),
        safe(", ".join(run.tags)),
    )


def _aligned(column: Sequence[str]) -> list[str]:
    width = max(map(_width, column))
    spaces = [" " * (width - _width(cell)) for cell in column]
    pairs = zip(column, spaces, strict=True)
    return [space + cell if column[0] in _RIGHT else cell + space for cell, space in pairs]


def _time(started: str) -> str:
    return safe(started[:16].replace("T", " "))


def _percent(value: float | None) -> str:
    return "" if value is None else f"{value:g} %"


def run_lines(run: "SavedRun", trouble: "Page[SavedCase] | Page[SavedSample]") -> Iterator[str]:
    """One run: what was in force, the figures, and what needs a look."""
    from synthesis.history import SavedSample

    yield click.style(f"Run {run.id}", bold=True) + f"  {run.kind}  {safe(run.name)}"
    known = {
        "started": f"{_time(run.started)} UTC",
        "profile": run.profile,
        "tool": run.tool_version,
        "rubric" if run.kind == "judge" else "rules": run.rules_hash,
        "judge": _judge(run),
        "input": run.input_hash,
        "revision": run.revision,
        "tags": ", ".join(run.tags),
        "texts": "saved" if run.with_text else "not saved",
    }
    yield from (f"  {name:<9} {safe(value)}" for name, value in known.items() if value)
    yield ""
    yield f"  {_headline(run, run.figures)}"
    for item in trouble.items:
        yield from _sample_lines(item) if isinstance(item, SavedSample) else _case_lines(item, run.with_text)
    if trouble.total > len(trouble.items):
        yield click.style(f"... and {trouble.total - len(trouble.items)} more (--limit)", dim=True)


def _judge(run: "SavedRun") -> str:
    judge = run.conditions.get("judge", {})
    return f"{judge['provider']} ({judge['model']})" if run.kind == "judge" else ""


def _headline(run: "SavedRun", figures: "Figures") -> str:
    noun, failed = ("verdict", "no pass") if run.kind == "judge" else ("case", "unexpected")
    parts = [
        count(figures.total, noun),
        f"{figures.failures} {failed}",
        f"{figures.errors} without a verdict" if figures.errors else "",
        f"{_percent(figures.pass_rate)} passed" if figures.pass_rate is not None else "",
        f"label accuracy {_percent(figures.label_accuracy)}" if figures.label_accuracy is not None else "",
        f"faithfulness {figures.faithfulness:.2f}" if figures.faithfulness is not None else "",
        f"{axis_title(_judge(run), 'completeness')} {figures.completeness:.2f}"
        if figures.completeness is not None
        else "",
    ]
    return ", ".join(filter(None, parts))


def _case_lines(case: "SavedCase", with_text: bool) -> Iterator[str]:
    from synthesis.report.findings import KINDS, error_of

    said = error_of(case.result) if case.outcome == "error" else ", ".join(case.result.failed_checks)
    yield f"{click.style(KINDS[case.kind], fg='red')} {safe(case.case_id)}" + (f": {safe(said)}" if said else "")
    for name in case.result.failed_checks:
        yield from (f"    {line}" for line in _remarks(case.result, name, with_text))


def _remarks(result: "CaseResult", check: str, with_text: bool) -> Iterable[str]:
    from synthesis.glossary import absences
    from synthesis.report.findings import Glossary, remarks_on_check

    for remark in remarks_on_check(result, check, Glossary(absences=absences()))[:_SHOWN_REASONS]:
        words = f"“{safe(shorten(remark.words))}”" if with_text else safe(remark.words)
        yield f"{words if remark.rule else safe(remark.reason)}  {click.style(safe(remark.rule or check), dim=True)}"


def _sample_lines(sample: "SavedSample") -> Iterator[str]:
    name = f"{safe(sample.query_log_id)} (iteration {sample.iteration})"
    if sample.error is not None:
        yield f"{click.style('error', fg='red')} {name}: {safe(shorten(sample.error))}"
        return
    verdict = sample.record.get("judgeVerdict", {})
    yield f"{click.style('no pass', fg='red')} {name}: " + ", ".join(
        f"{safe(axis)} {said['score']}" for axis, said in verdict.items()
    )
