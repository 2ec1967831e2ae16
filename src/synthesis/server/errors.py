"""Errors as a client sees them: always `{"error": {"code", "message", "hint"}}`, or a page that says the same.

Nothing that a user wrote goes into a log: an unexpected error is logged as its class and its place in the code.
"""

import logging
import traceback
from collections.abc import Mapping
from http import HTTPStatus
from pathlib import Path

import msgspec
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from synthesis.errors import HistoryError, InputError, MissingExtraError, NotInHistoryError, SynthesisError

log = logging.getLogger("synthesis.server")


class ErrorDetail(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is wrong (`code` for programs, `message` for people), and what to do about it."""

    code: str
    message: str
    hint: str = ""


class ErrorBody(msgspec.Struct, frozen=True):
    """The body of every answer with a status of 400 or more."""

    error: ErrorDetail


class ApiError(Exception):
    """A request that cannot be answered as asked."""

    def __init__(
        self, status: int, code: str, message: str, hint: str = "", headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(code)
        self.status = status
        self.detail = ErrorDetail(code, message, hint)
        self.headers = dict(headers or {})


def not_found(what: str, hint: str = "") -> ApiError:
    return ApiError(404, "not_found", what, hint)


def busy(message: str) -> ApiError:
    return ApiError(429, "busy", message, "Try again in a moment.", {"Retry-After": "1"})


def as_api_error(error: Exception) -> ApiError:
    """Any exception as the client sees it; an unexpected one without details, since they may quote a text."""
    match error:
        case ApiError():
            return error
        case RequestValidationError():
            return ApiError(422, "invalid_parameter", _parameters(error), "The reference at /docs lists them.")
        case HTTPException():
            return _of_http(error)
        case MissingExtraError():
            return ApiError(501, "not_installed", error.message, error.hint or "")
        case NotInHistoryError():
            return not_found(f"{error.message[0].upper()}{error.message[1:]}.", "The runs are listed at /api/v1/runs.")
        case HistoryError():
            return ApiError(503, "no_history", "The history of runs is not available.", error.message)
        case InputError():
            return ApiError(422, "invalid_input", error.message, error.hint or "")
        case SynthesisError():
            return ApiError(500, "failed", error.message, error.hint or "")
    log.error("unexpected %s at %s", type(error).__name__, _place(error))
    return ApiError(500, "unforeseen", "Something went wrong on the server.", "Please report it.")


def json_response(error: ApiError) -> Response:
    body = msgspec.json.encode(ErrorBody(error.detail))
    return Response(body, error.status, error.headers, media_type="application/json")


async def answer(request: Request, error: Exception) -> Response:
    """The handler of all exceptions: a page for browsers, JSON for programs."""
    known = as_api_error(error)
    if known.status == 405:
        known.headers["Allow"] = ", ".join(sorted(_methods(request)))
    if request.url.path.startswith("/api/") or "text/html" not in request.headers.get("accept", ""):
        return json_response(known)
    from synthesis.server.pages.layout import error_page  # pages import this module

    return error_page(request, known)


def _methods(request: Request) -> set[str]:
    """The methods of a path; each route knows only its own."""
    path = request.url.path
    return {method for route in request.app.state.routes if route.path_regex.match(path) for method in route.methods}


def _of_http(error: HTTPException) -> ApiError:
    phrase = HTTPStatus(error.status_code).phrase
    messages = {404: "There is nothing here.", 405: "This method is not allowed here."}
    hint = "The reference at /docs lists all paths." if error.status_code in messages else ""
    message = messages.get(error.status_code, phrase)
    return ApiError(error.status_code, phrase.lower().replace(" ", "_"), message, hint, error.headers)


def _parameters(error: RequestValidationError) -> str:
    """Which parameters are wrong and why; without the values, which a log could keep."""
    return "; ".join(f"{'.'.join(str(part) for part in one['loc'][1:])}: {one['msg']}" for one in error.errors())


def _place(error: Exception) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    return f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "an unknown place"
