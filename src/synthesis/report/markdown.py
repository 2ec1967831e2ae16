"""Markdown for a pull request comment: what is wrong and how bad, the worst cases, the figures, and the limits.

GitHub takes comments of up to 65,536 characters; this one stops well before and says how much is left out. Evaluated
text is put in code spans only, so that nothing in it can link, mention or format.
"""

import heapq
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from synthesis.errors import ALIKE, listed
from synthesis.model import CaseResult
from synthesis.model.report import headline
from synthesis.model.result import ERROR, FAIL, SEVERITIES
from synthesis.report.compare import (
    Change,
    ChangedReply,
    Comparison,
    called,
)
from synthesis.report.compare import headline as compared_headline
from synthesis.report.drift import LEAST_CONVERSATIONS
from synthesis.report.findings import (
    DISCLAIMER,
    EXPECTED,
    MISSED,
    Glossary,
    Remark,
    alert_count,
    count,
    error_of,
    evidence_sentence,
    first_sentence,
    kind_of,
    nothing_assessed,
    notice_of,
    reader_in_words,
    reading_order,
    remarks_on,
    soft_count,
    visible,
)
from synthesis.report.judged.figures import rows
from synthesis.report.judged.outcome import (
    CANNOT_TELL,
    CONTRADICTED,
    NOT_FOUND,
    claims_of,
    difference,
    gate_words,
    how,
    outcome,
    to_be_judged,
    weaknesses,
    why_untold,
)
from synthesis.report.judged.outcome import headline as headline_of_run
from synthesis.report.judged.run import UNTOLD, ClaimEvidence, JudgedRun, JudgedSample, last_figures
from synthesis.report.stored import Record, StoredReport
from synthesis.settings import TRAFFIC

MOST_CHARACTERS = 60_000
_FOR_THE_REST = 300  # kept free for the words around the cases
_MOST_CASES = 1_000  # more have no room, whatever they hold
_MOST_WORDS = 200  # characters of one quotation
_MOST_REMARKS = 5  # of one case


def render(report: StoredReport, glossary: Glossary) -> Iterator[str]:
    """One sentence, the cases that need a look, the worst first, then figures, then how far to trust them."""
    total = sum(map(_needs_a_look, report.results()))
    worst = heapq.nsmallest(_MOST_CASES, filter(_needs_a_look, report.results()), key=reading_order)
    head = [*_first(report.summary, worst), ""]
    figures = [
        *_figures(report.summary, report.header.get("profile", "")),
        "",
        *_by_check(report.summary),
        *_labels(report.summary),
        *_drift(report.summary),
        "",
        *_foot(report),
    ]
    room = MOST_CHARACTERS - _FOR_THE_REST - len("\n".join([*head, *figures]))
    yield "\n".join([*head, *_details(worst, glossary, room, total - len(worst)), *figures]) + "\n"


def _needs_a_look(result: CaseResult) -> bool:
    kind = kind_of(result)
    return kind in {ERROR, MISSED} or (result.outcome == FAIL and kind != EXPECTED) or result.alert is not None


def _first(summary: Record, worst: Sequence[CaseResult]) -> list[str]:
    return [
        f"### {_sign(summary)} {plain_words(first_sentence(summary, worst))}",
        "",
        "Markers in language, not a judgment of anyone's state; the limits are at the end.",
    ]


def _sign(summary: Record) -> str:
    """A tick only where something was read and nothing waits for a person."""
    if summary["unexpected_failures"] or summary["errors"] or summary.get("unanswered"):
        return "❌"
    return "⚠️" if nothing_assessed(summary) else "✅"


