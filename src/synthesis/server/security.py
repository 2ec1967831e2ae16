"""Settings of a server, and access control: host, origin, token, people, security headers."""

import hashlib
import hmac
import ipaddress
import json
import os
import secrets
import tomllib
from collections.abc import Mapping
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote, urlsplit

import msgspec
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from synthesis.errors import OptionError, OutputError, Place
from synthesis.labels import Person, checked_person
from synthesis.lazy import regex
from synthesis.server.http import ApiError, json_response
from synthesis.settings import LEARNED

LEAST_TOKEN = 16
LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")


class ServerSettings(msgspec.Struct, frozen=True):
    """Where to listen, who has access, and the limits."""

    host: str = "127.0.0.1"
    port: int = 8765
    token: str | None = None
    people: tuple[tuple[str, str], ...] = ()  # names, and what proves the token of each
    allowed_hosts: tuple[str, ...] = ()  # host names besides the address itself
    history: str | None = None  # file or URL of the history of runs
    folders: tuple[str, ...] = ()  # rule packs on top
    disabled: tuple[str, ...] = ()  # rules switched off
    reader: str = LEARNED  # beside the rules, unless it is `rules`
    workers: int = 1
    max_body: int = 1 << 20  # bytes of one request, and of one line of a batch
    max_upload: int = 100 << 20  # bytes of an uploaded file
    timeout: float = 30.0  # seconds for a body to arrive, and for one evaluation
    concurrency: int = 64  # evaluations at once
    jobs: int = 8  # uploads and judged runs, waiting or running
    access_log: bool = False
    folder: str = ""  # of this server process and its workers, for jobs and counts; private, removed at the end

    def require_safe(self) -> None:
        """OptionError for a server that is open to the network without a token, or with a short one."""
        if self.token is not None and len(self.token) < LEAST_TOKEN:
            raise OptionError(
                f"the token has {len(self.token)} characters; at least {LEAST_TOKEN} are required",
                hint='Make one with: python3 -c "import secrets; print(secrets.token_urlsafe())"',
            )
        if not self.asks_for_token and not is_loopback(self.host):
            raise OptionError(
                f"{self.host} can be reached from other machines, so a token is required",
                hint="Set SYNTHESIS_TOKEN, or leave --host out to listen on this machine alone.",
            )

    @property
    def asks_for_token(self) -> bool:
        return self.token is not None or bool(self.people)


def is_loopback(host: str) -> bool:
    """Whether an address can be reached from this machine alone."""
    address = address_of(host)
    return host.lower() == "localhost" if address is None else address.is_loopback


