"""What can go wrong with a call, sorted by what to do about it. No key and no request body is ever shown."""

from synthesis.errors import JudgeError, shorten
from synthesis.judge.calls import CallFailedError, RunStopError

_RETRIED_STATUS = {408, 409, 425, 429}
_EXPLAINED = 160


def failed_call(error: Exception, timeout: float, key: str, *, sent: bool) -> JudgeError:
    """The error of one request as one of ours; a request that was not `sent` cost nothing."""
    from pydantic_ai import exceptions as theirs

    if isinstance(error, TimeoutError | theirs.ModelTimeoutError | theirs.ModelRequestTimeout):
        return CallFailedError(f"no {'reply' if sent else 'connection'} within {timeout:g} s", answered=not sent)
    if isinstance(error, theirs.ModelConnectionError):
        what = "the connection broke off" if sent else "no connection"
        return CallFailedError(f"{what}: {_said(error, key)}", answered=not sent)
    if isinstance(error, theirs.ModelHTTPError):
        return _refused(error, key)
    return CallFailedError(f"the reply is not a chat completion: {_said(error, key)}", answered=False)


def _refused(error: "theirs.ModelHTTPError", key: str) -> JudgeError:  # type: ignore[name-defined]  # noqa: F821
    from pydantic_ai import exceptions as theirs

    message = f"HTTP {error.status_code}: {_said(error, key)}"
    hopeless = (theirs.ModelAuthenticationError, theirs.ModelNotFoundError, theirs.ModelQuotaExceededError)
    if isinstance(error, hopeless):
        return RunStopError(message)
    return CallFailedError(
        message,
        answered=True,
        retry=error.status_code >= 500 or error.status_code in _RETRIED_STATUS,
        retry_after=_retry_after(error),
        overloaded=isinstance(error, theirs.ModelRateLimitError | theirs.ModelUnavailableError),
    )


def _retry_after(error: "theirs.ModelHTTPError") -> float | None:  # type: ignore[name-defined]  # noqa: F821
    """Seconds to wait; some servers send fractions, which the library does not read."""
    if error.retry_after is not None:
        return float(error.retry_after)
    try:
        seconds = float((error.headers or {}).get("retry-after", ""))
    except ValueError:
        return None
    return seconds if seconds >= 0 else None


def _said(error: Exception, key: str) -> str:
    """The message alone, on one line, and without the key in case the other side repeats it."""
    body = getattr(error, "body", None)
    text = body.get("message") if isinstance(body, dict) else body
    return shorten(str(text or error).replace(key, "***"), _EXPLAINED)
