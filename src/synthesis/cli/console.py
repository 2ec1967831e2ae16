"""The summary of a run on the console: what is wrong and how bad, the worst cases, figures, how far to trust them."""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import click

from synthesis.checks.explained import Explanation
from synthesis.checks.registry import measured_languages
from synthesis.cli.terminal import columns
from synthesis.errors import shorten
from synthesis.glossary import glossary_of
from synthesis.model import CaseResult
from synthesis.model.report import headline
from synthesis.model.result import (
    CRITICAL,
    ERROR,
    FAIL,
    LEAST_IN_HALF,
    MINOR,
    NOT_APPLICABLE,
    PASS,
    SERIOUS,
    SEVERITIES,
    Timeline,
)
from synthesis.printable import safe
from synthesis.report.drift import (
    BETTER,
    LEAST_CONVERSATIONS,
    NOT_SHOWN,
    TOO_FEW,
    WORSE,
    DriftChange,
    curve_points,
)
from synthesis.report.findings import (
    SHORT_DISCLAIMER,
    TURN_SIGNS,
    ErrorGroups,
    Glossary,
    Remark,
    alert_count,
    count,
    deciding_turn,
    evidence_sentence,
    first_sentence,
    nothing_assessed,
    notice_of,
    pass_rate,
    reading_order,
    remarks_on,
    soft_count,
)
from synthesis.rules.ruleset import RuleSet
from synthesis.rules.text import language_of
from synthesis.settings import AUTHORED

SHOWN_FAILURES = 5
SHOWN_REMARKS = 6  # lines of a case
_SHOWN_CHARACTERS = 100  # of a message: enough to know what it is about
_SEVERITY_COLOURS = {CRITICAL: "red", SERIOUS: "magenta", MINOR: "yellow"}
_LEAST_DIGITS = 5  # columns of a count, so that small runs line up with each other


def summary_lines(
    summary: dict[str, Any],
    examples: Sequence[CaseResult],
    rules: RuleSet,
    profile: str = AUTHORED,
    errors: ErrorGroups | None = None,
) -> list[str]:
    """The whole summary, coloured, the worst first; the caller strips the colours where they are not wanted."""
    ordered = sorted(examples, key=reading_order)
    lines = [
        _first_line(summary, ordered),
        _dim("These are markers in language, not a judgment of anyone's state; the limits are at the end."),
        *_cases(ordered, summary, rules, profile),
        *_errors(errors or ErrorGroups(), summary["errors"]),
        "",
        _headline(summary),
        *_expectations(summary, profile),
        "",
        *_by_check(summary),
        *_labels(summary),
        *drift_lines(summary),
    ]
    evidence = evidence_sentence(measured_languages(), summary["by_check"])
    return [*lines, "", _dim(f"{evidence} {_reader(rules)}"), _dim(SHORT_DISCLAIMER)]


def _reader(rules: RuleSet) -> str:
    """What read the texts, in one short phrase."""
    return "Reader: rules." if rules.learned is None else f"Reader: rules and {safe(rules.learned.name)}."


def verdict_lines(verdict: CaseResult, rules: RuleSet) -> list[str]:
    """One exchange: how it fails and why, or how a crisis is answered; then the other checks."""
    glossary = glossary_of(rules)
    colour = {FAIL: _SEVERITY_COLOURS.get(verdict.severity or MINOR), PASS: "green", ERROR: "red"}.get(verdict.outcome)
    lines = [click.style(safe(verdict.headline), fg=colour, bold=True)]
    remarks = remarks_on(verdict, glossary)
    for name in verdict.failed_checks:
        own = [remark for remark in remarks if remark.check == name]
        lines += [f"  {safe(name)} ({verdict.checks[name].severity})", *(f"    {line}" for line in _told(own))]
    notice = notice_of(verdict, glossary)
    if notice is not None:
        lines += [f"crisis: {safe(notice.cue)}", f"    {safe(notice.verdict)}"]
    for outcome, word in ((ERROR, "no verdict"), (PASS, "passed"), (NOT_APPLICABLE, "not applicable")):
        names = [name for name, check in verdict.checks.items() if check.outcome == outcome]
        lines += [_dim(f"{word}: {', '.join(map(safe, names))}")] if names else []
    return [*lines, _dim(SHORT_DISCLAIMER)]


