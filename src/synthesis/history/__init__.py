"""A history of runs: a private SQLite file by default, PostgreSQL by URL (extra `sql`)."""

from pathlib import Path
from typing import TYPE_CHECKING

from synthesis.errors import MissingExtraError
from synthesis.history.model import Figures, Page, Provenance, SavedCase, SavedCheck, SavedRun, SavedSample, TrendPoint

if TYPE_CHECKING:
    from synthesis.history.store import History

__all__ = [
    "Figures",
    "Page",
    "Provenance",
    "SavedCase",
    "SavedCheck",
    "SavedRun",
    "SavedSample",
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
