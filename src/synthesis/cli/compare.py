"""`synthesis compare`: what changed from one report to another, or between two judged runs."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from synthesis.cli import ExitCode
from synthesis.cli.console import change_lines
from synthesis.cli.options import Command, json_option, print_json
from synthesis.cli.terminal import print_lines, warn
from synthesis.errors import OptionError, shorten
from synthesis.lazy import regex
from synthesis.printable import safe
from synthesis.report.findings import count

if TYPE_CHECKING:
    from synthesis.report.compare import Change, ChangedReply, CheckChange, Comparison
    from synthesis.report.judged.run import JudgedComparison
    from synthesis.report.stored import StoredReport

_HASH = regex("[0-9a-f]{64}")
_SPACES = regex(r"\s+")
_HASH_SHOWN = 16
_OUTPUT = Path("-")
_SHOWN_CHARACTERS = 160  # of a message
_AROUND = 30  # characters of what both replies say, beside what changed
_SHOWN_REPLIES = 3  # changed cases of one kind that are shown with what was said
SHOWN = 20  # of the names or cases of one kind


@click.command("compare", cls=Command)
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="NEW")
@click.option("--fail-on-regression", is_flag=True, help="Exit with 2 if there are new unexpected failures.")
@click.option("--across", is_flag=True, help="List changes even if profiles, readers or checks differ.")
@click.option(
    "--reevaluate",
    is_flag=True,
    help="Evaluate the stored texts of both again with today's rules and the profile, reader and checks of NEW, so "
    "that only the texts differ.",
)
@click.option(
    "--format",
    "markdown",
    metavar="F[=PATH]",
    callback=lambda _context, _option, value: _markdown_path(value),
    help="Write it as markdown, for a pull request: to PATH, else to the output in place of text.",
)
@json_option
def compare(
    old: str, new: str, fail_on_regression: bool, across: bool, reevaluate: bool, markdown: Path | None, as_json: bool
) -> int:
    """Compare two reports, or the folders of two judged runs: newly failing, newly passing, what else changed.

    The worst new failure comes first. Rows without ids are paired by what the person wrote. Says "better" or "worse"
    only if both were measured alike (profile, reader, checks, rules, version; judge and rubric), and if the exact
    McNemar test and the paired bootstrap interval agree that the difference is not chance.
    Reports of different profiles, readers or checks cannot be compared: exit code 1, unless --across lists the changes.
    """
    if Path(old).is_dir() and Path(new).is_dir():
        if reevaluate or markdown:
            option = "--reevaluate" if reevaluate else "--format"
            raise OptionError(f"{option} is for reports of the checks", hint="Judge both sets again with one judge.")
        judged, lines = _compare_judged(Path(old), Path(new))
        _print(judged, lines, as_json)
        return _exit_code(judged, fail_on_regression)
    comparison, replies = _compare_reports(old, new, across, reevaluate)
    if markdown is not None:
        _write_markdown(comparison, replies, markdown)
    if markdown != _OUTPUT:
        _print(comparison, _report_lines(comparison, replies, reevaluate), as_json)
    return _exit_code(comparison, fail_on_regression)


def _exit_code(comparison: "Comparison | JudgedComparison", fail_on_regression: bool) -> int:
    if not fail_on_regression or not comparison.newly_failing:
        return ExitCode.OK
    changed = comparison.ruler_changes
    if changed:
        warn(f"measured differently ({', '.join(changed)} changed): a new failure may not come from a reply")
    warn(f"not met: newly failing: {len(comparison.newly_failing)}", colour="red")
    return ExitCode.UNMET


def _markdown_path(given: str | None) -> Path | None:
    if given is None:
        return None
    kind, _, path = given.partition("=")
    if kind != "markdown":
        raise OptionError(
            f"--format: a comparison cannot be written as '{kind}'", hint="Write markdown, or use --json."
        )
    return Path(path or _OUTPUT)


def _write_markdown(comparison: "Comparison", replies: "Mapping[str, ChangedReply]", path: Path) -> None:
    from synthesis.io import replaced
    from synthesis.report.markdown import render_comparison

    text = render_comparison(comparison, replies)
    if path == _OUTPUT:
        click.echo(text, nl=False)
        return
    with replaced(path) as file:
        file.write(text.encode())


def _print(comparison: "Comparison | JudgedComparison", lines: Iterator[str], as_json: bool) -> None:
    if as_json:
        print_json(comparison)
    else:
        print_lines(lines)


def _compare_reports(
    old: str, new: str, across: bool, reevaluate: bool
) -> "tuple[Comparison, dict[str, ChangedReply]]":
    from synthesis.report.compare import changed_replies, compare_reports, require_one_question
    from synthesis.report.stored import open_report

    before, after = open_report(old), open_report(new)
    comparison = _compare_again(before, after) if reevaluate else compare_reports(before, after)
    if not across:
        require_one_question(comparison.conditions)
    shown = [*comparison.newly_failing[:SHOWN], *comparison.newly_passing[:SHOWN]]
    return comparison, changed_replies(before, after, shown)


def _compare_again(before: "StoredReport", after: "StoredReport") -> "Comparison":
    from synthesis.cli.running import counted, progress
    from synthesis.report.compare import compare_reports
    from synthesis.run.tally import evaluator_of, reevaluated

    with progress("cases evaluated again") as note:
        total = before.summary["cases"] + after.summary["cases"]
        both = reevaluated(before, after, evaluator_of(after))
        return compare_reports(*counted(both, note, total))


def _report_lines(comparison: "Comparison", replies: "Mapping[str, ChangedReply]", reevaluated: bool) -> Iterator[str]:
    """What is new and how bad first; then both replies, the checks, what else changed, and last the statistics."""
    from synthesis.report.compare import headline

    bad, good = (None, None) if comparison.ruler_changes else ("red", "green")
    yield click.style(safe(headline(comparison)), fg=bad if comparison.newly_failing else good, bold=True)
    again = ", evaluated again with the same rules" if reevaluated else ""
    yield f"{count(comparison.in_both, 'case')} in both reports, {comparison.pairing}{again}"
    for name, (before, after) in comparison.conditions.items():
        yield f"  {name} changed: {_brief(before)} -> {_brief(after)}"
    yield from _changes("newly failing", comparison.newly_failing, replies, bad)
    yield from _changes("newly passing", comparison.newly_passing, replies, good)
    yield from _names("negative examples no longer caught", comparison.no_longer_caught, bad)
    yield from _listed("other changes", map(_kinds, comparison.other_changes), "yellow")
    yield from _check_lines(comparison.by_check)
    yield from _names("run with other checks", comparison.other_checks)
    yield from _names("same verdict, other evidence", comparison.changed_evidence)
    yield from _names("only in the old report", comparison.only_before)
    yield from _names("only in the new report", comparison.only_after)
    yield ""
    yield from _rate(comparison)
    yield from change_lines(comparison.drift)


def _changes(
    title: str, changes: "Sequence[Change]", replies: "Mapping[str, ChangedReply]", colour: str | None
) -> Iterator[str]:
    if not changes:
        return
    yield click.style(f"{title}: {len(changes):,}", fg=colour, bold=True)
    for number, change in enumerate(changes[:SHOWN]):
        yield f"  {_change(change)}"
        if number < _SHOWN_REPLIES and change.id in replies:
            yield from (f"      {line}" for line in _reply_lines(replies[change.id]))
    if len(changes) > SHOWN:
        yield f"  ... and {len(changes) - SHOWN:,} more (--json lists them all)"


def _reply_lines(reply: "ChangedReply") -> Iterator[str]:
    """What was said, and how the reply changed: on a terminal the words that went and that came have a colour."""
    from synthesis.report.compare import ADDED, GONE

    yield f"{click.style('user  ', dim=True)} {_shown(reply.user)}"
    if reply.pieces:
        yield f"{click.style('before', dim=True)} {_marked(reply, GONE, 'red')}"
        yield f"{click.style('after ', dim=True)} {_marked(reply, ADDED, 'green')}"
    else:
        yield f"{click.style('reply ', dim=True)} {_shown(reply.after or reply.before or '')}"


def _marked(reply: "ChangedReply", kind: str, colour: str) -> str:
    """One of the two replies, short where both say the same."""
    from synthesis.report.compare import KEPT

    said = [(piece.kind, _SPACES.sub(" ", safe(piece.text))) for piece in reply.pieces if piece.kind in {KEPT, kind}]
    left, shown = _SHOWN_CHARACTERS, []
    for number, (own, text) in enumerate(said):
        short = _middle_left_out(text, is_last=number == len(said) - 1) if own == KEPT else text
        cut = short if len(short) <= left else f"{short[:left]}…"
        shown.append(click.style(cut, fg=None if own == KEPT else colour))
        left -= len(short)
        if left <= 0:
            break
    return "".join(shown)


def _middle_left_out(text: str, *, is_last: bool) -> str:
    if len(text) <= 3 * _AROUND:
        return text
    return f"{text[:_AROUND]}…" if is_last else f"{text[:_AROUND]}…{text[-_AROUND:]}"


def _shown(text: str) -> str:
    return safe(shorten(" ".join(text.split()), _SHOWN_CHARACTERS))


def _check_lines(changes: "Sequence[CheckChange]") -> Iterator[str]:
    if not changes:
        return
    yield click.style("by check", bold=True)
    for one in changes:
        new = ", ".join(f"{number:,} {severity}" for severity, number in one.new.items() if number)
        parts = [f"new: {new}" if new else "", f"fixed: {one.fixed:,}" if one.fixed else ""]
        parts.append(f"still failing: {one.still_failing:,}" if one.still_failing else "")
        yield f"  {one.check:<26}{'; '.join(filter(None, parts))}"


def _brief(condition: object) -> str:
    """A hash is shortened: its beginning identifies it."""
    text = str(condition)
    return text[:_HASH_SHOWN] if _HASH.fullmatch(text) else safe(text)


def _names(title: str, found: Sequence[str], colour: str | None = None) -> Iterator[str]:
    """A line with the first names and how many there are; none for none."""
    if found:
        listed = ", ".join(map(safe, found[:SHOWN])) + (" ..." if len(found) > SHOWN else "")
        yield f"{click.style(f'{title}: {len(found):,}', fg=colour, bold=True)} ({listed})"


def _listed(title: str, entries: Iterable[str], colour: str | None) -> Iterator[str]:
    found = list(entries)
    if not found:
        return
    yield click.style(f"{title}: {len(found):,}", fg=colour, bold=True)
    yield from (f"  {entry}" for entry in found[:SHOWN])
    if len(found) > SHOWN:
        yield f"  ... and {len(found) - SHOWN:,} more (--json lists them all)"


def _change(change: "Change") -> str:
    from synthesis.report.compare import called

    why = {True: ", the texts are the same", False: ", the texts changed", None: ""}[change.same_texts]
    new = " (a new case)" if change.before is None else ""
    severity = f"{change.severity}  " if change.severity else ""
    was = f" (was {called(safe(change.was))})" if change.was else ""
    return f"{severity}{called(safe(change.id))}{was}: {', '.join(map(safe, change.checks))}{why}{new}"


def _kinds(change: "Change") -> str:
    from synthesis.report.findings import KINDS

    return f"{safe(change.id)}: {KINDS.get(change.before or '', '')} -> {KINDS.get(change.after or '', '')}"


def _rate(comparison: "Comparison") -> Iterator[str]:
    rate = comparison.pass_rate
    if rate is None:
        yield "No case was assessed in both reports, so pass rates cannot be compared."
        return
    before, after = 100 * rate.passed_before / rate.cases, 100 * rate.passed_after / rate.cases
    yield f"pass rate of {count(rate.cases, 'case')} assessed in both, negative examples apart:"
    yield f"  {before:.1f} % -> {after:.1f} % ({rate.newly_failing:,} lost, {rate.newly_passing:,} gained)"
    if comparison.ruler_changes:
        yield from _measured_differently(comparison.ruler_changes)
        return
    yield f"  change {100 * rate.change:+.1f} points, {rate.interval_in_words}; p = {rate.p_value:.2g}"
    yield _verdict(comparison.rate_verdict)


def _verdict(found: str) -> str:
    colour = {"better": "green", "worse": "red"}.get(found)
    return click.style(f"  {found}", fg=colour, bold=colour is not None)


def _measured_differently(changed: Sequence[str]) -> Iterator[str]:
    """In place of a verdict: why there is none, and how to get one."""
    yield click.style(f"  measured differently: {', '.join(changed)} changed", bold=True)
    yield "  so neither report counts as better; --reevaluate evaluates the stored texts of both again"


def _compare_judged(old: Path, new: Path) -> "tuple[JudgedComparison, Iterator[str]]":
    from synthesis.judge.results import read_run
    from synthesis.report.judged.run import compare_runs

    comparison = compare_runs(read_run(old), read_run(new))
    return comparison, _judged_lines(comparison)


def _judged_lines(comparison: "JudgedComparison") -> Iterator[str]:
    yield f"{comparison.in_both} samples judged in both runs"
    for name, (before, after) in comparison.conditions.items():
        yield f"  {name} changed: {safe(before)} -> {safe(after)}"
    bad, good = (None, None) if comparison.ruler_changes else ("red", "green")
    yield from _names("newly failing", comparison.newly_failing, bad)
    yield from _names("newly passing", comparison.newly_passing, good)
    yield from _names("other scores", comparison.changed_scores)
    yield from _names("need a judge in one of the runs", comparison.untold, "yellow")
    yield from _names("only in the old run", comparison.only_before)
    yield from _names("only in the new run", comparison.only_after)
    yield from _judged_rate(comparison)


def _judged_rate(comparison: "JudgedComparison") -> Iterator[str]:
    found = comparison.difference
    if found is None:
        yield "No sample was judged in both runs, so pass rates cannot be compared."
        return
    rates = [100 * passed / comparison.in_both for passed in (comparison.passed_before, comparison.passed_after)]
    yield f"pass rate {rates[0]:.1f} % -> {rates[1]:.1f} %, change {100 * found.change:+.1f} points"
    if comparison.ruler_changes:
        changed = " and ".join(comparison.ruler_changes)
        yield click.style(f"  measured differently: {changed} changed", bold=True) + ", so neither run counts as better"
        return
    interval = f"{100 * found.low:+.1f} to {100 * found.high:+.1f}"
    yield f"  95 % interval {interval}; p = {found.p_value:.2g} (exact McNemar test)"
    yield _verdict(comparison.verdict)
