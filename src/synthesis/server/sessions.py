"""Who may come in: a bearer token for programs, the same token behind a cookie for people."""

import hashlib
import hmac
from http.cookies import CookieError, SimpleCookie

COOKIE = "synthesis_session"
_PURPOSE = b"synthesis session"


class Doorkeeper:
    """Knows the token. Without one, everybody who can reach the server may come in."""

    def __init__(self, token: str | None) -> None:
        self._token = token.encode() if token is not None else None
        # The cookie is not the token: whoever reads it can look in, but not log in elsewhere.
        self.session = hmac.new(token.encode(), _PURPOSE, hashlib.sha256).hexdigest() if token else ""

    @property
    def asks(self) -> bool:
        return self._token is not None

    def knows_token(self, given: bytes) -> bool:
        return self._token is None or hmac.compare_digest(given, self._token)

    def lets_in(self, authorization: bytes | None, cookies: bytes | None) -> bool:
        """Whether a request with these headers may come in; compared in constant time."""
        if self._token is None:
            return True
        if authorization is not None:
            scheme, _, given = authorization.partition(b" ")
            return scheme.lower() == b"bearer" and self.knows_token(given.strip())
        return cookies is not None and hmac.compare_digest(_session_in(cookies), self.session.encode())


def _session_in(header: bytes) -> bytes:
    try:
        found = SimpleCookie(header.decode("latin-1")).get(COOKIE)
    except CookieError:
        return b""
    return found.value.encode() if found else b""
