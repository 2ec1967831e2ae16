"""Any query log, read row by row: a file by its ending, a database table by its URL."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import PurePath

from synthesis.errors import OptionError, Place, TestSetError
from synthesis.judge.logs.database import read_table, shown
from synthesis.judge.logs.files import READERS, Placed
from synthesis.judge.logs.rows import LogHead, LogRow, parse_head, parse_row
from synthesis.judge.logs.values import MalformedValueError
from synthesis.judge.testset.problems import Problems

ROW_HINT = "docs/testsets.md describes the shape of a log row; --map names columns that are called otherwise."


def read_log(
    source: str,
    wants: Callable[[LogHead], bool],
    *,
    table: str | None = None,
    mapping: Mapping[str, str] | None = None,
) -> Iterator[LogRow]:
    """The wanted rows of a log; what is wrong with any of them is raised together after the last.

    The contents of a row that is not wanted are not looked at, so an old broken one stops nobody.
    """
    problems = Problems(source_name(source), hint=ROW_HINT)
    for index, (position, raw) in enumerate(_placed(source, table, problems)):
        try:
            head = parse_head(raw, index, position, mapping or {})
            if wants(head):
                yield parse_row(head, raw, mapping or {})
        except MalformedValueError as error:
            problems.add(position, str(error))
    problems.raise_if_any()


def source_name(source: str) -> str:
    """The source as it may be shown: a database URL without its password."""
    return shown(source) if _is_url(source) else source


def _is_url(source: str) -> bool:
    return "://" in source


def _placed(source: str, table: str | None, problems: Problems) -> Iterator[Placed]:
    if _is_url(source):
        if not table:
            raise OptionError("a database needs --table", hint="Name the table that holds the query logs.")
        return read_table(source, table)
    if table:
        raise OptionError("--table goes with a database URL", hint=f"'{source}' is a file; leave --table out.")
    reader = READERS.get(PurePath(source).suffix.lower())
    if reader is None:
        endings = ", ".join(READERS)
        raise TestSetError(
            "unknown kind of log",
            place=Place(source),
            hint=f"Known endings: {endings}; or give a database URL.",
        )
    return reader(source, problems)
