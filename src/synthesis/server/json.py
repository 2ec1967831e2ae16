"""JSON in and out by msgspec: quick, and strict about what it takes."""

from collections.abc import Mapping
from typing import Any

import msgspec
from starlette.responses import Response

encode = msgspec.json.Encoder().encode


class Json(Response):
    """Anything that msgspec can write."""

    media_type = "application/json"

    def __init__(self, content: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(encode(content), status, headers)
