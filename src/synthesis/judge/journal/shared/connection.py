"""Where a shared journal is, and the one connection to it, which is reopened when it breaks."""

import logging
import math
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from synthesis.errors import MissingExtraError, OptionError, OutputError, Place, RunFolderError

if TYPE_CHECKING:
    from psycopg import Connection, Error

_SCHEMES = ("postgresql", "postgres", "postgresql+psycopg")
_HINT = "Write it as postgresql://USER@HOST/DATABASE; a password is best left to ~/.pgpass or PGPASSWORD."


class SharedPlace:
    """The database, and for how many seconds a process that has gone silent keeps its samples."""

    def __init__(self, url: str, lease: float = 120.0) -> None:
        parts = _split(url)
        if not 1 <= lease < float("inf"):
            raise OptionError(f"--lease must be 1 second or more, not {lease:g}")
        self.lease = lease
        self.url = parts._replace(scheme="postgresql").geturl()
        self.shown = _shown(parts)
        self._secrets = sorted(_secrets(parts), key=len, reverse=True)

    def __repr__(self) -> str:
        return f"SharedPlace({self.shown!r}, lease={self.lease:g})"

    def masked(self, message: str) -> str:
        """A driver's message in one line, with secrets masked."""
        line = " ".join(message.split())
        for secret in self._secrets:
            line = line.replace(secret, "***")
        return line


def _split(url: str) -> SplitResult:
    """The parts of the URL; an error never repeats any of it."""
    try:
        parts = urlsplit(url)
        readable = parts.port is None or parts.port > 0
    except ValueError:
        readable = False
    if not readable or parts.scheme not in _SCHEMES:
        raise OptionError("--journal is not a PostgreSQL URL", hint=_HINT)
    if "@" in parts.path + parts.query + parts.fragment:
        raise OptionError("--journal: a password with / ? # or @ in it must be percent-encoded", hint=_HINT)
    return parts


def _shown(parts: SplitResult) -> str:
    user = f"{parts.username}@" if parts.username else ""
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname or ""
    port = f":{parts.port}" if parts.port else ""
    return f"postgresql://{user}{host}{port}{parts.path}"


def _secrets(parts: SplitResult) -> set[str]:
    """The password as written and decoded, and every password in the query."""
    found = {parts.password or "", unquote(parts.password or "")}
    found |= {value for key, value in parse_qsl(parts.query) if "password" in key}
    return found - {""}


T = TypeVar("T")
_FIRST_PAUSE = 0.1
_LONGEST_PAUSE = 5.0
_LONGEST_HALT = 10.0
_SILENT = logging.NullHandler()
# A dead network is noticed after 25 s, well within the default lease; TCP alone may take hours.
_DRIVER: dict[str, Any] = {
    "connect_timeout": 10,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
}


class JournalConnection:
    """One database connection, used by one thread at a time; `use` reopens it when it breaks."""

    def __init__(self, place: SharedPlace) -> None:
        self._place = place
        self._connection: Connection[Any] | None = None
        self._given_up = threading.Event()

    def first(self, work: "Callable[[Connection[Any]], T]") -> T:
        """The first use: a failure now means wrong settings, so it is not retried."""
        from psycopg import Error

        try:
            return work(self._connected())
        except Error as error:
            self.close()
            hint = "Is the server running, and may this user create tables there?"
            raise RunFolderError(self._said(error), place=self._at(), hint=hint) from None

    def use(self, work: "Callable[[Connection[Any]], T]", patience: float) -> T:
        """Run `work`; if the connection breaks, retry for `patience` seconds from then on."""
        from psycopg import Error

        deadline, pause = math.inf, _FIRST_PAUSE
        while True:
            try:
                return work(self._connected())
            except Error as error:
                deadline = min(deadline, time.monotonic() + patience)
                if not self._may_pass(error) or time.monotonic() + pause > deadline or self._given_up.is_set():
                    hint = "What was judged is stored: the same command resumes."
                    raise OutputError(self._said(error), place=self._at(), hint=hint) from None
                self.close()
            self._given_up.wait(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    def give_up(self) -> None:
        """Stop retrying; may be called from another thread."""
        self._given_up.set()

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _connected(self) -> "Connection[Any]":
        import psycopg

        if self._connection is None:
            logging.getLogger("psycopg").addHandler(_SILENT)  # a broken connection is reported once, by us
            self._connection = psycopg.connect(
                self._place.url, autocommit=True, application_name="synthesis judge", **_DRIVER
            )
            self._connection.execute(self._settings())
        return self._connection

    def _settings(self) -> str:
        """A process suspended in the middle of a transaction must not block the others until their leases expire."""
        halt = round(1000 * min(_LONGEST_HALT, self._place.lease / 2))
        return (
            f"SET idle_in_transaction_session_timeout = {halt}; SET lock_timeout = '30s'; SET client_encoding = 'UTF8'"
        )

    def _may_pass(self, error: "Error") -> bool:
        from psycopg import OperationalError

        return isinstance(error, OperationalError) or self._connection is None or self._connection.closed

    def _said(self, error: "Error") -> str:
        return f"the journal cannot be used: {self._place.masked(str(error)) or type(error).__name__}"

    def _at(self) -> Place:
        return Place(self._place.shown)


def require_driver() -> None:
    """Raise a friendly error where the extra `sql` is not installed."""
    try:
        import psycopg  # noqa: F401
    except ImportError:
        raise MissingExtraError("sql", "a journal in a database") from None
