"""Markdown for a pull request comment: the figures, a line per check, and the failures that need a look.

GitHub takes comments of up to 65,536 characters; this one stops well before and says how much is left out. Evaluated
text is put in code spans only, so that nothing in it can link, mention or format.
"""

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

from synthesis.model import CaseResult
from synthesis.model.report import headline
from synthesis.model.result import ERROR
from synthesis.report.findings import (
    DISCLAIMER,
    MISSED,
    UNEXPECTED,
    Glossary,
    Remark,
    alert_count,
    count,
    error_of,
    evidence_sentence,
    kind_of,
    notice_of,
    remarks_on,
    soft_count,
    visible,
)
from synthesis.report.judged.run import Interval, JudgedRun, JudgedSample, Mean, Rate, cost, last_figures
from synthesis.report.stored import Record, StoredReport

MOST_CHARACTERS = 60_000
_FOR_THE_REST = 3_000  # kept free for what comes below the failures
_MOST_WORDS = 200  # characters of one quotation
_MOST_REMARKS = 5  # of one case
_MOST_ALERTS = 20
_ORDER = (UNEXPECTED, ERROR, MISSED)


def render(report: StoredReport, glossary: Glossary) -> Iterator[str]:
    head = [
        *_alerts(report, glossary),
        *_headline(report.summary),
        "",
        *_by_check(report.summary),
        *_labels(report.summary),
        *_drift(report.summary),
    ]
    details = _details(report, glossary, MOST_CHARACTERS - _FOR_THE_REST - len("\n".join(head)))
    yield "\n".join([*head, *details, "", *_foot(report)]) + "\n"


def _alerts(report: StoredReport, glossary: Glossary) -> list[str]:
    """Alerts come first, up to a limit; evaluated words are in code spans, as everywhere."""
    counted = alert_count(report.summary)
    if not counted:
        return []
    alerting = (result for result in report.results() if result.alert is not None)
    lines = [entry for result in islice(alerting, _MOST_ALERTS) for entry in _alert(result, glossary)]
    left = report.summary["alerts"] - _MOST_ALERTS
    return [f"> **{counted}.**", *lines, *([f"> - and {left:,} more"] if left > 0 else []), ""]


def _alert(result: CaseResult, glossary: Glossary) -> list[str]:
    notice = notice_of(result, glossary)
    assert notice is not None
    head = f"> - {_code(result.name)}{_place(result)}: {_code(notice.cue)} {plain_words(notice.verdict)}"
    return [head, *(f"> {_remark(remark)}" for remark in notice.remarks[:_MOST_REMARKS])]


def _headline(summary: Record) -> list[str]:
    unexpected = summary["unexpected_failures"]
    sign = "❌" if unexpected or summary["errors"] else "✅"
    parts = [
        f"**{count(unexpected, 'unexpected failure')}**" if unexpected else "no unexpected failures",
        f"{count(summary['expected_failures'], 'expected failure')} (negative examples)",
        f"{summary['not_applicable']:,} not assessed",
    ]
    if summary["errors"]:
        parts.append(f"**{count(summary['errors'], 'error')}** (no verdict)")
    if soft := soft_count(summary):
        parts.append(soft)
    return [f"### {sign} Synthesis: {headline(summary)}", "", " · ".join(parts)]


def _by_check(summary: Record) -> list[str]:
    lines = ["| check | passed | failed | not applicable | errors |", "| --- | ---: | ---: | ---: | ---: |"]
    for name, counts in summary["by_check"].items():
        figures = (counts.get(key, 0) for key in ("passed", "failed", "not_applicable", "errors"))
        cells = [_code(name).replace("|", "\\|"), *(f"{figure:,}" for figure in figures)]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _labels(summary: Record) -> list[str]:
    accuracy: dict[str, Any] | None = summary.get("label_accuracy")
    if accuracy is None:
        return []
    matched = f"{accuracy['matched']:,} of {accuracy['total']:,}"
    return ["", f"Label accuracy: {accuracy['accuracy']} % ({matched})"]


def _drift(summary: Record) -> list[str]:
    """Whether replies get worse over a conversation, for the checks with enough data."""
    found = summary.get("drift", {}).get("by_check", {})
    usable = {name: check for name, check in found.items() if check["usable"]}
    if not usable:
        return []
    lines = ["", "| over the conversation | first half | second half | difference, 95 % | worse, better, unchanged | |"]
    lines.append("| --- | ---: | ---: | ---: | ---: | --- |")
    for name, check in usable.items():
        rates = [f"{100 * check[half]:.1f} %" for half in ("first_half", "second_half")]
        low, high = (f"{100 * bound:+.1f}" for bound in check["interval"])
        change = f"{100 * check['difference']:+.1f} ({low} to {high})"
        counts = f"{check['worse']:,}, {check['better']:,}, {check['same']:,}"
        cells = [_code(name).replace("|", "\\|"), *rates, change, counts, check["verdict"]]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _details(report: StoredReport, glossary: Glossary, room: int) -> list[str]:
    """The cases that need a look, as many as there is room for; the rest is counted."""
    lines: list[str] = []
    left_out = 0
    for wanted in _ORDER:
        for result in report.results():
            if kind_of(result) != wanted:
                continue
            entry = _entry(result, wanted, glossary)
            room -= len(entry) + 1
            if room > 0:
                lines.append(entry)
            else:
                left_out += 1
    if left_out:
        lines.append(f"\n… and {count(left_out, 'more case')} in the full report.")
    return ["", "<details open><summary>What needs a look</summary>", "", *lines, "", "</details>"] if lines else []