def address_of(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The IP address in `host`; None for a name."""
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


# Checks of every request (known host, same site, token) and security headers of every answer.


COOKIE = "synthesis_session"
PERSON = "synthesis.person"  # in a request's scope: who sent it, if they have a token of their own
HEALTH = {"/healthz", "/readyz"}
LOGIN = "/login"
# Headers that decide about access. With two of one kind, a proxy might read the other one.
DECISIVE = (b"host", b"authorization", b"origin", b"sec-fetch-site")
SAFE_METHODS = {"GET", "HEAD", "OPTIONS"}
OWN_SITE = {b"same-origin", b"none"}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",  # under `no-referrer` a browser would hide the origin of our own forms too
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "x-frame-options": "DENY",
    "cache-control": "no-store",
}
_PURPOSE = b"synthesis session"
_RAW = [(name.encode(), value.encode()) for name, value in HEADERS.items()]


class Access(NamedTuple):
    """Someone with access: a person with a token of their own, or anyone with the shared one (None)."""

    person: Person | None


def session_of(token: bytes) -> str:
    """The value of the cookie that a token gives.

    It is derived from the token: anyone who steals it can read pages here, but does not know the token. No session is
    stored, so every worker process accepts it and none forgets it on a restart.
    """
    return hmac.new(token, _PURPOSE, hashlib.sha256).hexdigest()


def proof_of(token: bytes) -> str:
    """What the server stores of a token; neither token nor session can be computed from it."""
    return _proof(session_of(token).encode())


def _proof(session: bytes) -> str:
    return hashlib.sha256(session).hexdigest()


class TokenAuth:
    """Recognises tokens and session cookies. Without any token, anyone who can reach the server has access."""

    def __init__(self, settings: ServerSettings) -> None:
        shared = [(Access(None), proof_of(settings.token.encode()))] if settings.token is not None else []
        own = [(Access(Person(name, verified=True)), proof) for name, proof in settings.people]
        self._known = [*shared, *own]

    def access(self, authorization: bytes | None, cookies: bytes | None) -> Access | None:
        """Who sent a request with these headers; None if they have no access."""
        if not self._known:
            return Access(None)
        if authorization is not None:
            scheme, _, given = authorization.partition(b" ")
            return self.access_by_token(given.strip()) if scheme.lower() == b"bearer" else None
        return self._access_by_session(_session_in(cookies)) if cookies is not None else None

    def access_by_token(self, token: bytes) -> Access | None:
        """Whose token this is; anyone has access where no token is required."""
        return self._access_by_session(session_of(token).encode()) if self._known else Access(None)

    def _access_by_session(self, session: bytes) -> Access | None:
        """Compared with everyone, each in constant time: the time that it takes reveals nothing."""
        given = _proof(session)
        found = [access for access, proof in self._known if hmac.compare_digest(given, proof)]
        return found[0] if found else None


def _session_in(header: bytes) -> bytes:
    try:
        found = SimpleCookie(header.decode("latin-1")).get(COOKIE)
    except CookieError:
        return b""
    return found.value.encode() if found else b""


class SecurityMiddleware:
    """Refuses requests without access, and adds the security headers."""

    def __init__(self, app: ASGIApp, settings: ServerSettings) -> None:
        self._app = app
        self._hosts = _HostNames(settings)
        self._auth = TokenAuth(settings)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = _completed(message["headers"])
            await send(message)

        refusal = self._refusal(scope)
        if refusal is None:
            await self._app(scope, receive, send_with_headers)
        elif refusal.status == 401 and _is_page_request(scope):
            await _to_login(scope, receive, send_with_headers)
        else:
            await json_response(refusal)(scope, receive, send_with_headers)

    def _refusal(self, scope: Scope) -> ApiError | None:
        """Why a request is refused; None if it is allowed."""
        path: str = scope["path"]
        headers: dict[bytes, bytes] = dict(scope["headers"])
        if len(headers) < len(scope["headers"]) and (twice := _repeated(scope["headers"])):
            hint = "Send it once; a proxy in between may have added one."
            return ApiError(400, "repeated_header", f"The header {twice} appears more than once.", hint)
        if path in HEALTH:
            return None
        if not self._hosts.knows(headers.get(b"host", b"")):
            hint = "Use the address that the server printed, or start it with --allow-host NAME."
            return ApiError(400, "unknown_host", "This server does not answer to that host name.", hint)
        if scope["method"] not in SAFE_METHODS and not _is_same_site(headers):
            return ApiError(403, "cross_site", "Another site may not do this.", "Use the pages of this server.")
        if path == LOGIN or path.startswith("/static/"):
            return None
        access = self._auth.access(headers.get(b"authorization"), headers.get(b"cookie"))
        if access is None:
            hint = "Send the token as 'Authorization: Bearer TOKEN', or log in on the page."
            return ApiError(401, "token_needed", "A token is required.", hint, {"WWW-Authenticate": "Bearer"})
        scope[PERSON] = access.person
        return None


class _HostNames:
    """The names that belong to this server.

    DNS cannot redirect a literal address, so a server that listens beyond loopback accepts any of them.
    """

    def __init__(self, settings: ServerSettings) -> None:
        self._names = {*LOOPBACK_NAMES, settings.host.lower(), *(name.lower() for name in settings.allowed_hosts)}
        self._any_address = not is_loopback(settings.host)
        self._known: set[bytes] = set()

    def knows(self, host: bytes) -> bool:
        if host in self._known:
            return True
        name = _host_name(host)
        if name is None or not (name in self._names or (self._any_address and address_of(name) is not None)):
            return False
        # Few spellings are in use, so most requests are one lookup. Bounded, so that no client can fill the memory.
        if len(self._known) < 100:
            self._known.add(host)
        return True


def _repeated(headers: list[tuple[bytes, bytes]]) -> str | None:
    """The decisive header that appears more than once."""
    names = [name for name, _ in headers]
    return next((name.decode("ascii").title() for name in DECISIVE if names.count(name) > 1), None)


def _host_name(host: bytes) -> str | None:
    try:
        return urlsplit(f"//{host.decode('ascii')}").hostname
    except ValueError:
        return None


def _is_same_site(headers: dict[bytes, bytes]) -> bool:
    """Programs send neither header; a browser sends at least one, and a page cannot forge it."""
    if headers.get(b"sec-fetch-site", b"same-origin") not in OWN_SITE:
        return False
    origin = headers.get(b"origin")
    if origin is None:
        return True
    _, separator, host = origin.partition(b"://")
    return bool(separator) and host == headers.get(b"host")


def _is_page_request(scope: Scope) -> bool:
    accepts = Request(scope).headers.get("accept", "")
    return scope["method"] == "GET" and "text/html" in accepts and not scope["path"].startswith("/api/")


async def _to_login(scope: Scope, receive: Receive, send: Send) -> None:
    from starlette.responses import RedirectResponse

    await RedirectResponse(f"{LOGIN}?next={quote(scope['path'])}", 303)(scope, receive, send)


def _completed(headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """The headers of every answer; those that a route has set itself stay."""
    present = {name for name, _ in headers}
    return [*headers, *(pair for pair in _RAW if pair[0] not in present)]


# People with tokens of their own, from the file of `serve --people`. The file holds no token, only what proves one: the
# hash of the session that the token gives. Anyone who reads the file can neither log in nor forge a cookie. Tokens are
# made here and have 256 random bits, so a plain hash is enough.


TABLE = "people"
HINT = "`synthesis serve --people FILE --add-person NAME` adds someone and prints their token."
MOST_PEOPLE = 1000  # every request is compared with all of them
_PROOF = regex(r"[0-9a-f]{64}")


def load_people(file: Path) -> tuple[tuple[str, str], ...]:
    """Names and proofs of the people in a file, in its order; OptionError if it cannot be used."""
    try:
        found = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise OptionError(f"cannot be read: {error.strerror}", place=Place(str(file)), hint=HINT) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise OptionError(f"is not valid TOML: {error}", place=Place(str(file)), hint=HINT) from None
    people = found.get(TABLE)
    if not isinstance(people, dict) or not people:
        raise OptionError("names nobody", place=Place(str(file)), hint=f"It needs a table [{TABLE}]. {HINT}")
    if len(people) > MOST_PEOPLE:
        raise OptionError(f"names {len(people)} people", place=Place(str(file)), hint=f"At most {MOST_PEOPLE}.")
    _check(people, file)
    return tuple(people.items())


def _check(people: Mapping[str, object], file: Path) -> None:
    seen: set[str] = set()
    for name, proof in people.items():
        if checked_person(name, verified=True).name != name:
            raise OptionError(f"{name!r} has needless spaces", place=Place(str(file)), hint="Remove them.")
        if name.casefold() in seen:
            hint = "Names that differ in capitals only would be mistaken for each other."
            raise OptionError(f"{name!r} appears twice", place=Place(str(file)), hint=hint)
        if not isinstance(proof, str) or not _PROOF.fullmatch(proof):
            message = f"the entry of {name!r} is not one that --add-person writes"
            raise OptionError(message, place=Place(str(file)), hint=f"Tokens themselves do not belong here. {HINT}")
        seen.add(name.casefold())


def add_person(file: Path, name: str) -> str:
    """Add someone to the file, which is created private, and return their token: it is stored nowhere."""
    person = checked_person(name, verified=True)
    if file.exists() and not file.is_file():
        hint = "Give a file's path."
        raise OutputError("cannot be written: it is not a regular file", place=Place(str(file)), hint=hint)
    known = load_people(file) if file.exists() else ()
    if person.name.casefold() in {other.casefold() for other, _ in known}:
        hint = "Remove the line first to give this person a new token."
        raise OptionError(f"{person.name!r} is already there", place=Place(str(file)), hint=hint)
    token = secrets.token_urlsafe()
    line = f"{json.dumps(person.name, ensure_ascii=False)} = {json.dumps(proof_of(token.encode()))}\n"
    try:
        with os.fdopen(os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "a", encoding="utf-8") as opened:
            opened.write(line if known else f"[{TABLE}]\n{line}")
    except OSError as error:
        raise OutputError(f"cannot be written: {error.strerror}", place=Place(str(file))) from None
    return token
