"""YAML documents decoded into typed values; every error names file, line and column."""

import re
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import yaml

from synthesis.errors import Place, TestSetError

T = TypeVar("T")
_STEP = re.compile(r"\.(\w+)|\[(\d+|\.\.\.)\]")


def read_document(path: Path, into: type[T], hint: str) -> T:
    """The document in `path` as a value of type `into`."""
    root = _compose(path, _read(path, hint), hint)
    try:
        return msgspec.convert(_plain(root, path, hint), into)
    except msgspec.ValidationError as error:
        message, _, where = str(error).partition(" - at ")
        raise complaint(path, root, _steps(where), message, hint) from None


def complaint(
    path: Path, root: yaml.Node, steps: list[str | int], message: str, hint: str | None = None
) -> TestSetError:
    """An error at the node that `steps` lead to, or at the nearest one above it that exists."""
    mark = _nearest(root, steps).start_mark
    where = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps).lstrip(".")
    return TestSetError(
        f"{where}: {message}" if where else message,
        place=Place(str(path), mark.line + 1, mark.column + 1),
        hint=hint,
    )


def compose(path: Path, hint: str) -> yaml.Node:
    """The document's nodes, for errors that only the caller can detect."""
    return _compose(path, _read(path, hint), hint)


def _read(path: Path, hint: str) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise TestSetError(f"cannot be read: {error.strerror}", place=Place(str(path)), hint=hint) from None
    except UnicodeDecodeError as error:
        raise TestSetError(f"is not UTF-8 at byte {error.start}", place=Place(str(path)), hint=hint) from None


def _compose(path: Path, text: str, hint: str) -> yaml.Node:
    try:
        root: yaml.Node | None = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = Place(str(path), mark.line + 1, mark.column + 1) if mark else Place(str(path))
        raise TestSetError(f"is not valid YAML: {error.problem}", place=place, hint=hint) from None
    except yaml.YAMLError as error:
        raise TestSetError(f"is not valid YAML: {error}", place=Place(str(path)), hint=hint) from None
    if root is None:
        raise TestSetError("is empty", place=Place(str(path), 1), hint=hint)
    return root


def _plain(node: yaml.Node, path: Path, hint: str) -> Any:
    """Plain values; unlike PyYAML's own constructor it refuses a key that appears twice."""
    if isinstance(node, yaml.SequenceNode):
        return [_plain(item, path, hint) for item in node.value]
    if not isinstance(node, yaml.MappingNode):
        return yaml.SafeLoader("").construct_object(node)
    values: dict[str, Any] = {}
    for key, value in node.value:
        if key.value in values:
            raise complaint(path, key, [], f"the key '{key.value}' appears twice", hint)
        values[key.value] = _plain(value, path, hint)
    return values


def _steps(where: str) -> list[str | int]:
    """`$.axes[0].name` as msgspec writes it, in steps; it ends where msgspec names no index."""
    steps: list[str | int] = []
    for name, index in _STEP.findall(where):
        if index == "...":
            break
        steps.append(name or int(index))
    return steps


def _nearest(node: yaml.Node, steps: list[str | int]) -> yaml.Node:
    for step in steps:
        child = _child(node, step)
        if child is None:
            return node
        node = child
    return node


def _child(node: yaml.Node, step: str | int) -> yaml.Node | None:
    if isinstance(node, yaml.SequenceNode) and isinstance(step, int):
        return node.value[step] if step < len(node.value) else None
    if isinstance(node, yaml.MappingNode):
        return next((value for key, value in node.value if key.value == step), None)
    return None
