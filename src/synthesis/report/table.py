"""Verdicts as a table: one row per conversation, in columns that stay the same whatever the input holds.

id            string    the row's own id
source_file   string    where it was read (in tables that `synthesis eval` writes)
source_line   int64     its line, or the number of its row
(kept)                  columns of the input that were asked for, as they stand there
outcome       string    pass, fail, not_applicable, error
severity      string    of the worst failed check: critical, serious, minor; null: no failure
(check)       string    the same for each known check, in the order of their names; null: not asked for
score         int64     of agency_language
similarity    double    of topic_pivot: user message and reply
language      string    of the reply
alert         string    what crisis_response says where the user's words are an explicit cue, in traffic; null: no cue
error         string    why a row or a check could not be assessed
timelines     list      of structs, for conversations of several turns: check, outcomes (a list), first_failure,
                        longest_run, first_half, second_half, difference
findings      list      of structs: rule, signal, where, turn, start, end, text, severity, role, counted, checks
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from synthesis.errors import MissingExtraError, OptionError
from synthesis.model import CaseResult, Finding
from synthesis.model.result import Timeline

TABLE_VERSION = 3  # 1 had neither timelines nor alerts, 2 no severity; parts of two versions do not go into one table
SCORE = ("agency_language", "score")
SIMILARITY = ("topic_pivot", "anchor_similarity")


def arrow() -> Any:
    """The package pyarrow; MissingExtraError where it is not installed."""
    try:
        import pyarrow
    except ImportError:
        raise MissingExtraError("parquet", "a table of verdicts") from None
    return pyarrow


def verdict_schema(checks: Iterable[str], kept: Iterable[Any] = (), *, placed: bool = False) -> Any:
    """The Arrow schema: `kept` are fields of the input, `placed` adds file and line."""
    pa = arrow()
    places = [pa.field("source_file", pa.string()), pa.field("source_line", pa.int64())] if placed else []
    verdicts = [pa.field(name, pa.string()) for name in ("outcome", "severity", *sorted(checks))]
    fields = [
        pa.field("id", pa.string()),
        *places,
        *(_plain(field) for field in kept),
        *verdicts,
        pa.field("score", pa.int64()),
        pa.field("similarity", pa.float64()),
        pa.field("language", pa.string()),
        pa.field("alert", pa.string()),
        pa.field("error", pa.string()),
        pa.field("timelines", pa.list_(_timeline_type())),
        pa.field("findings", pa.list_(_finding_type())),
    ]
    _require_distinct([field.name for field in fields])
    return pa.schema(fields)


def verdict_batch(results: Sequence[CaseResult], schema: Any, ids: Sequence[str | None], kept: Any = None) -> Any:
    """A record batch of that schema; `kept` is a batch with the kept columns of the same rows."""
    pa = arrow()
    columns: dict[str, Any] = {
        "id": ids,
        "source_file": [result.source and result.source.file for result in results],
        "source_line": [result.source and result.source.line for result in results],
        "outcome": [result.outcome for result in results],
        "severity": [result.severity for result in results],
        "score": [_evidence(result, *SCORE) for result in results],
        "similarity": [_evidence(result, *SIMILARITY) for result in results],
        "language": [result.language for result in results],
        "alert": [result.alert and result.alert.outcome for result in results],
        "error": [_error(result) for result in results],
        "timelines": [[_timeline(timeline) for timeline in result.timelines.values()] for result in results],
        "findings": [[_finding(finding) for finding in result.findings] for result in results],
    }
    arrays = [
        kept.column(field.name)
        if kept is not None and field.name in kept.schema.names
        else pa.array(columns.get(field.name) or _outcomes(results, field.name), type=field.type)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _plain(field: Any) -> Any:
    """A field of the input, without the remarks that some writer left on it."""
    return field.remove_metadata().with_nullable(True)


def _timeline_type() -> Any:
    pa = arrow()
    fields = {"check": pa.string(), "outcomes": pa.list_(pa.string())}
    fields |= dict.fromkeys(("first_failure", "longest_run"), pa.int64())
    fields |= dict.fromkeys(("first_half", "second_half", "difference"), pa.float64())
    return pa.struct(list(fields.items()))


def _timeline(timeline: Timeline) -> Mapping[str, Any]:
    return {"check": timeline.check, **timeline.to_dict()}


def _finding_type() -> Any:
    pa = arrow()
    texts, numbers = pa.string(), pa.int64()
    return pa.struct(
        [
            ("rule", texts),
            ("signal", texts),
            ("where", texts),
            ("turn", numbers),
            ("start", numbers),
            ("end", numbers),
            ("text", texts),
            ("severity", texts),
            ("role", texts),
            ("counted", pa.bool_()),
            ("checks", pa.list_(texts)),
        ]
    )


def _finding(finding: Finding) -> Mapping[str, Any]:
    return {name: getattr(finding, name) for name in finding.__struct_fields__}


def _outcomes(results: Sequence[CaseResult], check: str) -> list[str | None]:
    return [result.checks[check].outcome if check in result.checks else None for result in results]


def _evidence(result: CaseResult, check: str, name: str) -> Any:
    return result.checks[check].evidence.get(name) if check in result.checks else None


def _error(result: CaseResult) -> str | None:
    errors = dict.fromkeys(check.error for check in result.checks.values() if check.error is not None)
    return "; ".join(errors) or None


def _require_distinct(names: Sequence[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise OptionError(
                f"the column '{name}' cannot be kept: the verdicts have one of that name",
                hint="Rename it in the input, or leave it out.",
            )
