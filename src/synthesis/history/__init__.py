"""A history of runs: a private SQLite file by default, PostgreSQL by URL (extra `sql`)."""

from pathlib import Path
from typing import TYPE_CHECKING

from synthesis.errors import MissingExtraError
from synthesis.history.entries import Provenance
from synthesis.history.model import (
    CaseOutcome,
    CheckOutcome,
    Figures,
    Page,
    Run,
    SampleOutcome,
    TrendPoint,
)

if TYPE_CHECKING:
    from synthesis.history.store import History

__all__ = [
    "CaseOutcome",
    "CheckOutcome",
    "Figures",
    "Page",
    "Provenance",
    "Run",
    "SampleOutcome",
    "TrendPoint",
    "open_history",
]


def open_history(where: str | Path | None = None, *, create: bool = True) -> "History":
    """The history in a file or at a URL, by default SYNTHESIS_HISTORY or `.synthesis/history.db`."""
    try:
        from synthesis.history.store import History
    except ModuleNotFoundError as error:
        if error.name != "sqlalchemy":
            raise
        raise MissingExtraError("sql", "the history of runs") from None
    return History.open(where, create=create)
