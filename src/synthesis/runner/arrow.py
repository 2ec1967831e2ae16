"""Arrow in, Arrow out: record batches of conversations become record batches of verdicts."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import chain
from typing import Any

import msgspec

from synthesis.checks.registry import checks as known_checks
from synthesis.checks.registry import get_check, rules_in_force
from synthesis.errors import CaseError, OptionError
from synthesis.model import CaseResult
from synthesis.read.cases import CaseValidator
from synthesis.read.parquet import BATCH, needed_columns, require_kept
from synthesis.read.rows import KEEP_AS_ERROR, STOP, TEXT, LogOptions, with_message_columns
from synthesis.read.tables import require_columns
from synthesis.report.table import arrow, verdict_schema
from synthesis.runner.evaluator import Evaluator
from synthesis.runner.reading import Reader
from synthesis.runner.spec import known_profile
from synthesis.runner.table import to_batch
from synthesis.settings import DEFAULT_CHECKS, TRAFFIC

_SHOWN = "the table"


class BatchEvaluator(msgspec.Struct, frozen=True, kw_only=True):
    """A function from record batch to record batch; small, and safe to send to other processes.

    `user` and `assistant`, or `messages`, and `id` and `lang` name columns that have other names; a column
    `checks` says which checks a row asks for, else `checks` do. `keep` names columns to be copied beside the verdicts.
    """

    user: str | None = None
    assistant: str | None = None
    messages: str | None = None
    id: str | None = None
    lang: str | None = None
    checks: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    on_bad_row: str = KEEP_AS_ERROR
    language: str | None = None
    profile: str = TRAFFIC
    rules: tuple[str, ...] = ()
    disable: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for field in ("checks", "keep", "rules", "disable"):
            msgspec.structs.force_setattr(self, field, tuple(getattr(self, field)))  # lists are welcome too
        for name in self.checks:
            get_check(name)
        msgspec.structs.force_setattr(self, "profile", known_profile(self.profile))
        if self.on_bad_row not in (STOP, KEEP_AS_ERROR):
            raise OptionError(f"on_bad_row must be 'stop' or 'error', not '{self.on_bad_row}'")
        if self.messages and (self.user or self.assistant):
            raise OptionError("'messages' is named together with 'user' or 'assistant'", hint="Choose one of the two.")

    def __call__(self, batch: Any, first_row: int = 1) -> Any:
        """The verdicts on a batch, in its order; with `on_bad_row="stop"` a CaseError that names the bad rows."""
        schema = self.schema(batch.schema)
        reading = _reader(self).batch(batch.select(self.needed(batch.schema.names)), first_row, _SHOWN)
        if reading.problems:
            raise CaseError(reading.problems, file=_SHOWN)
        results = _evaluator(self).evaluate(reading.cases)
        return to_batch(results, reading, self.keep, self._ids(results, batch)).cast(schema)

    def schema(self, given: Any) -> Any:
        """What the verdicts on a table with the schema `given` look like; OptionError if a column is missing."""
        if TEXT in with_message_columns(self.columns, given.names):
            hint = "Give a row for each conversation, with a column of messages; `synthesis eval` joins rows of files."
            raise OptionError("a row of the table is one message, and batches cut conversations in two", hint=hint)
        require_columns(given.names, _reader(self).options, _SHOWN)
        require_kept(given.names, self.keep, _SHOWN)
        return verdict_schema(known_checks(), [given.field(name) for name in self.keep])

    def needed(self, present: Iterable[str]) -> list[str]:
        """The columns that are read, of those that are present."""
        return needed_columns(present, _reader(self).options, self.keep)

    @property
    def columns(self) -> dict[str, str]:
        """Fields of a case -> columns that were named for them."""
        named = {name: getattr(self, name) for name in ("user", "assistant", "messages", "id", "lang")}
        return {name: column for name, column in named.items() if column}

    def _ids(self, results: Sequence[CaseResult], batch: Any) -> list[str | None]:
        """The rows' own ids; a batch does not know its place in the table, so other rows have none."""
        name = self.id or "id"
        if name not in batch.schema.names:
            return [None] * len(results)
        given = batch.column(name).is_valid().to_pylist()
        return [result.id if own else None for result, own in zip(results, given, strict=True)]


def evaluate_table(data: Any, **options: Any) -> Any:
    """The verdicts on an Arrow table, a record batch, or record batches, as a table; see `BatchEvaluator`."""
    pa = arrow()
    evaluator = BatchEvaluator(**options)
    batches = _batches(data)
    first = next(batches, None)
    if first is None:
        raise OptionError("there are no record batches", hint="Give a table, or batches with at least one among them.")
    schema = evaluator.schema(first.schema)
    return pa.Table.from_batches(evaluate_batches(chain([first], batches), evaluator), schema)


def evaluate_batches(batches: Iterable[Any], evaluator: BatchEvaluator) -> Iterator[Any]:
    """Batch after batch, as they come, so that no more than one is in memory."""
    row = 1
    for batch in batches:
        for start in range(0, batch.num_rows, BATCH):
            yield evaluator(batch.slice(start, BATCH), row + start)
        row += batch.num_rows


def _batches(data: Any) -> Iterator[Any]:
    pa = arrow()
    if isinstance(data, pa.RecordBatch):
        yield data
    elif isinstance(data, pa.Table):
        yield from data.to_batches() or [pa.RecordBatch.from_pylist([], schema=data.schema)]
    else:
        yield from data


@cache
def _reader(evaluator: BatchEvaluator) -> Reader:
    validator = CaseValidator(known_checks())
    # The caller holds the batch already, so there is no row that is too long for the memory.
    options = LogOptions(validator, evaluator.checks or DEFAULT_CHECKS, evaluator.columns, True, sys.maxsize)
    return Reader(options, evaluator.on_bad_row, evaluator.keep)


@cache
def _evaluator(evaluator: BatchEvaluator) -> Evaluator:
    rules = rules_in_force(evaluator.rules, evaluator.disable)
    return Evaluator(rules, profile=evaluator.profile, keep_text=False, language=evaluator.language)