def _entry(result: CaseResult, kind: str, glossary: Glossary) -> str:
    head = f"- {_code(result.name)}{_place(result)}"
    if kind == MISSED:
        return f"{head}: a negative example that no check fails"
    if kind == ERROR:
        return f"{head}: no verdict: {_code(error_of(result))}"
    found = list(dict.fromkeys(map(_remark, remarks_on(result, glossary))))
    lines = [f"{head} fails {', '.join(map(_code, result.failed_checks))}", *found[:_MOST_REMARKS]]
    more = len(found) - _MOST_REMARKS
    return "\n".join([*lines, f"  - and {more} more"] if more > 0 else lines)


def _place(result: CaseResult) -> str:
    return f" ({_code(f'{result.source.file}:{result.source.line}')})" if result.source else ""


def _remark(remark: Remark) -> str:
    words = f"{_code(remark.words)} ({_code(remark.rule)}) " if remark.rule else ""
    better = f" *Better:* {plain_words(remark.instead)}" if remark.instead else ""
    return f"  - {words}{plain_words(remark.why)}{better}"


def _foot(report: StoredReport) -> list[str]:
    header = report.header
    conditions = f"{header['tool']['name']} {header['tool']['version']}, rules {header['rules']['hash']}"
    evidence = evidence_sentence(header["rules"].get("measured"), report.summary["by_check"])
    return [f"<sub>{DISCLAIMER} {plain_words(evidence)} {plain_words(conditions)}.</sub>"]


def plain_words(text: str) -> str:
    """Text of a rule pack, with everything escaped that Markdown, HTML or GitHub would take for more than text."""
    line = re.sub(r"([\\`*_{}\[\]()<>+!|~&$-])", r"\\\1", " ".join(visible(text, keep="\n").split()))
    return re.sub("([@#])", "\\1\u200b", line)  # GitHub links names and numbers even where they are escaped


def _code(text: str) -> str:
    """A code span that holds the text whatever is in it."""
    shown = visible(text)
    shown = shown if len(shown) <= _MOST_WORDS else f"{shown[: _MOST_WORDS - 1]}…"
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", shown)), default=0))
    padding = " " if shown.startswith("`") or shown.endswith("`") or not shown.strip() else ""
    return f"{fence}{padding}{shown}{padding}{fence}"


# A judged run, for a comment on a pull request too.


MOST_LISTED = 20


def render_judged(run: JudgedRun) -> Iterator[str]:
    """A judged run, as short."""
    figures = last_figures(run)
    totals = figures.totals
    yield f"### Judged run: {plain_words(run.name)}\n\n"
    judge, rubric = plain_words(run.judge), plain_words(run.rubric)
    yield f"{_share(totals.overall_pass_rate)} passed. Judge: {judge}, rubric {rubric}.\n\n"
    yield "| axis | mean | passed |\n| --- | --- | --- |\n"
    for axis in figures.axes:
        yield f"| {plain_words(axis.title)} ({axis.passes_at} or more) | {_mean(axis.mean)} | {_share(axis.rate)} |\n"
    yield f"\n{totals.errors} could not be judged, {totals.not_judged} not yet judged, "
    yield f"{totals.stale} stale. Cost: {cost(run)}.\n"
    lowest = run.failed()
    if lowest:
        yield f"\n<details><summary>{len(lowest)} not passed</summary>\n\n"
        yield from (f"- {_sample_line(run, sample)}\n" for sample in lowest[:MOST_LISTED])
        yield f"- ... and {len(lowest) - MOST_LISTED} more\n" if len(lowest) > MOST_LISTED else ""
        yield "\n</details>\n"


def _sample_line(run: JudgedRun, sample: JudgedSample) -> str:
    scores = ", ".join(f"{axis} {sample.judge_verdict[axis].score}" for axis, _ in run.axes)
    return f"{plain_words(sample.query_log_id)}: {plain_words(scores)}: {plain_words((sample.question or '')[:120])}"


def _share(rate: Rate) -> str:
    """`5 of 8, 62.5 % (30.6 to 86.3)`: a rate with its base and its interval."""
    base = f"{rate.numerator} of {rate.denominator}"
    return base if rate.value is None else f"{base}, {100 * rate.value:.1f} %{_interval(rate.interval, 100, 1)}"


def _mean(mean: Mean) -> str:
    """`3.75 (2.88 to 4.63)`: a mean with its interval."""
    return "none" if mean.value is None else f"{mean.value:.2f}{_interval(mean.interval, 1, 2)}"


def _interval(interval: Interval | None, scale: int, digits: int) -> str:
    return f" ({scale * interval[0]:.{digits}f} to {scale * interval[1]:.{digits}f})" if interval else ""