def explained_lines(explained: Mapping[str, Sequence[Explanation]]) -> list[str]:
    """By check, what decided and the steps that hold; those that do not are named in one line."""
    lines: list[str] = []
    for name, turns in explained.items():
        for each in turns:
            at = f", turn {each.turn + 1}" if len(turns) > 1 else ""
            lines += ["", f"{click.style(safe(name), bold=True)}{at}: {safe(each.outcome.replace('_', ' '))}"]
            lines += [f"  decided by {safe(each.decided_by)}", f"    {safe(each.because)}"]
            lines += [f"  {safe(str(step))}" for step in each.steps if step.holds]
            empty = [step.name for step in each.steps if not step.holds]
            lines += [_dim(f"  does not hold: {', '.join(map(safe, empty))}")] if empty else []
    return lines


def warning_lines(warnings: Sequence[str], total: int) -> list[str]:
    lines = [f"{_yellow('warning')}  {safe(warning)}" for warning in warnings]
    return lines if total == len(warnings) else [*lines, _yellow(f"... and {total - len(warnings):,} more warnings")]


def _first_line(summary: dict[str, Any], ordered: Sequence[CaseResult]) -> str:
    sentence = safe(first_sentence(summary, ordered))
    found = summary["by_severity"]
    worst = next((severity for severity in SEVERITIES if found[severity]), None)
    if summary.get("unanswered"):
        return click.style(sentence, fg=_SEVERITY_COLOURS[CRITICAL], bold=True)
    fine = None if nothing_assessed(summary) else "green"
    return click.style(sentence, fg=_SEVERITY_COLOURS[worst] if worst else fine, bold=True)


def _headline(summary: dict[str, Any]) -> str:
    rate = pass_rate(summary)
    return click.style(f"{headline(summary)} ({rate})" if rate else headline(summary), bold=True)


def _expectations(summary: dict[str, Any], profile: str) -> list[str]:
    """What was expected of cases that somebody wrote; in a log nobody expected anything."""
    lines = []
    if profile == AUTHORED:
        unexpected = count(summary["unexpected_failures"], "unexpected failure")
        lines.append(_red(f"  {unexpected}") if summary["unexpected_failures"] else _green("  no unexpected failures"))
    if summary["expected_failures"]:
        lines.append(_yellow(f"  {count(summary['expected_failures'], 'expected failure')} (negative examples)"))
    if summary["not_applicable"]:
        unread = summary.get("unread", 0)
        why = f"; {unread:,} in a language without rules" if unread else ""
        lines.append(f"  {summary['not_applicable']:,} not assessed (no check applied{why})")
    if summary["errors"]:
        lines.append(_red(f"  {count(summary['errors'], 'error')}: no verdict"))
    lines += [f"  {line}" for line in (alert_count(summary), soft_count(summary)) if line]
    return lines


def _by_check(summary: dict[str, Any]) -> list[str]:
    """A line for each check; without room for that, the counts get a line of their own."""
    found = summary["by_check"]
    width = max((len(name) for name in found), default=0)
    digits = max([_LEAST_DIGITS, *(len(f"{number:,}") for counts in found.values() for number in counts.values())])
    rows = {name: _counted(counts, digits) for name, counts in found.items()}
    longest = max((len(click.unstyle(row)) for row in rows.values()), default=0)
    if width + longest + 3 > (columns() or math.inf):
        return [line for name, row in rows.items() for line in (f"  {safe(name)}", f"  {row}")]
    return [f"  {safe(name):<{width}} {row}" for name, row in rows.items()]


