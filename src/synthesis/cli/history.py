"""`synthesis history`, and `--save`, which adds a run to it."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from synthesis.cli import ExitCode
from synthesis.cli.options import Group, json_option, limit_option, out_option, print_json
from synthesis.cli.terminal import columns, print_lines, warn
from synthesis.errors import DamagedRunError, OptionError, SynthesisError, listed, shorten
from synthesis.lazy import regex
from synthesis.printable import safe
from synthesis.report.findings import count
from synthesis.report.judged.run import axis_title
from synthesis.settings import find_settings

if TYPE_CHECKING:
    from synthesis.history import Figures, Page, SavedCase, SavedRun, SavedSample, TrendPoint
    from synthesis.history.checking import RunCheck
    from synthesis.history.model import CheckRate
    from synthesis.history.seals import Damage
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
    return fields | {"profile": run.profile, "reader": run.reader, "figures": msgspec.to_builtins(run.figures)}


def found_in(history: "History", run: "SavedRun", limit: int) -> "Page[SavedCase] | Page[SavedSample]":
    """The cases or samples of a run that need a look."""
    if run.kind == "judge":
        return history.samples(run.id, outcome=("fail", "needs_judge", "stale", "error"), per_page=limit)
    return history.outcomes(run.id, kind=_TROUBLE, per_page=limit)


def table_lines(runs: Sequence["SavedRun"], width: int | None = None) -> Iterator[str]:
    """One line per run without empty columns; two lines where the terminal is too narrow."""
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
    """One run: its conditions, its figures, and what needs a look."""
    from synthesis.history import SavedSample

    yield click.style(f"Run {run.id}", bold=True) + f"  {run.kind}  {safe(run.name)}"
    known = {
        "started": f"{_time(run.started)} UTC",
        "profile": run.profile,
        "reader": run.reader,
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
    noun, failed = ("verdict", "not passed") if run.kind == "judge" else ("case", "unexpected")
    parts = [
        count(figures.total, noun),
        f"{figures.failures} {failed}",
        f"{figures.untold} {'needs' if figures.untold == 1 else 'need'} a judge" if figures.untold else "",
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

    reason = error_of(case.result) if case.outcome == "error" else ", ".join(case.result.failed_checks)
    yield f"{click.style(KINDS[case.kind], fg='red')} {safe(case.case_id)}" + (f": {safe(reason)}" if reason else "")
    for name in case.result.failed_checks:
        yield from (f"    {line}" for line in _remarks(case.result, name, with_text))


def _remarks(result: "CaseResult", check: str, with_text: bool) -> Iterable[str]:
    from synthesis.checks.registry import rules_in_force
    from synthesis.report.findings import Glossary, remarks_on_check

    for remark in remarks_on_check(result, check, Glossary(texts=rules_in_force().texts))[:_SHOWN_REASONS]:
        words = f"“{safe(shorten(remark.words))}”" if with_text else safe(remark.words)
        told = f"{remark.place}{words if remark.rule else safe(remark.why)}"
        yield f"{told}  {click.style(safe(remark.source or check), dim=True)}"


def _sample_lines(sample: "SavedSample") -> Iterator[str]:
    name = f"{safe(sample.query_log_id)} (iteration {sample.iteration})"
    if sample.error is not None:
        yield f"{click.style('error', fg='red')} {name}: {safe(shorten(sample.error))}"
        return
    if sample.record.get("stale"):
        yield f"{click.style('stale', fg='yellow')} {name}: question, context or answer changed since it was judged"
        return
    if sample.passed is None:
        yield f"{click.style('needs a judge', fg='yellow')} {name}"
        return
    verdict = sample.record.get("judgeVerdict", {})
    yield f"{click.style('not passed', fg='red')} {name}: " + ", ".join(
        f"{safe(axis)} {found['score']}" for axis, found in verdict.items()
    )


# `--save`, `--save-text` and `--history` of other commands.

history_option = click.option(
    "--history",
    metavar="URL",
    help="File or database URL of the history. [default: SYNTHESIS_HISTORY, else .synthesis/history.db]",
)
save_text_option = click.option(
    "--save-text", is_flag=True, default=None, help="Save the texts too, not only the verdicts."
)

run_name_option = click.option(
    "--run-name", metavar="NAME", help="Save it under this name: runs of one name are a trend. [default: the file's]"
)
release_option = click.option("--release", metavar="NAME", help="Save it as a run of this release, as a tag.")


def saving_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of a run that can be saved."""
    save = click.option("--save", is_flag=True, default=None, help="Save the run in the history.")
    return save(save_text_option(run_name_option(release_option(history_option(command)))))


