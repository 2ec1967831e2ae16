"""What can go wrong with a call, sorted by what to do about it. No key and no request body is ever shown."""

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from synthesis.errors import JudgeError, shorten
from synthesis.judge.calls import CallFailedError, RunStopError
from synthesis.judge.clients.endpoint import masked

if TYPE_CHECKING:
    from pydantic_ai.exceptions import ModelHTTPError

_RETRIED_STATUS = {408, 409, 425, 429}
_REJECTING_STATUS = {400, 415, 422, 501}
_REJECTION = re.compile(
    r"response.?format|json.?schema|structured|\btools?\b|tool.?choice|guided|grammar|requested parameters",
    re.IGNORECASE,
)
_EXPLAINED = 160


def failed_call(error: Exception, timeout: float, secrets: Iterable[str], *, sent: bool) -> JudgeError:
    """The error of one request as one of ours; a request that was not `sent` cost nothing."""
    from pydantic_ai import exceptions as theirs

    if isinstance(error, TimeoutError | theirs.ModelTimeoutError | theirs.ModelRequestTimeout):
        return CallFailedError(f"no {'reply' if sent else 'connection'} within {timeout:g} s", answered=not sent)
    if isinstance(error, theirs.ModelConnectionError):
        what = "the connection broke off" if sent else "no connection"
        return CallFailedError(f"{what}: {_said(error, secrets)}", answered=not sent)
    if isinstance(error, theirs.ModelHTTPError):
        return _refused(error, secrets)
    return CallFailedError(f"the reply is not a chat completion: {_said(error, secrets)}", answered=False, garbled=True)


def _refused(error: "ModelHTTPError", secrets: Iterable[str]) -> JudgeError:
    from pydantic_ai import exceptions as theirs

    message = f"HTTP {error.status_code}: {_said(error, secrets)}"
    rejected = _rejects_the_format(error)
    hopeless = (theirs.ModelAuthenticationError, theirs.ModelNotFoundError, theirs.ModelQuotaExceededError)
    if isinstance(error, hopeless) and not rejected:
        return RunStopError(message)
    return CallFailedError(
        message,
        answered=True,
        retry=error.status_code >= 500 or error.status_code in _RETRIED_STATUS,
        retry_after=_retry_after(error),
        overloaded=isinstance(error, theirs.ModelRateLimitError | theirs.ModelUnavailableError),
        rejected=rejected,
    )


def _rejects_the_format(error: "ModelHTTPError") -> bool:
    """It may be the schema that the endpoint does not understand: it says so, or refuses the request as such."""
    from pydantic_ai import exceptions as theirs

    others = (theirs.ModelAuthenticationError, theirs.ModelRateLimitError, theirs.ModelQuotaExceededError)
    if isinstance(error, (*others, theirs.ModelContextWindowExceededError)):
        return False
    return error.status_code in _REJECTING_STATUS or bool(_REJECTION.search(f"{error.body}"))


def _retry_after(error: "ModelHTTPError") -> float | None:
    """Seconds to wait; some servers send fractions, which the library does not read."""
    if error.retry_after is not None:
        return float(error.retry_after)
    try:
        seconds = float((error.headers or {}).get("retry-after", ""))
    except ValueError:
        return None
    return seconds if seconds >= 0 else None


def _said(error: Exception, secrets: Iterable[str]) -> str:
    """The message alone, on one line, and without a secret in case the other side repeats it."""
    body = getattr(error, "body", None)
    text = (body.get("message") or body.get("detail")) if isinstance(body, dict) else body
    return shorten(masked(str(text or error), secrets), _EXPLAINED)
