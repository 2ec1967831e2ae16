"""Chat logs and tables as cases: OpenAI chat JSONL, ShareGPT, CSV, Parquet, Inspect logs.

    for row in read_rows(Path("chats.csv"), options):
        ...  # a Case, or a Problem with its row

Rows are read one at a time, in the order of the file; a bad row does not end the reading.
"""

from collections.abc import Iterator
from pathlib import Path

from synthesis.cases.logs.conversion import Converter
from synthesis.cases.logs.formats import format_of, is_log, rows_of
from synthesis.cases.logs.options import DEFAULT_CHECKS, LogOptions, parse_map
from synthesis.errors import InputError, Place, Problem
from synthesis.model import Case

__all__ = ["DEFAULT_CHECKS", "LogOptions", "format_of", "is_log", "parse_map", "read_rows"]


def read_rows(path: Path, options: LogOptions, shown: str | None = None) -> Iterator[Case | Problem]:
    """The rows of a log, each as a case or as what is wrong with it; InputError if the file itself is unusable.

    `shown` is what the cases call their file, where its path says more about a machine than about the file.
    """
    converter = Converter(options, shown or str(path))
    empty = True
    for row in rows_of(path, options):
        empty = False
        yield row if isinstance(row, Problem) else converter.case(row)
    if empty:
        raise InputError("holds no rows", place=Place(str(path)), hint="A log has one conversation per row.")