def history_place(option: str | None, settings: Mapping[str, Any]) -> str | None:
    """Where the history is: the option, the variable, the setting; None is the default place."""
    return option or os.environ.get("SYNTHESIS_HISTORY") or settings.get("history")


class Saving(msgspec.Struct, frozen=True):
    """How a run will be saved; made before it begins, so that a mistake stops it."""

    place: str | None
    with_text: bool
    started: str
    revision: str | None
    name: str | None = None
    release: str | None = None

    @classmethod
    def of(cls, options: Mapping[str, Any], settings: Mapping[str, Any]) -> "Saving | None":
        """None unless saving was requested; SynthesisError if the history cannot be reached."""
        with_text = options["save_text"] or (options["save_text"] is None and settings.get("save-text", False))
        if not (options["save"] or with_text or settings.get("save", False)):
            for option in ("history", "run_name", "release"):
                if options[option]:
                    name = f"--{option.replace('_', '-')}"
                    raise OptionError(f"{name} has no effect without --save", hint="Add --save.")
            return None
        from synthesis.history import open_history

        place = history_place(options["history"], settings)
        open_history(place).close()  # and not held: the run may fork, and a connection must not
        from synthesis.history.writing import git_revision, now  # needs the extra that opening has asked for

        found = now(), git_revision(Path.cwd())
        return cls(place, bool(with_text), *found, options["run_name"], options["release"])

    def save_report(self, path: Path, *, quiet: bool, to_stderr: bool) -> bool:
        """Save a run of the checks from its report; False if that failed."""
        from synthesis.cli.running import counted, progress
        from synthesis.history import Provenance
        from synthesis.report.stored import open_report

        known = Provenance(self.started, self.revision, self.with_text, self._tags, self.name)

        def add(history: "History") -> str:
            with progress("cases saved", enabled=not quiet and not to_stderr) as note:
                report = open_report(path)
                return history.add_report(counted([report], note, report.summary["cases"])[0], known)

        return self._save(add, quiet=quiet, to_stderr=to_stderr)

    def save_judged(self, folder: Path, *, quiet: bool, to_stderr: bool) -> bool:
        """Save a judged run from its folder; False if that failed."""
        from synthesis.history import Provenance

        # The journal says when it began.
        known = Provenance(revision=self.revision, with_text=self.with_text, tags=self._tags, name=self.name)
        return self._save(lambda history: history.add_judged(folder, known), quiet=quiet, to_stderr=to_stderr)

    @property
    def _tags(self) -> tuple[str, ...]:
        return (self.release,) if self.release else ()

    def _save(self, add: "Callable[[History], str]", *, quiet: bool, to_stderr: bool) -> bool:
        from synthesis.history import open_history

        try:
            with open_history(self.place) as history:
                run_id = add(history)
                if not quiet:
                    click.echo(f"Saved: run {run_id} in {safe(history.place)}", err=to_stderr)
        except SynthesisError as error:  # the run is done and written; only saving it failed
            click.echo(f"error: not saved: {safe(str(error), keep_lines=True)}", err=True)
            return False
        return True


# The commands of `synthesis history`.

_RELEASE_WIDTH, _BAR_WIDTH = 12, 30
_AGE = regex(r"([0-9]{1,5})([hdw])")
_HOURS = {"h": 1, "d": 24, "w": 24 * 7}


@click.group(cls=Group)
def history() -> None:
    """Runs saved with --save: list, show, tag, export, delete, prune, check.

    RUN is the id of a run, a prefix of it, or 'latest'.
    """


