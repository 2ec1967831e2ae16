"""`synthesis eval`, which is also the bare `synthesis`."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from synthesis.cli import exits
from synthesis.cli.saving import Saving, saving_options
from synthesis.errors import OptionError
from synthesis.run.engines import ENGINES, LOCAL
from synthesis.settings import AUTHORED, PROFILES, TRAFFIC

if TYPE_CHECKING:
    from synthesis.cli.interruption import Interruption


@click.command("eval", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("files", nargs=-1, metavar="[FILE]...")
@click.option(
    "--cases",
    multiple=True,
    metavar="PATH",
    help="JSONL cases, a chat log or a table. [default: data/evals.jsonl, else the bundled cases]",
)
@click.option(
    "--map",
    "columns",
    metavar="FIELD=NAME,..",
    help="Names in a log: user=prompt,assistant=reply; for one message a row conversation=chat,role=sender,text=body.",
)
@click.option("--sort", is_flag=True, help="Sort rows by their conversation first, on disk. Their order is kept.")
@click.option(
    "--checks",
    metavar="NAME,..",
    help="These checks, or 'all', or 'all,-flattery' for all but one, whatever the cases name. "
    "[default: as named, else the first three]",
)
@click.option(
    "--on-bad-row",
    type=click.Choice(["stop", "error"]),
    help="Stop at a bad row, or count it as an error. [default: stop for cases, error for logs]",
)
@click.option(
    "--schema",
    metavar="PATH",
    help="JSON schema. [default: schemas/eval_case.schema.json, else the bundled one]",
)
@click.option("--out", metavar="PATH", help="JSON report. [default: out/report.json]")
@click.option(
    "--fail-on",
    type=click.IntRange(min=0),
    metavar="N",
    help="Unexpected failures allowed before exit code 2. [default: 0]",
)
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="Only cases with this tag; repeatable.")
@click.option("--id", "ids", multiple=True, metavar="ID", help="Only the case with this id; repeatable.")
@click.option("--check", "only", multiple=True, metavar="NAME", help="Only this check; repeatable.")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="At most N cases.")
@click.option("--sample", type=click.IntRange(min=1), metavar="N", help="N cases chosen by --seed.")
@click.option("--seed", type=int, default=0, show_default=True, metavar="S", help="Chooses the sample.")
@click.option("--rules", "folders", multiple=True, metavar="DIR", help="A folder with rule packs on top; repeatable.")
@click.option("--disable", multiple=True, metavar="RULE", help="Switch off the rule with this id; repeatable.")
@click.option(
    "--profile",
    metavar="|".join(PROFILES),
    help=f"Who asked. [default: {AUTHORED} for files of cases, {TRAFFIC} for logs and tables]",
)
@click.option("--no-text", is_flag=True, default=None, help="Leave the texts out of the report.")
@click.option("--lang", metavar="CODE", help="Language of cases that do not say theirs. [default: auto, detected]")
@click.option(
    "--results", metavar="PATH", help="Results as JSON Lines (.jsonl, .jsonl.gz, .jsonl.zst) beside a small report."
)
@click.option(
    "--out-table",
    metavar="DIR",
    help="Verdicts as a table of Parquet files beside a small report; started again, a run resumes where it stopped.",
)
@click.option("--keep", metavar="NAME,..", help="Columns of a Parquet input that the table keeps.")
@click.option("--fresh", is_flag=True, help="Start --out-table over, whatever is finished of it.")
@click.option("--engine", type=click.Choice(list(ENGINES)), default=LOCAL, help="Where the work runs.")
@click.option("--ray-address", metavar="ADDRESS", help="A running Ray cluster, or 'auto'. [default: one of its own]")
@click.option("--master", metavar="URL", help="A Spark master. [default: local]")
@click.option("--failures-only", is_flag=True, help="Keep only failed cases and errors in the results.")
@click.option("--workers", type=click.IntRange(min=1), metavar="N", help="Processes. [default: the cores available]")
@click.option(
    "--max-line",
    type=click.IntRange(min=1000),
    default=16 << 20,
    metavar="BYTES",
    help="A longer line is an error, skipped unread. [default: 16 MB]",
)
@click.option(
    "--format",
    "formats",
    multiple=True,
    metavar="F[=PATH]",
    help="Also draw the report as csv, github, html, junit, markdown or sarif; repeatable. [default: beside --out]",
)
@click.option("--baseline", metavar="REPORT", help="Only failures that this earlier report does not have count.")
@click.option(
    "--min-label-accuracy",
    type=click.FloatRange(0, 100),
    metavar="PCT",
    help="Exit with 2 if fewer labels than this are matched.",
)
@click.option(
    "--fail-on-drift",
    multiple=True,
    metavar="CHECK=X",
    help="Exit with 2 if the second halves of conversations fail this check more often than the first, by surely more "
    "than X (0.1: ten points); with 3 if too few conversations are long enough to tell. Repeatable.",
)
@click.option(
    "--strict",
    is_flag=True,
    help="Exit with 2 if a label is missed, a case was not assessed, or a negative example is not caught by the check "
    "that its tag names.",
)
@saving_options
@click.option("--quiet", "-q", is_flag=True, help="No summary, only errors.")
def evaluate(**options: Any) -> int:
    """Evaluate cases and write a report. FILE is the same as --cases FILE.

    Exit codes: 0 no more unexpected failures than --fail-on, 1 could not run, 2 more unexpected failures, or another
    condition that was asked for does not hold, 3 a case ended in error, too few conversations to tell about drift, or
    the run could not be saved, 130 interrupted.
    """
    from synthesis.cli.interruption import Interruption

    with Interruption() as interruption:
        return _evaluate(options, interruption)


def _evaluate(options: dict[str, Any], interruption: "Interruption") -> int:
    from synthesis.cli.conclusion import Conclusion
    from synthesis.cli.evaluation import perform, run_spec
    from synthesis.run.files import settled
    from synthesis.settings import find_settings

    options["cases"] += options.pop("files")
    settings = find_settings(Path.cwd())
    spec = settled(run_spec(options, settings))
    as_artifact = os.environ.get("MCP_OUTPUT") == "json"
    conclusion = Conclusion.of(options, spec)
    saving = Saving.of(options, settings.values)
    if saving and saving.with_text and not spec.keep_text:
        raise OptionError("--save-text saves the texts that --no-text leaves out", hint="Choose one of the two.")
    more = conclusion.is_asked_for
    code = perform(spec, interruption, as_artifact=as_artifact, quiet=options["quiet"], names_reason=not more)
    saved = saving is None or saving.save_report(conclusion.report, quiet=options["quiet"], to_stderr=as_artifact)
    if more:
        code = conclusion.draw(spec, quiet=options["quiet"], as_artifact=as_artifact)
    return code if saved else exits.INCOMPLETE
