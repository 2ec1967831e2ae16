"""The reference of the API, drawn from its own schema: no script, nothing from the network."""

import re
from typing import Any, NamedTuple

import msgspec
from fastapi import APIRouter
from markupsafe import Markup, escape
from starlette.requests import Request
from starlette.responses import Response

from synthesis.server.pages.layout import page

router = APIRouter(include_in_schema=False)


class Operation(NamedTuple):
    """One thing that the API can do."""

    method: str
    path: str
    words: Markup
    parameters: list[dict[str, Any]]
    takes: str
    example: str
    gives: list[tuple[str, str, str]]


@router.get("/docs")
async def reference(request: Request) -> Response:
    """All operations by group, and the shapes that they exchange."""
    schema = request.app.openapi()
    groups: dict[str, list[Operation]] = {}
    for path, methods in schema["paths"].items():
        for method, operation in methods.items():
            groups.setdefault(operation["tags"][0], []).append(_operation(method, path, operation))
    shapes = {name: _shape(shape) for name, shape in schema["components"]["schemas"].items()}
    paragraphs = [_with_code(part) for part in schema["info"]["description"].split("\n\n")]
    return page(request, "reference.html", title="API", groups=groups, shapes=shapes, paragraphs=paragraphs)


def _with_code(text: str) -> Markup:
    """A text with the parts between backticks as code."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))


def _operation(method: str, path: str, operation: dict[str, Any]) -> Operation:
    takes, body = _content(operation.get("requestBody", {}))
    examples = [example["value"] for example in body.get("examples", {}).values()]
    return Operation(
        method.upper(),
        path,
        _with_code(operation["description"]),
        operation.get("parameters", []),
        f"{takes}: {_type(body.get('schema', {}))}" if takes else "",
        msgspec.json.format(msgspec.json.encode(examples[0]), indent=2).decode() if examples else "",
        [_answer(status, answer) for status, answer in operation["responses"].items()],
    )


def _answer(status: str, answer: dict[str, Any]) -> tuple[str, str, str]:
    kind, content = _content(answer)
    shape = _type(content.get("schema", {}))
    return status, answer["description"], f"{kind}: {shape}" if shape else kind


def _content(body: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The kind of a body, and what it holds."""
    nothing: tuple[str, dict[str, Any]] = "", {}
    return next(iter(body.get("content", {}).items()), nothing)


def _shape(shape: dict[str, Any]) -> dict[str, Any]:
    required = shape.get("required", ())
    fields = [
        (name, _type(field), field.get("description", ""), name in required)
        for name, field in shape.get("properties", {}).items()
    ]
    return {"words": shape.get("description", ""), "fields": fields}


def _type(schema: dict[str, Any]) -> str:
    """A schema in a few words."""
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(_type(one) for one in schema["anyOf"]))
    if "enum" in schema:
        return " | ".join(map(str, schema["enum"]))
    if "prefixItems" in schema:
        return f"({', '.join(_type(one) or 'anything' for one in schema['prefixItems'])})"
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {})) or 'anything'}"
    if schema.get("type") == "object" and isinstance(schema.get("additionalProperties"), dict):
        return f"map to {_type(schema['additionalProperties']) or 'anything'}"
    return str(schema.get("type", ""))