def _open(place: str | None, *, create: bool = False) -> "History":
    from synthesis.history import open_history

    return open_history(history_place(place, find_settings(Path.cwd()).values), create=create)


@history.command("list")
@limit_option("runs. [default: 20]", default=20)
@click.option("--kind", type=click.Choice(["checks", "judge"]), help="Only runs of this kind.")
@click.option("--tag", metavar="TAG", help="Tag that a run must have.")
@history_option
@json_option
def list_(limit: int, kind: str | None, tag: str | None, history: str | None, as_json: bool) -> int:
    """List runs, the newest first.

    Exit code: 3 if a run is damaged; it is named, and the others are listed.
    """
    with _open(history) as opened:
        found = opened.runs(limit=limit, kind=kind, tag=tag)
        damaged = opened.damaged_runs()
    if as_json:
        print_json([run_fields(run) for run in found])
    else:
        print_lines(table_lines(found, columns()))
    return _told(damaged)


def _told(damage: "Sequence[Damage]") -> int:
    """Names what is damaged; returns the exit code."""
    from synthesis.history.seals import HINT

    for found in damage:
        warn(f"warning: {safe(str(found))}")
    if damage:
        click.echo(HINT, err=True)
    return ExitCode.INCOMPLETE if damage else ExitCode.OK


@history.command()
@click.argument("run")
@limit_option("failures. [default: 20]", default=20)
@history_option
@json_option
def show(run: str, limit: int, history: str | None, as_json: bool) -> int:
    """Show one run: its conditions, its figures, and the failures that need a look, with evidence."""
    from synthesis.report.judged.layout import saved_layout, told

    with _open(history) as opened:
        found = opened.run(run)
        trouble = found_in(opened, found, limit)
    if as_json:
        failures = told(msgspec.to_builtins(trouble.items), saved_layout(found.conditions))
        print_json(run_fields(found) | {"failures": failures, "failures_in_all": trouble.total})
        return ExitCode.OK
    print_lines(run_lines(found, trouble), hang=4)
    return ExitCode.OK


@history.command("trend")
@click.argument("name", required=False)
@click.option("--checks", metavar="NAME,..", help="Checks to show. [default: all]")
@click.option("--limit", type=click.IntRange(min=2), default=20, show_default=True, metavar="N", help="At most N runs.")
@history_option
@json_option
def trend_(name: str | None, checks: str | None, limit: int, history: str | None, as_json: bool) -> int:
    """Show how often each check fails over the runs of one NAME, oldest first; without NAME those of the newest run.

    Runs get a name with --run-name and a release with --release where they are saved.
    """
    from synthesis.checks.registry import named_checks

    with _open(history) as opened:
        newest = opened.runs(limit=1, kind="checks", name=name)
        if name is not None and not newest:
            raise _unknown_name(name, opened)
        points = opened.trend("checks", name=newest[0].name, limit=limit) if newest else []
    if as_json:
        print_json(points)
    else:
        print_lines(_trend_lines(points, named_checks(checks) if checks else ()))
    return ExitCode.OK


def _unknown_name(name: str, opened: "History") -> OptionError:
    names = dict.fromkeys(run.name for run in opened.runs(limit=None, kind="checks"))
    hint = f"Names of saved runs: {listed(names, len(names))}." if names else "`synthesis eval --save` saves a run."
    return OptionError(f"no run of the checks is saved under the name '{shorten(name)}'", hint=hint)


def _trend_lines(points: "Sequence[TrendPoint]", wanted: Sequence[str]) -> Iterator[str]:
    """A block for each check: those that fail most in the last run first."""
    if not points:
        yield "No run of the checks is saved under this name."
        return
    last = points[-1]
    alike = [point for point in points if point.is_like(last)]
    ruler = f"profile {safe(last.profile)}, reader {safe(last.reader)}"
    yield click.style(f"{safe(last.name)} over {count(len(alike), 'run')}, {ruler}", bold=True)
    yield "Share of the assessed cases that fail, with 95 % interval."
    if len({(point.rules_hash, point.tool_version) for point in alike}) > 1:
        yield "Rules or version changed in between: a step may come from them and not from what was said."
    ranked = sorted(last.by_check.items(), key=lambda item: (-(item[1].rate or 0), item[0]))
    for check, _ in ranked:
        if not wanted or check in wanted:
            yield ""
            yield click.style(check, bold=True)
            yield from (_trend_line(point, point.by_check.get(check)) for point in alike)


