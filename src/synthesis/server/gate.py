"""The gate that every request passes: known host, no writing from other sites, token, and headers on the way out.

- Host: only names that belong to this server are answered, so that no foreign name can be made to point here (DNS
  rebinding). Health checks come by any name and learn nothing.
- Cross-site: what changes or computes something is refused if a browser says that another site asks for it.
- Token: where there is one, everything but health, styles and the login asks for it.
"""

from urllib.parse import quote, urlsplit

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from synthesis.server.errors import ApiError, json_response
from synthesis.server.sessions import Doorkeeper
from synthesis.server.settings import LOOPBACK_NAMES, ServerSettings, address_of, is_loopback

HEALTH = {"/healthz", "/readyz"}
LOGIN = "/login"
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
_RAW = [(name.encode(), value.encode()) for name, value in HEADERS.items()]


class Gate:
    """Wraps the application."""

    def __init__(self, app: ASGIApp, settings: ServerSettings) -> None:
        self._app = app
        self._hosts = _Hosts(settings)
        self._doorkeeper = Doorkeeper(settings.token)

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
        elif refusal.status == 401 and _is_for_people(scope):
            await _to_login(scope, receive, send_with_headers)
        else:
            await json_response(refusal)(scope, receive, send_with_headers)

    def _refusal(self, scope: Scope) -> ApiError | None:
        """Why a request may not come in; None if it may."""
        path: str = scope["path"]
        if path in HEALTH:
            return None
        headers: dict[bytes, bytes] = dict(scope["headers"])
        if not self._hosts.knows(headers.get(b"host", b"")):
            hint = "Use the address that the server printed, or start it with --allow-host NAME."
            return ApiError(400, "unknown_host", "This server is not known by that name.", hint)
        if scope["method"] not in SAFE_METHODS and not _is_of_own_site(headers):
            return ApiError(403, "cross_site", "Another site may not do this.", "Use the pages of this server.")
        if path == LOGIN or path.startswith("/static/"):
            return None
        if not self._doorkeeper.lets_in(headers.get(b"authorization"), headers.get(b"cookie")):
            hint = "Send the token as 'Authorization: Bearer TOKEN', or log in on the page."
            return ApiError(401, "token_needed", "A token is needed.", hint, {"WWW-Authenticate": "Bearer"})
        return None


class _Hosts:
    """The names that belong to a server. An address cannot be made to point elsewhere, so beyond loopback all are."""

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
        if len(self._known) < 100:  # the few spellings that are used, so that most requests cost a look-up
            self._known.add(host)
        return True


def _host_name(host: bytes) -> str | None:
    try:
        return urlsplit(f"//{host.decode('ascii')}").hostname
    except ValueError:
        return None


def _is_of_own_site(headers: dict[bytes, bytes]) -> bool:
    """Programs send neither header; a browser sends at least one of them, and no page can forge them."""
    if headers.get(b"sec-fetch-site", b"same-origin") not in OWN_SITE:
        return False
    origin = headers.get(b"origin")
    if origin is None:
        return True
    _, separator, host = origin.partition(b"://")
    return bool(separator) and host == headers.get(b"host")


def _is_for_people(scope: Scope) -> bool:
    accepts = Request(scope).headers.get("accept", "")
    return scope["method"] == "GET" and "text/html" in accepts and not scope["path"].startswith("/api/")


async def _to_login(scope: Scope, receive: Receive, send: Send) -> None:
    from starlette.responses import RedirectResponse

    await RedirectResponse(f"{LOGIN}?next={quote(scope['path'])}", 303)(scope, receive, send)


def _completed(headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """The headers of every answer; what an answer says of itself stands."""
    present = {name for name, _ in headers}
    return [*headers, *(pair for pair in _RAW if pair[0] not in present)]
