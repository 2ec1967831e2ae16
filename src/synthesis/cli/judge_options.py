"""The options of `synthesis judge run` and `estimate`, and the test set they name."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from synthesis import io
from synthesis.errors import OptionError, did_you_mean
from synthesis.io import SUFFIXES
from synthesis.settings import JUDGED_RUNS

if TYPE_CHECKING:
    from synthesis.judge.config import EvaluationConfig
    from synthesis.judge.journal.ledger import Ledger
    from synthesis.judge.model import TestCase

OWN_TEST_SETS = Path("data/evaluation/test-sets")
DEFAULT_TEST_SET = "passages"

run_root = click.option(
    "--root",
    type=click.Path(path_type=Path),
    default=Path(JUDGED_RUNS),
    show_default=True,
    help="Folder that holds the runs.",
)
_OPTIONS = (
    click.argument("test_set", required=False),
    click.option("--answers", type=click.Path(path_type=Path), help="Answers by queryLogId, with --contexts."),
    click.option("--contexts", type=click.Path(path_type=Path), help="Contexts (rankedCourses) by queryLogId."),
    click.option("--judge-provider", help="offline (default), openai, openrouter, anthropic, replay, ..."),
    click.option("--judge-model", help="The judge's model; for replay the recording: a records file or a run."),
    click.option("--base-url", help="An OpenAI-compatible server in place of the vendor's own."),
    click.option("--api-key-env", metavar="NAME", help="Variable with the key.  [default: OPENAI_API_KEY]"),
    click.option("--iterations", type=click.IntRange(min=1), default=1, show_default=True),
    click.option("--concurrency", type=click.IntRange(min=1), default=5, show_default=True),
    click.option("--output-dir", metavar="NAME", help="Name of the run's folder.  [default: the set's name]"),
    run_root,
    click.option("--system-prompt-version", metavar="NAME|FILE", default="v1", show_default=True),
    click.option("--rubric", metavar="NAME|FILE", help="course, rag, relational or a file of your own."),
    click.option(
        "--detail",
        type=click.Choice(["scores", "claims"]),
        default="scores",
        show_default=True,
        help="claims: a chat judge lists the answer's claims with quotes, which are checked.",
    ),
    click.option("--max-cost", type=float, metavar="USD", help="Stop before the run could cost more."),
    click.option("--price-file", type=click.Path(path_type=Path), help="Prices in USD per million tokens."),
    click.option(
        "--on-change",
        type=click.Choice(["keep", "rejudge", "error"]),
        default="keep",
        show_default=True,
        help="What becomes of a verdict when its question, context or answer has changed.",
    ),
    click.option("--map", "columns", default="", help="Names of fields: question=prompt,answer=out.text,context=docs"),
    click.option("--ids", multiple=True, metavar="ID[,ID...]", help="Only these samples; may be repeated."),
    click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Only the first N samples."),
    click.option(
        "--max-line",
        type=click.IntRange(min=1000),
        default=16 << 20,
        metavar="BYTES",
        help="A longer row of a JSON Lines or CSV file is an error, skipped unread. [default: 16 MB]",
    ),
    click.option("--temperature", type=float, help="Sent only if given."),
    click.option("--seed", type=int, help="Sent only if given."),
    click.option("--reasoning-effort", metavar="LEVEL", help="none, minimal, low, medium, high; sent only if given."),
    click.option("--header", "headers", multiple=True, metavar="'NAME: VALUE'", help="Sent along; may be repeated."),
    click.option("--extra-body", metavar="JSON|@FILE", help="Fields to add to every request."),
    click.option("--timeout", type=float, default=60.0, show_default=True, help="Seconds for one call."),
    click.option(
        "--max-output-tokens",
        type=click.IntRange(min=1),
        help="Limit of one reply; one that is cut off is asked for once more with four times as much.",
    ),
)


class Inputs(NamedTuple):
    """What is to be judged, how, and what the user should know about it."""

    cases: "tuple[TestCase, ...]"
    config: "EvaluationConfig"
    notes: tuple[str, ...]


def evaluation_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that `run` and `estimate` share."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def read_inputs(
    *,
    test_set: str | None,
    answers: Path | None,
    contexts: Path | None,
    judge_provider: str | None,
    output_dir: str | None,
    rubric: str | None,
    columns: str,
    max_line: int,
    ids: tuple[str, ...],
    limit: int | None,
    headers: tuple[str, ...],
    extra_body: str | None,
    **settings: Any,
) -> Inputs:
    """Read the test set and put the configuration together."""
    from synthesis.judge.clients.endpoint import parse_body, parse_header
    from synthesis.judge.config import EvaluationConfig
    from synthesis.judge.rubric import load_rubric
    from synthesis.judge.testset import parse_mapping

    cases, name, notes = _read_cases(test_set, answers, contexts, parse_mapping(columns), max_line)
    cases = _chosen(cases, ids, limit, notes)
    config = EvaluationConfig(
        output_dir=name if output_dir is None else output_dir,
        judge_provider=judge_provider or "offline",
        rubric=load_rubric(rubric) if rubric is not None else None,
        headers=dict(map(parse_header, headers)),
        extra_body=parse_body(extra_body) if extra_body is not None else {},
        **settings,
    )
    if judge_provider is None:
        notes.append("Judge: offline (the default). It compares words and needs no key and no network.")
    return Inputs(cases, config, tuple(notes))


def stored_run(name: str, root: Path) -> "tuple[Path, Ledger]":
    """The folder of a run and what its journal adds up to."""
    from synthesis.judge.journal import read_ledger
    from synthesis.judge.result_files import run_folder

    folder = run_folder(root, name)
    return folder, read_ledger(folder)


def _read_cases(
    test_set: str | None, answers: Path | None, contexts: Path | None, mapping: dict[str, str], max_line: int
) -> "tuple[tuple[TestCase, ...], str, list[str]]":
    from synthesis.judge.testset import join, read_test_set

    if answers is None and contexts is None:
        path = _find(test_set or DEFAULT_TEST_SET)
        note = [f"Test set: the bundled '{DEFAULT_TEST_SET}' (none was named)."] if test_set is None else []
        loaded = read_test_set(path, mapping=mapping, most_line=max_line)
        return loaded.cases, stem(path), [*note, *_warnings(loaded.notes)]
    if test_set is not None:
        raise OptionError("give either a test set or --answers with --contexts, not both")
    if answers is None or contexts is None:
        raise OptionError("--answers and --contexts belong together", hint="Give both.")
    joined = join(answers, contexts, mapping=mapping, most_line=max_line)
    return joined.cases, stem(answers), _warnings(joined.notes)


def _warnings(notes: Iterable[str]) -> list[str]:
    return [f"warning: {note}" for note in notes]


def stem(path: Path) -> str:
    """The name of a set: its file's name without endings, the one of a compression included."""
    return Path(path.stem).stem if path.suffix in SUFFIXES else path.stem