def _trend_line(point: "TrendPoint", found: "CheckRate | None") -> str:
    when = f"  {point.started[:10]}  {safe(shorten(point.release, _RELEASE_WIDTH)):<{_RELEASE_WIDTH}}"
    if found is None or found.rate is None or found.interval is None:
        return f"{when}  not assessed"
    low, high = (100 * bound for bound in found.interval)
    bar = "█" * round(_BAR_WIDTH * found.rate)
    share = f"{100 * found.rate:5.1f} %  ({low:4.1f} to {high:4.1f})"
    return f"{when}  {share}  {found.failed:,} of {found.assessed:,}  {bar}".rstrip()


@history.command()
@click.argument("run")
@click.argument("tags", nargs=-1, metavar="[TAG]...")
@click.option("--remove", multiple=True, metavar="TAG", help="Remove this tag; repeatable.")
@history_option
@json_option
def tag(run: str, tags: tuple[str, ...], remove: tuple[str, ...], history: str | None, as_json: bool) -> int:
    """Add tags to a run, or remove them."""
    if not tags and not remove:
        raise OptionError("no tag given", hint="Write `synthesis history tag RUN TAG`.")
    with _open(history) as opened:
        changed = opened.tag(run, add=tags, remove=remove)
    if as_json:
        print_json(run_fields(changed))
    else:
        click.echo(f"{changed.id}: {safe(', '.join(changed.tags)) or 'no tags'}")
    return ExitCode.OK


@history.command()
@click.argument("paths", nargs=-1, required=True, metavar="FILE...")
@save_text_option
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="Tag that the new runs get; repeatable.")
@run_name_option
@history_option
@json_option
def add(
    paths: tuple[str, ...],
    save_text: bool | None,
    tags: tuple[str, ...],
    run_name: str | None,
    history: str | None,
    as_json: bool,
) -> int:
    """Save earlier runs: reports, folders of judged runs, or what `history export` wrote.

    Each is a FILE. A report does not record when it ran, so its file's time is used. An exported run is restored as
    it was.
    """
    from synthesis.history import Provenance

    saved = []
    with _open(history, create=True) as opened:
        for path in paths:
            run_id = opened.add(path, Provenance(with_text=bool(save_text), tags=tags, name=run_name))
            saved.append({"run": run_id, "file": path})
            click.echo(f"Saved: run {run_id} from {safe(path)}", err=as_json)
    if as_json:
        print_json(saved)
    return ExitCode.OK


@history.command()
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@click.option("--yes", is_flag=True, help="Do not ask.")
@history_option
@json_option
def delete(runs: tuple[str, ...], yes: bool, history: str | None, as_json: bool) -> int:
    """Delete runs and everything that belongs to them."""
    with _open(history) as opened:
        found = list(dict.fromkeys(map(opened.find, runs)))
        print_lines(_to_delete(opened, found), err=as_json)
        if not yes:
            _ask(len(found))
        opened.delete(*found)
    if as_json:
        print_json({"deleted": found})
    else:
        click.echo(f"Deleted: {count(len(found), 'run')}")
    return ExitCode.OK


def _to_delete(history: "History", run_ids: Sequence[str]) -> Iterator[str]:
    """The runs as a table, and below it those that are damaged: they can be deleted, but not read."""
    whole: list[SavedRun] = []
    damaged: list[str] = []
    for run_id in run_ids:
        try:
            whole.append(history.run(run_id))
        except DamagedRunError as error:
            damaged.append(safe(error.message))
    yield from table_lines(whole, columns()) if whole else ()
    yield from damaged