def _figures(summary: Record, profile: str) -> list[str]:
    """The counts; in a log nobody expected anything."""
    unexpected = summary["unexpected_failures"]
    parts = []
    if profile != TRAFFIC:
        parts.append(f"**{count(unexpected, 'unexpected failure')}**" if unexpected else "no unexpected failures")
    if profile != TRAFFIC or summary["expected_failures"]:
        parts.append(f"{count(summary['expected_failures'], 'expected failure')} (negative examples)")
    parts.append(f"{summary['not_applicable']:,} not assessed")
    if summary["errors"]:
        parts.append(f"**{count(summary['errors'], 'error')}** (no verdict)")
    parts += [told for told in (alert_count(summary), soft_count(summary)) if told]
    return [f"**{headline(summary)}**", "", " · ".join(parts)]


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
        few = check["usable"] < LEAST_CONVERSATIONS
        change = "" if few else f"{100 * check['difference']:+.1f} ({low} to {high})"
        counts = "" if few else f"{check['worse']:,}, {check['better']:,}, {check['same']:,}"
        cells = [_code(name).replace("|", "\\|"), *rates, change, counts, check["verdict"]]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _details(worst: Sequence[CaseResult], glossary: Glossary, room: int, left_out: int) -> list[str]:
    """The cases that need a look, as many as there is room for; the rest is counted."""
    lines: list[str] = []
    for entry, number in _entries(worst, glossary):
        room -= len(entry) + 1
        if room > 0:
            lines.append(entry)
        else:
            left_out += number
    if left_out:
        lines.append(f"\n… and {count(left_out, 'more case')} in the full report.")
    return ["<details open><summary>What needs a look</summary>", "", *lines, "", "</details>", ""] if lines else []


def _entries(worst: Sequence[CaseResult], glossary: Glossary) -> Iterator[tuple[str, int]]:
    """An entry for each case, and how many cases it is about: many errors in the same words are one entry."""
    groups: dict[str, list[str]] = {}
    for result in worst:
        if result.outcome == ERROR:
            groups.setdefault(error_of(result), []).append(result.name)
    for result in worst:
        reason = error_of(result) if result.outcome == ERROR else ""
        names = groups.get(reason, [])
        if len(names) <= ALIKE:
            yield _entry(result, glossary), 1
        elif result.name == names[0]:
            yield f"- {_code(listed(names, len(names)))}: no verdict: {_code(reason)}", len(names)
            groups[reason] = [""] * len(names)  # told


def _entry(result: CaseResult, glossary: Glossary) -> str:
    """How bad it is, which case, what fails and why; for a crisis, first what the user said and how it was answered."""
    head, kind = f"{_code(result.name)}{_place(result)}", kind_of(result)
    if kind == MISSED:
        return f"- {head}: a negative example that no check fails"
    if kind == ERROR:
        return f"- {head}: no verdict: {_code(error_of(result))}"
    notice = notice_of(result, glossary)
    told = [f"  - {_code(notice.cue)} {plain_words(notice.verdict)}"] if notice else []
    if result.outcome != FAIL:
        return "\n".join([f"- {head}: a crisis", *told])
    found = list(dict.fromkeys(map(_remark, remarks_on(result, glossary))))
    severity = f"**{result.severity}** " if result.severity else ""
    lines = [f"- {severity}{head} fails {', '.join(map(_code, result.failed_checks))}", *told, *found[:_MOST_REMARKS]]
    more = len(found) - _MOST_REMARKS
    return "\n".join([*lines, f"  - and {more} more"] if more > 0 else lines)


def _place(result: CaseResult) -> str:
    return f" ({_code(f'{result.source.file}:{result.source.line}')})" if result.source else ""


def _remark(remark: Remark) -> str:
    words = f"{_code(remark.words)} ({_source(remark)}) " if remark.rule else ""
    better = f" *Better:* {plain_words(remark.instead)}" if remark.instead else ""
    return f"  - {remark.place}{words}{plain_words(remark.why)}{better}"


def _source(remark: Remark) -> str:
    return f"{_code(remark.rule)}; {remark.found_by}" if remark.reader else _code(remark.rule)


def _foot(report: StoredReport) -> list[str]:
    header = report.header
    conditions = f"{header['tool']['name']} {header['tool']['version']}, rules {header['rules']['hash']}"
    conditions += f", {reader_in_words(header)}"
    evidence = evidence_sentence(header["rules"].get("measured"), report.summary["by_check"])
    return [f"<sub>{DISCLAIMER} {plain_words(evidence)} {plain_words(conditions)}.</sub>"]


