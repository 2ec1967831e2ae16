"""The options of `synthesis judge run` and `estimate`, and the test set they name."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from synthesis import bundled
from synthesis.errors import OptionError, did_you_mean

if TYPE_CHECKING:
    from synthesis.judge.config import EvaluationConfig
    from synthesis.judge.journal.ledger import Ledger
    from synthesis.judge.model import TestCase

OWN_TEST_SETS = Path("data/evaluation/test-sets")
DEFAULT_TEST_SET = "passages"

run_root = click.option(
    "--root",
    type=click.Path(path_type=Path),
    default=Path("data/evaluation/answer-synthesis"),
    show_default=True,
    help="Folder that holds the runs.",
)
run_journal = click.option(
    "--journal",
    envvar="SYNTHESIS_JOURNAL",
    metavar="URL",
    help="The journal is in PostgreSQL, shared by several processes (or set SYNTHESIS_JOURNAL).",
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
    run_journal,
    click.option(
        "--lease",
        type=float,
        default=120.0,
        show_default=True,
        help="With --journal: seconds until the samples of a silent process go to the others.",
    ),
    click.option("--system-prompt-version", default="v1", show_default=True),
    click.option("--rubric", metavar="NAME|FILE", help="course, rag, relational or a file of your own."),
    click.option("--max-cost", type=float, metavar="USD", help="Stop before the run could cost more."),
    click.option("--price-file", type=click.Path(path_type=Path), help="Prices in USD per million tokens."),
    click.option(
        "--on-change",
        type=click.Choice(["keep", "rejudge", "error"]),
        default="keep",
        show_default=True,
        help="What becomes of a verdict when its question, context or answer has changed.",
    ),
    click.option("--temperature", type=float, help="Sent only if given."),
    click.option("--timeout", type=float, default=60.0, show_default=True, help="Seconds for one call."),
    click.option("--max-output-tokens", type=click.IntRange(min=1), help="Limit of one reply."),
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
    journal: str | None,
    lease: float,
    **settings: Any,
) -> Inputs:
    """Read the test set and put the configuration together."""
    from synthesis.judge.config import EvaluationConfig
    from synthesis.judge.journal import SharedPlace
    from synthesis.judge.rubric import load_rubric

    cases, name, notes = _read_cases(test_set, answers, contexts)
    config = EvaluationConfig(
        output_dir=name if output_dir is None else output_dir,
        judge_provider=judge_provider or "offline",
        rubric=load_rubric(rubric) if rubric is not None else None,
        journal=SharedPlace(journal, lease) if journal else None,
        **settings,
    )
    if judge_provider is None:
        notes.append("Judge: offline (the default). It compares words and needs no key and no network.")
    return Inputs(cases, config, tuple(notes))


def stored_run(name: str, root: Path, journal: str | None) -> "tuple[Path, Ledger]":
    """The folder of a run and what its journal adds up to, wherever that is kept."""
    from synthesis.judge.journal import SharedPlace, read_ledger, read_shared_ledger
    from synthesis.judge.results import run_folder

    folder = run_folder(root, name)
    return folder, read_shared_ledger(SharedPlace(journal), name) if journal else read_ledger(folder)


def _read_cases(
    test_set: str | None, answers: Path | None, contexts: Path | None
) -> "tuple[tuple[TestCase, ...], str, list[str]]":
    from synthesis.judge.testset import join, load_test_set

    if answers is None and contexts is None:
        path = _find(test_set or DEFAULT_TEST_SET)
        note = [f"Test set: the bundled '{DEFAULT_TEST_SET}' (none was named)."] if test_set is None else []
        return load_test_set(path), path.stem, note
    if test_set is not None:
        raise OptionError("give either a test set or --answers with --contexts, not both")
    if answers is None or contexts is None:
        raise OptionError("--answers and --contexts belong together", hint="Give both.")
    joined = join(answers, contexts)
    return joined.cases, answers.stem, list(joined.notes)


def _find(name: str) -> Path:
    """A file, or a name among the user's own test sets, then among the bundled ones."""
    path = Path(name)
    if path.is_file() or path.suffix or path.parent != Path():
        return path
    for folder in (OWN_TEST_SETS, bundled.TEST_SETS):
        found = folder / f"{name}.json"
        if found.is_file():
            return found
    known = [file.stem for folder in (OWN_TEST_SETS, bundled.TEST_SETS) for file in folder.glob("*.json")]
    raise OptionError(f"there is no test set '{name}'", hint=did_you_mean(name, known))
