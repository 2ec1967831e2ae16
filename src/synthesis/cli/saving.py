"""`--save`, `--save-text` and `--history`: a run that is saved in the history."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from synthesis.cli.terminal import safe
from synthesis.errors import OptionError, SynthesisError

if TYPE_CHECKING:
    from synthesis.history.store import History

history_option = click.option(
    "--history",
    metavar="URL",
    help="File or database URL of the history. [default: SYNTHESIS_HISTORY, else .synthesis/history.db]",
)
save_text_option = click.option(
    "--save-text", is_flag=True, default=None, help="Save what was said as well, not only the verdicts."
)


def saving_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of a run that can be saved."""
    save = click.option("--save", is_flag=True, default=None, help="Save the run in the history.")
    return save(save_text_option(history_option(command)))


def history_place(option: str | None, settings: Mapping[str, Any]) -> str | None:
    """Where the history is: the option, the variable, the setting; None is the default place."""
    return option or os.environ.get("SYNTHESIS_HISTORY") or settings.get("history")


class Saving(msgspec.Struct, frozen=True):
    """A run that is to be saved; made before the run begins, so that a mistake stops it."""

    place: str | None
    with_text: bool
    started: str
    revision: str | None

    @classmethod
    def of(cls, options: Mapping[str, Any], settings: Mapping[str, Any]) -> "Saving | None":
        """None unless saving was asked for; SynthesisError if the history is out of reach."""
        with_text = options["save_text"] or (options["save_text"] is None and settings.get("save-text", False))
        if not (options["save"] or with_text or settings.get("save", False)):
            if options["history"]:
                raise OptionError("--history says where to save, but nothing is saved", hint="Add --save.")
            return None
        from synthesis.history import open_history
        from synthesis.history.writing import git_revision, now

        place = history_place(options["history"], settings)
        open_history(place).close()  # and not held: the run may fork, and a connection must not
        return cls(place, bool(with_text), now(), git_revision(Path.cwd()))

    def save_report(self, path: Path, *, quiet: bool, to_stderr: bool) -> bool:
        """Save a run of the checks from its report; whether that was possible."""
        from synthesis.cli.progress import counted, progress
        from synthesis.history import Provenance
        from synthesis.report.stored import open_report

        known = Provenance(self.started, self.revision, self.with_text)

        def add(history: "History") -> str:
            with progress("cases saved", enabled=not quiet and not to_stderr) as note:
                report = open_report(path)
                return history.add_report(counted([report], note, report.summary["cases"])[0], known)

        return self._save(add, quiet=quiet, to_stderr=to_stderr)

    def save_judged(self, folder: Path) -> bool:
        """Save a judged run from its folder; whether that was possible."""
        from synthesis.history import Provenance

        known = Provenance(revision=self.revision, with_text=self.with_text)  # the journal says when it began
        return self._save(lambda history: history.add_judged(folder, known), quiet=False, to_stderr=False)

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