def _counted(counts: dict[str, int], digits: int) -> str:
    cells = [
        (_green if counts["passed"] else _dim)(f"{counts['passed']:>{digits},} passed"),
        (_bold if counts["failed"] else _dim)(f"{counts['failed']:>{digits},} failed"),
        _dim(f"{counts['not_applicable']:>{digits},} not applicable"),
    ]
    if counts.get("errors"):
        cells.append(_red(f"{counts['errors']:>{digits},} errors"))
    return " ".join(cells)


def _labels(summary: dict[str, Any]) -> list[str]:
    accuracy = summary.get("label_accuracy")
    if accuracy is None:
        return []
    text = f"label accuracy: {accuracy['accuracy']} % ({accuracy['matched']:,} of {accuracy['total']:,})"
    colour = _green if accuracy["matched"] == accuracy["total"] else _red
    return ["", f"  {colour(text)}"]


def _cases(ordered: Sequence[CaseResult], summary: dict[str, Any], rules: RuleSet, profile: str) -> list[str]:
    """The worst failures, each with what was said, the words that decided and why; then crises that were answered."""
    failed = [example for example in ordered if example.outcome == FAIL][:SHOWN_FAILURES]
    answered = [example for example in ordered if example.alert and example.outcome != FAIL][:SHOWN_FAILURES]
    glossary = glossary_of(rules)
    lines = [line for result in failed for line in ("", *_case(result, glossary, profile))]
    if summary["failed"] > len(failed):
        lines += ["", _dim(f"... and {summary['failed'] - len(failed):,} more in the report")]
    return [*lines, *(line for result in answered for line in ("", *_answered(result, glossary)))]


def _case(result: CaseResult, glossary: Glossary, profile: str) -> Iterator[str]:
    checks = ", ".join(map(safe, result.failed_checks))
    yield f"{_severity(result, profile)} {safe(result.name)}: {checks}{_dim(_language(result))}"
    yield from (f"    {line}" for line in (*_said(result), *strip_lines(result), *_remarks(result, glossary)))


def _severity(result: CaseResult, profile: str) -> str:
    """How bad it is; a failure that somebody expects is none."""
    if result.is_negative_example and profile == AUTHORED:
        return _yellow(f"{'expected':<8}")
    return click.style(f"{result.severity or FAIL:<8}", fg=_SEVERITY_COLOURS[result.severity or MINOR], bold=True)


def _answered(result: CaseResult, glossary: Glossary) -> Iterator[str]:
    notice = notice_of(result, glossary)
    assert notice is not None
    assert result.alert is not None
    what = "no reply" if result.is_unanswered else "answered" if result.alert.outcome == PASS else "no verdict"
    yield f"{'crisis':<8} {safe(result.name)}: {what}{_dim(_language(result))}"
    yield f"    {safe(notice.cue)}"
    yield f"    {safe(notice.verdict)}"


def _said(result: CaseResult) -> Iterator[str]:
    """What the person wrote and what was replied, cut short, where the worst check failed first."""
    if not result.exchanges:
        return
    user, reply = result.exchanges[deciding_turn(result)]
    yield f"{_dim('user ')}  {safe(shorten(' '.join(user.split()), _SHOWN_CHARACTERS))}"
    yield f"{_dim('reply')}  {safe(shorten(' '.join(reply.split()), _SHOWN_CHARACTERS))}"


def _errors(errors: ErrorGroups, total: int) -> list[str]:
    """Many errors in the same words are one, with a count."""
    told = list(islice(errors.told(), SHOWN_FAILURES))
    lines = [f"{_red('error     ')} {safe(names)}: {safe(reason)}" for names, reason, _ in told]
    left = total - sum(number for _, _, number in told)
    return [*lines, _dim(f"... and {left:,} more errors in the report")] if left > 0 else lines


def _language(result: CaseResult) -> str:
    return "" if result.language == "en" else f"  ({language_of(result.language).name})"


