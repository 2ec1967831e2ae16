"""Login for people, if the server requires a token."""

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from synthesis.server.pages.layout import page, read_form
from synthesis.server.security import COOKIE, TokenAuth, session_of
from synthesis.server.state import server_state

router = APIRouter(include_in_schema=False)


@router.get("/login")
async def login(request: Request) -> Response:
    """The form."""
    return _form(request, _local(request.query_params.get("next", "/")))


@router.post("/login")
async def log_in(request: Request) -> Response:
    """Exchange the token for a cookie that scripts cannot read and other sites cannot use."""
    form = await read_form(request)
    token = form.get("token", [""])[0].strip().encode()
    goal = _local(form.get("next", ["/"])[0])
    if TokenAuth(server_state(request).settings).access_by_token(token) is None:
        return _form(request, goal, wrong=True)
    response = RedirectResponse(goal, 303)
    secure = request.url.scheme == "https"
    response.set_cookie(COOKIE, session_of(token), httponly=True, samesite="strict", secure=secure, path="/")
    return response


@router.post("/logout")
async def log_out() -> Response:
    """Forget the cookie."""
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


def _local(goal: str) -> str:
    """A path on this server; `/` for anything that could lead to another one (an open redirect)."""
    is_path = goal.startswith("/") and not goal.startswith("//") and "\\" not in goal and goal.isprintable()
    return goal if is_path else "/"
