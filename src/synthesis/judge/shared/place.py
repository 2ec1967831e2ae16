"""Where a shared journal is, and how that may be shown: never with a password."""

from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from synthesis.errors import OptionError

_SCHEMES = ("postgresql", "postgres", "postgresql+psycopg")
_HINT = "Write it as postgresql://USER@HOST/DATABASE; a password is best left to ~/.pgpass or PGPASSWORD."


class SharedPlace:
    """The database, and for how many seconds a process that is no longer heard of keeps its samples."""

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
        """A driver's message in one line, without what must not be shown."""
        line = " ".join(message.split())
        for secret in self._secrets:
            line = line.replace(secret, "***")
        return line


def _split(url: str) -> SplitResult:
    """The parts of the URL; a complaint repeats nothing of it."""
    try:
        parts = urlsplit(url)
        readable = parts.port is None or parts.port > 0
    except ValueError:
        readable = False
    if not readable or parts.scheme not in _SCHEMES:
        raise OptionError("--journal is no PostgreSQL URL", hint=_HINT)
    if "@" in parts.path + parts.query + parts.fragment:
        raise OptionError("--journal: a password with / ? # or @ in it must be percent-encoded", hint=_HINT)
    return parts


def _shown(parts: SplitResult) -> str:
    user = f"{parts.username}@" if parts.username else ""
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname or ""
    port = f":{parts.port}" if parts.port else ""
    return f"postgresql://{user}{host}{port}{parts.path}"


def _secrets(parts: SplitResult) -> set[str]:
    """The password as it stands and as it is meant, and every value behind the question mark."""
    found = {parts.password or "", unquote(parts.password or "")}
    found |= {value for key, value in parse_qsl(parts.query) if "password" in key}
    return found - {""}