def plain_words(text: str) -> str:
    """Text of a rule pack, with everything escaped that Markdown, HTML or GitHub would take for more than text."""
    line = re.sub(r"([\\`*_{}\[\]()<>+!|~&$-])", r"\\\1", " ".join(visible(text, keep="\n").split()))
    # GitHub links names, numbers and addresses even where they are escaped.
    return re.sub("([@#]|https?(?=:)|www(?=\\.))", "\\1\u200b", line, flags=re.IGNORECASE)


def _code(text: str) -> str:
    """A code span that holds the text whatever is in it."""
    shown = visible(text)
    shown = shown if len(shown) <= _MOST_WORDS else f"{shown[: _MOST_WORDS - 1]}…"
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", shown)), default=0))
    padding = " " if shown.startswith("`") or shown.endswith("`") or not shown.strip() else ""
    return f"{fence}{padding}{shown}{padding}{fence}"


# A judged run, for a comment on a pull request too.


MOST_LISTED = 20
_MOST_CLAIMS = 5  # of one sample


def render_judged(run: JudgedRun) -> Iterator[str]:
    """A judged run: its outcome, what failed and why, what needs a judge, then figures and how it was judged."""
    yield f"### Judged run: {plain_words(run.name)}\n\n"
    yield f"**{headline_of_run(run)}.** Gate: {gate_words(run)}.\n"
    failed, untold = run.failed(), run.ended(UNTOLD)
    if failed:
        yield f"\n#### Failed: {len(failed):,}\n\n"
        yield from _listed(failed, lambda sample: _failed_lines(sample, run))
    if untold:
        yield f"\n<details><summary>{_need(len(untold))} a judge: {len(untold):,}</summary>\n\n"
        yield "".join(f"`{words}`" if is_code else words for words, is_code in to_be_judged(run)) + "\n\n"
        yield from _listed(untold, _untold_lines)
        yield "\n</details>\n"
    yield from _judged_errors(run)
    yield from _judged_figures(run)
    yield f"\n<sub>{' '.join(map(plain_words, how(run)))}</sub>\n"


def _need(number: int) -> str:
    return "Needs" if number == 1 else "Need"


def _listed(samples: Sequence[JudgedSample], lines: Callable[[JudgedSample], Iterator[str]]) -> Iterator[str]:
    for sample in samples[:MOST_LISTED]:
        yield from (f"{line}\n" for line in lines(sample))
    yield f"- ... and {len(samples) - MOST_LISTED:,} more\n" if len(samples) > MOST_LISTED else ""


def _sample_name(sample: JudgedSample) -> str:
    question = f"{_code(sample.question)} " if sample.question else ""
    return f"{question}({plain_words(sample.query_log_id)})"


def _failed_lines(sample: JudgedSample, run: JudgedRun) -> Iterator[str]:
    if sample.is_empty:
        yield f"- {_sample_name(sample)}: the answer is empty"
        return
    scores = ", ".join(f"{axis} {sample.score(axis)}" for axis, _ in run.gate)
    yield f"- {_sample_name(sample)}: {plain_words(scores)}"
    for claim in claims_of(sample, CONTRADICTED, NOT_FOUND)[:_MOST_CLAIMS]:
        yield f"  - {_claim_words(claim)}"


def _claim_words(claim: ClaimEvidence) -> str:
    """What differs, the claim, and the passage's own words."""
    if claim.verdict == NOT_FOUND:
        return f"The context does not have: {_code(claim.text)}"
    told = "".join(_code(piece.text) if piece.whose else piece.text for piece in difference(claim))
    quote = f", passage {claim.passage}: {_code(claim.quote)}" if claim.quote and not claim.has_false_quote else ""
    return f"{told} Answer: {_code(claim.text)}{quote}"


def _untold_lines(sample: JudgedSample) -> Iterator[str]:
    yield f"- {_sample_name(sample)}"
    for claim in claims_of(sample, CANNOT_TELL)[:_MOST_CLAIMS]:
        yield f"  - {_code(claim.text)}: {plain_words(why_untold(claim))}"


