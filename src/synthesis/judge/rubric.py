"""Rubrics are data: the axes, what each score means, where a pass begins, and how the judge is to think.

They are YAML documents, like prompts and prices; how such a document is read is at the end.
"""

import hashlib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import yaml

from synthesis.errors import OptionError, Place, TestSetError, did_you_mean
from synthesis.judge.model import Axis, Course, Rubric, TestCase
from synthesis.judge.records import SCORES

FOLDER = Path(__file__).parent / "rubrics"

_NAME = re.compile(r"[a-z][A-Za-z0-9]*")
_HINT = f"The bundled rubrics show the shape: {FOLDER.name}/rag.yaml beside the module judge/rubric.py."


def load_rubric(name_or_path: str | Path) -> Rubric:
    """A bundled rubric by its name, or any rubric file by its path."""
    path = _find(name_or_path)
    rubric = read_document(path, Rubric, _HINT)
    for steps, message in _problems(rubric):
        raise complaint(path, compose(path, _HINT), steps, message, _HINT)
    return rubric


def default_rubric(cases: Sequence[TestCase]) -> Rubric:
    """The course rubric where a context holds courses, the general one for plain passages."""
    has_courses = any(isinstance(item, Course) for case in cases for item in case.context)
    return load_rubric("course" if has_courses else "rag")


def rubric_hash(rubric: Rubric) -> str:
    """Changes when anything in the rubric changes that a judge or a figure depends on."""
    return hashlib.sha256(msgspec.json.encode(rubric)).hexdigest()


def bundled_rubrics() -> tuple[str, ...]:
    """The names of the rubrics that ship with the package."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.yaml")))


def _find(name_or_path: str | Path) -> Path:
    text = str(name_or_path)
    if text in bundled_rubrics():
        return FOLDER / f"{text}.yaml"
    if isinstance(name_or_path, str) and not re.search(r"[./\\]", text):
        raise OptionError(f"there is no rubric '{text}'", hint=did_you_mean(text, bundled_rubrics()))
    return Path(name_or_path)


def _problems(rubric: Rubric) -> Iterator[tuple[list[str | int], str]]:
    """What the types cannot express, with the path to the place in the document."""
    if not rubric.axes:
        yield ["axes"], "a rubric needs at least one axis"
    names = [axis.name for axis in rubric.axes]
    for index, axis in enumerate(rubric.axes):
        if axis.name in names[:index]:
            yield ["axes", index, "name"], f"the axis '{axis.name}' appears twice"
        yield from (([*("axes", index), *steps], message) for steps, message in _axis_problems(axis))


def _axis_problems(axis: Axis) -> Iterator[tuple[list[str | int], str]]:
    if not _NAME.fullmatch(axis.name):
        yield ["name"], f"'{axis.name}' is not an axis name: use a lower-case letter, then letters and digits"
    if axis.pass_at not in SCORES:
        yield ["passAt"], f"must be a score from 1 to 5, not {axis.pass_at}"
    scores = [level.score for level in axis.levels]
    if sorted(scores) != list(SCORES):
        yield ["levels"], f"each score from 1 to 5 needs one level; found {scores}"
    keys = [level.key for level in axis.levels if level.key is not None]
    if len(set(keys)) != len(keys):
        yield ["levels"], "two levels have the same key"


# YAML documents decoded into typed values; every error names file, line and column.


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
