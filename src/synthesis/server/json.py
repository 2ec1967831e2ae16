"""JSON in and out by msgspec: quick, and strict about what it takes."""

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec
from starlette.responses import Response

from synthesis.server.errors import ApiError

T = TypeVar("T")


def decode_as(kind: type[T], body: bytes) -> T:
    """The struct that a body holds; ApiError for one that is none."""
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.ValidationError as error:
        raise ApiError(422, "invalid_body", str(error), "See the schema at /api/v1/openapi.json.") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ApiError(400, "invalid_json", f"The body is no valid JSON: {error}") from None
    except RecursionError:
        raise ApiError(400, "invalid_json", "The body is nested too deeply.") from None


class Json(Response):
    """Anything that msgspec can write."""

    media_type = "application/json"

    def __init__(self, content: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(msgspec.json.encode(content), status, headers)