def _chosen(
    cases: "tuple[TestCase, ...]", ids: tuple[str, ...], limit: int | None, notes: list[str]
) -> "tuple[TestCase, ...]":
    """The samples that --ids and --limit leave. Without them, the same command judges the rest."""
    wanted = {name.strip() for text in ids for name in text.split(",") if name.strip()}
    known = {case.query_log_id for case in cases}
    if missing := sorted(wanted - known - set(ids)):
        raise OptionError(f"--ids: the set has no sample '{missing[0]}'", hint=did_you_mean(missing[0], known))
    wanted |= known & set(ids)  # an id may hold a comma itself
    chosen = tuple(case for case in cases if not wanted or case.query_log_id in wanted)[:limit]
    if len(chosen) < len(cases):
        notes.append(f"Judging {len(chosen)} of {len(cases)} samples (--ids, --limit).")
    return chosen


def _find(name: str) -> Path:
    """A file, or a name among the user's own test sets, then among the bundled ones."""
    path = Path(name)
    if path.is_file() or path.suffix or path.parent != Path():
        return path
    for folder in (OWN_TEST_SETS, io.TEST_SETS):
        for ending in (".json", ".jsonl", ".csv"):
            if (found := folder / f"{name}{ending}").is_file():
                return found
    known = [file.stem for folder in (OWN_TEST_SETS, io.TEST_SETS) for file in folder.glob("*.*")]
    raise OptionError(f"there is no test set '{name}'", hint=did_you_mean(name, known))