def _remarks(result: CaseResult, glossary: Glossary) -> list[str]:
    """What decided, the worst check first: the words against the reply with why, or what it lacks."""
    lines = list(_told(remarks_on(result, glossary)))
    left = len(lines) - SHOWN_REMARKS
    return [*lines[:SHOWN_REMARKS], *([_dim(f"and {count(left, 'more line')} in the report")] if left > 0 else [])]


def _told(remarks: Sequence[Remark]) -> Iterator[str]:
    """The words with their rule, and why; of several words that one check finds, the first are explained."""
    explained: set[str] = set()
    for remark in remarks:
        if remark.rule:
            yield f"{remark.place}“{_in_one_line(remark.words)}”  {_dim(safe(_found_by(remark)))}"
        if not remark.rule or remark.check not in explained:
            yield _dim(f"{'' if remark.rule else remark.place}{_advice(remark)}")
        explained.add(remark.check)


def _found_by(remark: Remark) -> str:
    return f"{remark.rule}  {remark.found_by}" if remark.reader else remark.rule


def _advice(remark: Remark) -> str:
    return _in_one_line(f"{remark.why} {remark.instead}".strip())


def _in_one_line(text: str) -> str:
    """Words of a list or of two paragraphs on one line: line breaks carry no meaning here."""
    return safe(" ".join(text.split()))


def _green(text: str) -> str:
    return click.style(text, fg="green")


def _red(text: str) -> str:
    return click.style(text, fg="red")


def _yellow(text: str) -> str:
    return click.style(text, fg="yellow")


def _dim(text: str) -> str:
    return click.style(text, dim=True)


def _bold(text: str) -> str:
    return click.style(text, bold=True)


# Conversations: a strip of turns for each, and drift over all of them.

GROUP = 5  # turns without a space between them, so that they can be counted
PER_LINE = 50
MOST_TURNS = 200
_COLOURS = {PASS: "green", FAIL: "red", ERROR: "magenta", NOT_APPLICABLE: None}
_CHANGES = {WORSE: "more drift", BETTER: "less drift", NOT_SHOWN: "no difference shown", TOO_FEW: TOO_FEW}
_HEIGHTS = "▁▂▃▄▅▆▇█"
_LEAST_POINTS = 3  # of a curve
_VERDICT_COLOURS = {WORSE: "red", BETTER: "green"}


def strip_lines(result: CaseResult) -> Iterator[str]:
    """The turns of a conversation, for each check that it fails; nothing for a single exchange."""
    failed = [timeline for name, timeline in result.timelines.items() if name in result.failed_checks]
    width = max((len(timeline.check) for timeline in failed), default=0)
    for timeline in failed:
        shown, left_out = timeline.outcomes[:MOST_TURNS], len(timeline.outcomes) - MOST_TURNS
        lines = [shown[start : start + PER_LINE] for start in range(0, len(shown), PER_LINE)]
        for number, turns in enumerate(lines):
            name = safe(timeline.check) if number == 0 else ""
            summary = f"  {_first_failure(timeline)}" if number == len(lines) - 1 else ""
            yield f"{name:<{width}}  {_strip(turns)}{summary}"
        if left_out > 0:
            yield f"{'':<{width}}  ... and {count(left_out, 'more turn')}"


def drift_lines(summary: dict[str, Any]) -> list[str]:
    """Drift over all conversations, two lines per check; nothing for a run without conversations."""
    drift = summary.get("drift")
    if drift is None:
        return []
    number = count(drift["conversations"], "conversation")
    lines = ["", f"  from the first half of a conversation to the second ({number} of several turns):"]
    checks = drift["by_check"]
    usable = {name: found for name, found in checks.items() if found["verdict"] != TOO_FEW}
    width = max((len(name) for name in usable), default=0)
    for name, found in usable.items():
        first, second = (f"{100 * found[half]:.1f} %" for half in ("first_half", "second_half"))
        halves = f"  {safe(name):<{width}}  {first} -> {second} of the turns fail"
        verdict = click.style(found["verdict"], fg=_VERDICT_COLOURS.get(found["verdict"]), bold=True)
        lines.append(f"{halves}, {_points(found)}: {verdict}")
        lines.append(click.style(f"  {'':<{width}}  {_counts(found)}", dim=True))
        lines += [f"  {'':<{width}}  {line}" for line in _curve_lines(found)]
    return [*lines, *_undecided({name: found for name, found in checks.items() if name not in usable})]