def _ask(number: int) -> None:
    if not sys.stdin.isatty():
        raise OptionError("nothing deleted: confirmation needs a terminal", hint="Add --yes.")
    click.confirm(f"Delete {count(number, 'run')}?", abort=True)


@history.command()
@click.argument("run", required=False)
@out_option("it. [default: standard output]")
@click.option(
    "--rest",
    is_flag=True,
    help="Leave out what is damaged, and name it; without RUN, write every run to the folder --out, as ID.json.",
)
@history_option
def export(run: str | None, out: str | None, rest: bool, history: str | None) -> int:
    """Write a run as JSON: a report as `synthesis eval` writes it, or a judged run with its samples.

    `synthesis history add` reads both. Exit code: 3 if --rest left something out.
    """
    if run is None and not (rest and out):
        raise OptionError("name a RUN", hint="`--rest --out FOLDER` without RUN exports every run.")
    with _open(history) as opened:
        if run is None:
            return _export_all(opened, Path(out or ""))
        pieces, damage = opened.export_rest(run) if rest else (opened.export(run), ())
        _write_export(pieces, out)
        return _told(damage)


def _write_export(pieces: Iterable[str], out: str | None) -> None:
    from synthesis.report.formats import write_pieces

    if out is not None:
        write_pieces(pieces, Path(out))
        click.echo(f"Written: {safe(out)}")
        return
    for piece in pieces:
        click.echo(piece, nl=False)


def _export_all(history: "History", folder: Path) -> int:
    damage: list[Damage] = history.damaged_runs()
    for run in history.runs(limit=None):
        pieces, left_out = history.export_rest(run.id)
        damage += left_out
        _write_export(pieces, str(folder / f"{run.id}.json"))
    return _told(damage)


@history.command()
@history_option
@json_option
def check(history: str | None, as_json: bool) -> int:
    """Check every run against its checksums, and the file of the history.

    Exit code: 2 if something is damaged. A run that was saved before there were checksums is only decoded.
    """
    with _open(history) as opened:
        file = opened.check_file()
        found = list(opened.check())
    if as_json:
        print_json({"file": file, "runs": found})
    else:
        print_lines(_check_lines(file, found), hang=4)
    return ExitCode.UNMET if file or any(run.damage for run in found) else ExitCode.OK


def _check_lines(file: Sequence[str], runs: "Sequence[RunCheck]") -> Iterator[str]:
    for run in runs:
        without = "" if run.is_sealed else ", saved without checksums"
        yield f"{safe(run.run_id)}: {'damaged' if run.damage else 'ok'}{without}"
        yield from (click.style(f"    {safe(str(found))}", fg="red") for found in run.damage)
    yield f"file: {'damaged' if file else 'ok'}"
    yield from (click.style(f"    {safe(line)}", fg="red") for line in file)
    broken = sum(bool(run.damage) for run in runs)
    yield f"{count(len(runs), 'run')}, {broken} damaged"


@history.command()
@click.option("--older-than", required=True, metavar="AGE", help="Such as 30d; h, d and w are hours, days and weeks.")
@click.option("--dry-run", is_flag=True, help="Only print what would be deleted.")
@history_option
@json_option
def prune(older_than: str, dry_run: bool, history: str | None, as_json: bool) -> int:
    """Delete runs older than AGE, and print them."""
    age = _age(older_than)
    with _open(history) as opened:
        found = opened.older_than(age)
        print_lines(table_lines(found, columns()) if found else (), err=as_json)
        if not dry_run:
            opened.delete(*(run.id for run in found))
    if as_json:
        print_json({"to_delete" if dry_run else "deleted": [run.id for run in found]})
        return ExitCode.OK
    click.echo(f"{'To be deleted' if dry_run else 'Deleted'}: {count(len(found), 'run')}")
    return ExitCode.OK


def _age(text: str) -> timedelta:
    match = _AGE.fullmatch(text.strip())
    if match is None:
        raise OptionError(f"'{text}' is not an age", hint="Write it as 12h, 30d or 8w.")
    return timedelta(hours=int(match[1]) * _HOURS[match[2]])