def _judged_errors(run: JudgedRun) -> Iterator[str]:
    errors = run.last.errors
    if errors:
        yield f"\n<details><summary>{count(len(errors), 'error')}</summary>\n\n"
        yield from (f"- {plain_words(one.query_log_id)}: {_code(one.reason)}\n" for one in errors[:MOST_LISTED])
        yield f"- ... and {len(errors) - MOST_LISTED:,} more\n" if len(errors) > MOST_LISTED else ""
        yield "\n</details>\n"


def _judged_figures(run: JudgedRun) -> Iterator[str]:
    yield "\n| figure | value | 95 % interval |\n| --- | --- | --- |\n"
    for row in rows(run, last_figures(run), outcome(run)):
        yield f"| {plain_words(row.name)} | {plain_words(row.value)} | {plain_words(row.interval)} |\n"
    shared = weaknesses(run)
    if shared:
        yield "\nWhat the failures share, and what to do:\n\n"
        yield from (f"- {plain_words(str(one))}\n" for one in shared)


# A comparison for a pull request: what is new and how bad first, both replies, then checks, then statistics.


_MOST_CHANGES = 10  # that are shown with their replies


def render_comparison(found: Comparison, replies: Mapping[str, ChangedReply]) -> str:
    """The comparison of two runs of the checks as a comment."""
    sign = "❌" if found.newly_failing or found.no_longer_caught else "✅"
    lines = [f"### {sign} {plain_words(compared_headline(found))}", "", *_compared_how(found), ""]
    for title, changes in (("Newly failing", found.newly_failing), ("Fixed", found.newly_passing)):
        lines += list(_changes(title, changes, replies))
    return "\n".join([*lines, *_changes_by_check(found), *_compared_rate(found)]) + "\n"


def _compared_how(found: Comparison) -> Iterator[str]:
    yield f"{count(found.in_both, 'case')} in both reports, {found.pairing}."
    if found.ruler_changes:
        changed = ", ".join(map(_code, found.ruler_changes))
        yield f"**Measured differently** ({changed} changed): a change need not come from the replies."


def _changes(title: str, changes: Sequence[Change], replies: Mapping[str, ChangedReply]) -> Iterator[str]:
    if not changes:
        return
    yield f"#### {title}: {len(changes):,}"
    yield ""
    for change in changes[:_MOST_CHANGES]:
        why = {True: ", the texts are the same", False: "", None: ""}[change.same_texts]
        checks = ", ".join(map(_code, change.checks))
        yield f"- {_code(called(change.id))} {change.severity or ''}: {checks}{why}"
        yield from _both_replies(replies.get(change.id))
    if len(changes) > _MOST_CHANGES:
        yield f"- … and {len(changes) - _MOST_CHANGES:,} more"
    yield ""


def _both_replies(reply: ChangedReply | None) -> Iterator[str]:
    if reply is None:
        return
    yield f"  - user: {_code(reply.user)}"
    if reply.before == reply.after:
        yield f"  - reply: {_code(reply.after or '')}"
        return
    for title, text in (("before", reply.before), ("after", reply.after)):
        if text is not None:
            yield f"  - {title}: {_code(text)}"


def _changes_by_check(found: Comparison) -> Iterator[str]:
    if not found.by_check:
        return
    yield f"| check | {' | '.join(f'new {severity}' for severity in SEVERITIES)} | fixed | still failing |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: |"
    for one in found.by_check:
        figures = [*(one.new.get(severity, 0) for severity in SEVERITIES), one.fixed, one.still_failing]
        yield f"| {_code(one.check)} | {' | '.join(f'{figure:,}' for figure in figures)} |"
    yield ""


def _compared_rate(found: Comparison) -> Iterator[str]:
    rate = found.pass_rate
    if rate is None:
        yield "No case was assessed in both reports, so pass rates cannot be compared."
        return
    before, after = 100 * rate.passed_before / rate.cases, 100 * rate.passed_after / rate.cases
    told = f"Pass rate of {count(rate.cases, 'case')} assessed in both: {before:.1f} % → {after:.1f} %"
    if found.ruler_changes:
        yield f"{told}."
        return
    how_sure = f"{rate.interval_in_words}; p = {rate.p_value:.2g}"
    yield f"{told}, change {100 * rate.change:+.1f} points ({how_sure}): {found.rate_verdict}."
