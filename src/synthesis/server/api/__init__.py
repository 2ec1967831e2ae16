"""The API, one module per noun, under one versioned prefix; and an OpenAPI schema whose bodies are msgspec structs.

FastAPI describes pydantic models only. Bodies here are the product's own structs, decoded and validated by msgspec, so
their schemas are added to FastAPI's.
"""

from collections.abc import Callable, Coroutine
from inspect import signature
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Path
from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import Response

from synthesis.report.judged.layout import with_either
from synthesis.server.http import ErrorBody

PREFIX = "/api/v1"
JSON, LINES, EVENTS = "application/json", "application/x-ndjson", "text/event-stream"
BINARY = {"type": "string", "format": "binary"}  # the schema of a file
RunId = Annotated[
    str, Path(description="Id of the run, the beginning of it, or `latest`.", examples=["latest"], max_length=100)
]
_REFERENCE = "#/components/schemas/{name}"
_known: list[Any] = [ErrorBody]


class DirectRoute(APIRoute):
    """A route whose function takes only the request is called directly: FastAPI has nothing to prepare for it."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        if list(signature(self.endpoint).parameters) == ["request"]:
            function: Callable[[Request], Coroutine[Any, Any, Response]] = self.endpoint
            return function
        return super().get_route_handler()


def api_router(noun: str) -> APIRouter:
    """A router below the prefix; `noun` groups its routes in the schema."""
    return APIRouter(prefix=PREFIX, tags=[noun], route_class=DirectRoute)


def described(
    answer: Any = None,
    *,
    words: str = "Success.",
    takes: Any = None,
    takes_type: str = JSON,
    gives_type: str = JSON,
    status: int = 200,
    examples: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Arguments for a route's decorator: what it takes, what it gives, and the shape of its errors."""
    given: dict[str, Any] = {"description": words, "content": {gives_type: {"schema": _reference(answer)}}}
    arguments: dict[str, Any] = {
        "status_code": status,
        "response_model": None,
        "response_class": Response,  # otherwise the schema would declare every answer as JSON
        "responses": {status: given, "4XX": _errors("The request is not valid or cannot be answered.")},
    }
    if takes is not None:
        content: dict[str, Any] = {"schema": _reference(takes)}
        if examples:
            content["examples"] = {name: {"value": value} for name, value in examples.items()}
        required = takes_type != LINES  # an empty batch is valid
        arguments["openapi_extra"] = {"requestBody": {"required": required, "content": {takes_type: content}}}
    return arguments


def complete_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """FastAPI's schema with the structs that the routes refer to, and the token."""
    _, components = msgspec.json.schema_components(_known, ref_template=_REFERENCE)
    with_either(components)
    parts = schema.setdefault("components", {})
    parts["schemas"] = dict(sorted({**parts.get("schemas", {}), **components}.items()))
    parts["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    schema["security"] = [{}, {"token": []}]
    return schema


def _errors(words: str) -> dict[str, Any]:
    return {"description": words, "content": {JSON: {"schema": _reference(ErrorBody)}}}


def _reference(kind: Any) -> dict[str, Any]:
    """The schema of a struct, by reference. A dictionary is a schema already; a tuple lists alternatives."""
    if kind is None or isinstance(kind, dict):
        return kind or {}
    if isinstance(kind, tuple):
        return {"anyOf": [_reference(one) for one in kind]}
    if kind not in _known:
        _known.append(kind)
    (found,), _ = msgspec.json.schema_components([kind], ref_template=_REFERENCE)
    return found