def _undecided(checks: dict[str, Any]) -> Iterator[str]:
    """A line for each reason that nothing is said, not for each check: most runs are too small for all of them."""
    few = [found["usable"] for found in checks.values() if found["usable"]]
    if few:
        most = f"{max(few)} of {LEAST_CONVERSATIONS} conversations that are needed"
        names = ", ".join(safe(name) for name, found in checks.items() if found["usable"])
        yield _dim(f"  {TOO_FEW}: {most} ({names})")
    # Reports of earlier versions have no curve, which is what tells a short conversation from a silent check.
    idle = [safe(name) for name, found in checks.items() if not found["usable"] and found.get("curve") in ([], ())]
    short = [safe(name) for name, found in checks.items() if not found["usable"] and safe(name) not in idle]
    if short:
        why = f"every conversation is too short (fewer than {LEAST_IN_HALF} assessed turns in each half)"
        yield _dim(f"  {', '.join(short)}: {why}")
    if idle:
        yield _dim(f"  {', '.join(idle)}: never applied")


def _curve_lines(found: dict[str, Any]) -> Iterator[str]:
    """Turn by turn how often replies fail, as high as the tallest; reports of earlier versions do not know it."""
    points = curve_points(found.get("curve", ()))
    if len(points) < _LEAST_POINTS or not any(point.failed for point in points):
        return
    top = max(point.rate for point in points)
    drawn = "".join(_HEIGHTS[round(point.rate / top * (len(_HEIGHTS) - 1))] for point in points)
    last = points[-1].turns.rpartition("–")[2]
    yield _dim(f"turns 1 to {last}: {drawn}  highest {100 * top:.0f} %")


def change_lines(changes: Sequence[DriftChange]) -> Iterator[str]:
    """The change of drift between two reports; nothing without conversations that are long enough in both."""
    if not changes:
        return
    yield ""
    yield "drift, from the first half of a conversation to the second:"
    width = max(len(change.check) for change in changes)
    for change in changes:
        low, high = (100 * bound for bound in change.interval)
        yield (
            f"  {safe(change.check):<{width}}  {100 * change.before:+.1f} -> {100 * change.after:+.1f} points in "
            f"{count(change.conversations, 'conversation')}"
        )
        if change.verdict == TOO_FEW:
            yield f"  {'':<{width}}  {TOO_FEW}"
            continue
        verdict = click.style(
            _CHANGES.get(change.verdict, change.verdict), fg=_VERDICT_COLOURS.get(change.verdict), bold=True
        )
        yield f"  {'':<{width}}  change {100 * change.change:+.1f}, 95 % interval {low:+.1f} to {high:+.1f}: {verdict}"


def _strip(outcomes: tuple[str, ...]) -> str:
    signs = [click.style(TURN_SIGNS[outcome], fg=_COLOURS[outcome]) for outcome in outcomes]
    return " ".join("".join(signs[start : start + GROUP]) for start in range(0, len(signs), GROUP))


def _first_failure(timeline: Timeline) -> str:
    first = (timeline.first_failure or 0) + 1
    run = f", {timeline.longest_run} assessed turns in a row" if timeline.longest_run > 1 else ""
    return click.style(f"fails first in turn {first} of {len(timeline.outcomes)}{run}", dim=True)


def _points(found: dict[str, Any]) -> str:
    low, high = (100 * bound for bound in found["interval"])
    return f"{100 * found['difference']:+.1f} points ({low:+.1f} to {high:+.1f})"


def _counts(found: dict[str, Any]) -> str:
    words = f"{found['worse']:,} worse, {found['better']:,} better, {found['same']:,} unchanged"
    return f"{words}; {found['too_short']:,} too short" if found["too_short"] else words
