"""Where the server finds the history of runs. Looking begins none; only saving does."""

from threading import Lock
from typing import TYPE_CHECKING

from synthesis.errors import NotInHistoryError
from synthesis.history import open_history

if TYPE_CHECKING:
    from synthesis.history.store import History


class Shelf:
    """Opens the history when it is first asked for, and keeps it open."""

    def __init__(self, place: str | None) -> None:
        self._place = place
        self._lock = Lock()
        self._history: History | None = None

    def opened(self, *, create: bool = False) -> "History":
        """The history; NotInHistoryError while there is none, MissingExtraError without the extra."""
        with self._lock:
            if self._history is None:
                self._history = open_history(self._place, create=create)
            return self._history

    def found(self) -> "History | None":
        """The history; None while there is none."""
        try:
            return self.opened()
        except NotInHistoryError:
            return None

    def close(self) -> None:
        if self._history is not None:
            self._history.close()
