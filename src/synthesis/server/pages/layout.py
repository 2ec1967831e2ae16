"""The layout of all pages: navigation, styles, scripts, and the login where the server requires a token."""

import hashlib
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qs, unquote

from fastapi import APIRouter
from jinja2 import Environment
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from synthesis.errors import OptionError
from synthesis.labels import Person, checked_person
from synthesis.report import templates
from synthesis.report.templates import environment
from synthesis.server.http import ApiError, not_found, read_body
from synthesis.server.security import COOKIE, PERSON, TokenAuth, session_of
from synthesis.server.state import server_state

router = APIRouter(include_in_schema=False)
_HERE = Path(__file__).parent.parent
_KINDS = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_SHARED_STYLE = "report.css"  # pages look like the HTML report


class NavigationEntry(NamedTuple):
    """A page that every page links to."""

    path: str
    title: str


NAVIGATION = (
    NavigationEntry("/", "Try"),
    NavigationEntry("/runs", "Runs"),
    NavigationEntry("/judged", "Judged runs"),
    NavigationEntry("/label", "Label"),
    NavigationEntry("/rules", "Rules"),
    NavigationEntry("/api/v1/openapi.json", "API"),
)


@cache
def _environment() -> Environment:
    made = environment(_HERE / "templates")
    made.globals |= {"asset": asset}
    return made


def page(request: Request, template: str, *, title: str, status: int = 200, **values: Any) -> HTMLResponse:
    """A page in the layout; the navigation entry closest to its path is marked."""
    path = request.url.path
    inside = [entry.path for entry in NAVIGATION if path == entry.path or path.startswith(f"{entry.path}/")]
    shared = {
        "title": title,
        "navigation": NAVIGATION,
        "here": max(inside, key=len, default=""),
        "has_session": server_state(request).settings.asks_for_token,
    }
    return HTMLResponse(_environment().get_template(template).render({**shared, **values}), status)


def fragment(template: str, **values: Any) -> HTMLResponse:
    """A part of a page, for a script to insert."""
    return HTMLResponse(_environment().get_template(template).render(values))


def error_page(request: Request, error: ApiError) -> Response:
    response = page(request, "error.html", title="Error", status=error.status, error=error.detail)
    response.headers.update(error.headers)
    return response


async def read_form(request: Request) -> dict[str, list[str]]:
    """The fields of a form (application/x-www-form-urlencoded), within the limits."""
    settings = server_state(request).settings
    body = await read_body(request, settings.max_body, settings.timeout)
    try:
        return parse_qs(body.decode("utf-8"), keep_blank_values=True, errors="strict", max_num_fields=1000)
    except ValueError:
        raise ApiError(422, "invalid_form", "The form could not be read.") from None


# What a browser remembers for its person: the name they label under, and what they want to see.


NAME_COOKIE = "synthesis_name"
A_YEAR = 365 * 24 * 3600


def person_of(request: Request) -> Person | None:
    """Who labels here: by their token, or by the name that they typed; None if neither is known."""
    if server_state(request).settings.people:
        found: Person | None = request.scope.get(PERSON)
        return found
    try:
        return checked_person(unquote(request.cookies.get(NAME_COOKIE, "")), verified=False)
    except OptionError:
        return None


def remember(request: Request, response: Response, name: str, value: str) -> None:
    """For a year, where no script and no other site can read it."""
    secure = request.url.scheme == "https"
    response.set_cookie(name, value, max_age=A_YEAR, httponly=True, samesite="strict", secure=secure, path="/")


def number_in(text: str | None) -> int:
    """The page number in an address; 1 for anything that is not a number."""
    return min(max(int(text), 1), 1_000_000) if text and _is_number(text) else 1


def position_in(text: str, missing: str) -> int:
    """The position of a case or sample in an address; a page that says what is missing for anything else."""
    if not _is_number(text):
        raise not_found(missing)
    return int(text)


def _is_number(text: str) -> bool:
    """Whether the text is a number that a database can hold."""
    return text.isascii() and text.isdecimal() and len(text) < 10


@cache
def _assets() -> dict[str, tuple[bytes, str]]:
    """Styles and scripts by name. A request can only pick one of these: it never becomes a path."""
    files = [*(_HERE / "static").iterdir(), Path(templates.__file__).parent / "style.css"]
    named = {_SHARED_STYLE if path.name == "style.css" else path.name: path for path in files}
    return {name: (path.read_bytes(), _KINDS[path.suffix]) for name, path in named.items() if path.suffix in _KINDS}


@cache
def asset(name: str) -> str:
    """The address of a style or script; it changes with its content, so a browser may cache it forever."""
    return f"/static/{name}?v={hashlib.sha256(_assets()[name][0]).hexdigest()[:12]}"


@router.get("/static/{name}")
async def static(name: str) -> Response:
    if name not in _assets():
        raise not_found("There is no such file.")
    content, kind = _assets()[name]
    return Response(content, media_type=kind, headers={"Cache-Control": "public, max-age=31536000, immutable"})


# Login for people, if the server requires a token.


@router.get("/login")
async def login(request: Request) -> Response:
    """The form."""
    return _form(request, local_path(request.query_params.get("next", "/")))


@router.post("/login")
async def log_in(request: Request) -> Response:
    """Exchange the token for a cookie that scripts cannot read and other sites cannot use."""
    form = await read_form(request)
    token = form.get("token", [""])[0].strip().encode()
    goal = local_path(form.get("next", ["/"])[0])
    if TokenAuth(server_state(request).settings).access_by_token(token) is None:
        return _form(request, goal, wrong=True)
    response = RedirectResponse(goal, 303)
    secure = request.url.scheme == "https"
    response.set_cookie(COOKIE, session_of(token), httponly=True, samesite="strict", secure=secure, path="/")
    return response


@router.post("/logout")
async def log_out() -> Response:
    """Delete the cookie."""
    response = RedirectResponse("/login", 303)
    response.delete_cookie(COOKIE, path="/", httponly=True, samesite="strict")
    return response


def _form(request: Request, goal: str, *, wrong: bool = False) -> Response:
    has_people = bool(server_state(request).settings.people)
    return page(
        request,
        "login.html",
        title="Log in",
        status=403 if wrong else 200,
        goal=goal,
        wrong=wrong,
        has_people=has_people,
    )


def local_path(goal: str) -> str:
    """A path on this server; `/` for anything that could lead to another one (an open redirect)."""
    is_path = goal.startswith("/") and not goal.startswith("//") and "\\" not in goal and goal.isprintable()
    return goal if is_path else "/"
