"""YAML documents: packs, rubrics, prompts, prices. Every error names file, line, column and the line itself.

`read_yaml` gives fields to be read strictly one by one, `read_document` a value of a type, `load_yaml` what is trusted.
The parser is imported when there is something to parse: what a start reads is kept in parsed form (`rules/cache.py`).
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import msgspec

from synthesis.errors import InputError, Place, RuleError, TestSetError, did_you_mean
from synthesis.lazy import regex

if TYPE_CHECKING:
    import yaml

T = TypeVar("T")
Steps = list[str | int]  # keys and indexes that lead from the root to a value
_STEP = regex(r"\.(\w+)|\[(\d+|\.\.\.)\]")
_MOST_DEPTH = 50  # of lists and mappings in each other
_OF_A_PACK = "A pack file holds `rules`, `lists` or `guards`."


SCALAR, SEQUENCE, MAPPING = "scalar", "sequence", "mapping"  # what the parser calls kinds of nodes


class KeptNode(msgspec.Struct, frozen=True, array_like=True):
    """A node of the parser's as it can be kept in a file, with the value that YAML reads in it."""

    id: str
    line: int
    column: int
    style: str | None = None
    text: str = ""
    scalar: Any = None
    items: list["KeptNode"] = []
    entries: list[tuple["KeptNode", "KeptNode"]] = []

    @property
    def start_mark(self) -> "KeptNode":
        return self

    @property
    def value(self) -> Any:
        return self.text if self.id == SCALAR else self.items if self.id == SEQUENCE else self.entries


class Field:
    """One value of a YAML file: what it is, where it is, and how to read it strictly."""

    def __init__(self, node: "yaml.Node | KeptNode", file: str, lines: list[str]) -> None:
        self._node: Any = node  # as the parser gives it, or kept
        self._file = file
        self._lines = lines

    @property
    def line(self) -> int:
        return int(self._node.start_mark.line) + 1

    def fail(self, message: str, *, hint: str | None = None, column: int | None = None) -> NoReturn:
        place = _place_at(self._node.start_mark, self._file, self._lines, 1 if column is None else column)
        raise RuleError(message, place=place, hint=hint)

    def kept(self) -> KeptNode:
        """It and all below it, to be kept; of a document that does not hold itself, and whose values can be read."""
        mark = self._node.start_mark
        place = (self._node.id, mark.line, mark.column, getattr(self._node, "style", None))
        if self.is_list():
            return KeptNode(*place, items=[item.kept() for item in self.items()])
        if self.is_mapping():
            pairs = [(self._wrap(key), self._wrap(value)) for key, value in self._node.value]
            return KeptNode(*place, entries=[(key.kept(), value.kept()) for key, value in pairs])
        scalar = self.scalar()
        assert isinstance(scalar, str | int | float | None)  # a day would come back as a text
        return KeptNode(*place, text=self._node.value, scalar=scalar)

    def _wrap(self, node: Any) -> "Field":
        return Field(node, self._file, self._lines)

    def mapping(
        self, allowed: Iterable[str] | None = None, renamed: Mapping[str, str] | None = None
    ) -> dict[str, "Field"]:
        """The entries by key; a key that is not allowed, or appears twice, is an error."""
        known = None if allowed is None else set(allowed)
        entries: dict[str, Field] = {}
        for name, value in self.pairs():
            key = name.text()
            if known is not None and key not in known:
                now = (renamed or {}).get(key)
                hint = f"It is now called '{now}'." if now else did_you_mean(key, known)
                name.fail(f"unknown field '{key}'", hint=hint)
            entries[key] = value
        return entries

    def pairs(self) -> Iterator[tuple["Field", "Field"]]:
        """The entries with their keys; a key that appears twice is an error."""
        if self._node.id != MAPPING:
            self.fail("expected a mapping (key: value)")
        seen: set[str] = set()
        for key_node, value_node in self._node.value:
            key = self._wrap(key_node)
            if key.text() in seen:
                key.fail(f"the field '{key.text()}' appears twice")
            seen.add(key.text())
            yield key, self._wrap(value_node)

    def items(self) -> Iterator["Field"]:
        if self._node.id != SEQUENCE:
            self.fail("expected a list (- item)")
        return (self._wrap(node) for node in self._node.value)

    def text(self) -> str:
        if self._node.id != SCALAR or not self._node.value.strip():
            self.fail("expected text that is not empty")
        return str(self._node.value).strip() if self._node.style in {"|", ">"} else str(self._node.value)

    def one_of(self, allowed: Iterable[str]) -> str:
        value = self.text()
        names = list(allowed)
        if value not in names:
            self.fail(f"'{value}' is not allowed here", hint=did_you_mean(value, names))
        return value

    def boolean(self) -> bool:
        return self.one_of(["true", "false"]) == "true"

    def whole_number(self) -> int:
        value = self.text()
        if not value.isdecimal():
            self.fail(f"'{value}' is not a whole number")
        return int(value)

    def texts(self) -> tuple[str, ...]:
        """A list of texts; a single text is a list of one."""
        if self._node.id == SCALAR:
            return (self.text(),)
        return tuple(item.text() for item in self.items())

    def scalar(self) -> Any:
        """A number, a text, true, false or null, as YAML reads it."""
        if isinstance(self._node, KeptNode):
            return self._node.scalar
        import yaml

        try:
            return yaml.SafeLoader("").construct_object(self._node)
        except (yaml.YAMLError, ValueError, LookupError, AttributeError) as error:  # as its constructors stumble
            tag = self._node.tag.replace("tag:yaml.org,2002:", "!!")
            self.fail(f"cannot be read as {tag}: {getattr(error, 'problem', None) or error}")

    @property
    def quote_width(self) -> int:
        """How many characters of quoting come before the text itself."""
        return 1 if getattr(self._node, "style", None) in {'"', "'"} else 0

    def is_list(self) -> bool:
        return bool(self._node.id == SEQUENCE)

    def is_mapping(self) -> bool:
        return bool(self._node.id == MAPPING)


def load_yaml(path: Path) -> Any:
    """The values of a YAML file that travels with the package, read as fast as the installed parser can."""
    import yaml

    return yaml.load(path.read_text(encoding="utf-8"), Loader=_loader())


def _loader() -> Any:
    """The parser in C where there is one."""
    import yaml

    return getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def read_yaml(path: Path, hint: str = _OF_A_PACK) -> Field:
    """The root of a file of a pack; every way in which it can be unreadable is a RuleError."""
    node, lines = _composed(path, RuleError, hint)
    return Field(node, str(path), lines)


def read_document(path: Path, into: type[T], hint: str) -> T:
    """The document in `path` as a value of type `into`."""
    root, lines = _composed(path, TestSetError, hint)
    try:
        return msgspec.convert(_plain(Field(root, str(path), lines)), into)
    except msgspec.ValidationError as error:
        message, _, where = str(error).partition(" - at ")
        raise complaint(path, _steps(where), message, hint) from None
    except RuleError as error:
        raise TestSetError(error.message, place=error.place, hint=hint) from None


def complaint(path: Path, steps: Steps, message: str, hint: str) -> TestSetError:
    """An error at the value that `steps` lead to, or at the nearest one above it that exists."""
    root, lines = _composed(path, TestSetError, hint)
    where = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps).lstrip(".")
    place = _place_at(_nearest(root, steps).start_mark, str(path), lines)
    return TestSetError(f"{where}: {message}" if where else message, place=place, hint=hint)


def _composed(path: Path, error_type: type[InputError], hint: str) -> tuple["yaml.Node", list[str]]:
    """The root of the document and the lines of the file."""
    import yaml

    try:
        content = path.read_text(encoding="utf-8")
        _require_shallow(content)
        node = yaml.compose(content, Loader=_loader())
    except OSError as error:
        raise error_type(f"cannot be read: {error.strerror}", place=Place(str(path)), hint=hint) from None
    except UnicodeDecodeError as error:
        reason = f"is not UTF-8 (byte {error.start})"
        raise error_type(reason, place=Place(str(path)), hint="Save the file as UTF-8.") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = _place_at(mark, str(path), content.splitlines()) if mark else Place(str(path))
        problem = getattr(error, "problem", None) or error
        raise error_type(f"is not valid YAML: {problem}", place=place, hint=hint) from None
    if node is None:
        raise error_type("is empty", place=Place(str(path), 1), hint=hint)
    return node, content.splitlines()


def _require_shallow(content: str) -> None:
    """The parser goes down level by level: a file of brackets would end the process, not only the reading."""
    import yaml

    depth = 0
    for event in yaml.parse(content, Loader=_loader()):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _MOST_DEPTH:
            mark: Any = event.start_mark  # of either parser: typed as if only one could be raised
            raise yaml.MarkedYAMLError(problem="nested too deeply", problem_mark=mark)


def _place_at(mark: Any, file: str, lines: list[str], column: int = 1) -> Place:
    """The place that a mark of the parser points to, which may be behind the last line."""
    return Place(file, mark.line + 1, mark.column + column, lines[mark.line] if mark.line < len(lines) else None)


def _plain(field: Field, depth: int = 0) -> Any:
    """Plain values; unlike PyYAML's own constructor it refuses a key that appears twice, and a list in itself."""
    if depth > _MOST_DEPTH:
        field.fail("holds itself, or is nested too deeply")
    if field.is_list():
        return [_plain(item, depth + 1) for item in field.items()]
    if field.is_mapping():
        return {key: _plain(value, depth + 1) for key, value in field.mapping().items()}
    return field.scalar()


def _steps(where: str) -> Steps:
    """`$.axes[0].name` as msgspec writes it, in steps; it ends where msgspec names no index."""
    steps: Steps = []
    for name, index in _STEP.findall(where):
        if index == "...":
            break
        steps.append(name or int(index))
    return steps


def _nearest(node: "yaml.Node", steps: Steps) -> "yaml.Node":
    for step in steps:
        child = _child(node, step)
        if child is None:
            return node
        node = child
    return node


def _child(node: Any, step: str | int) -> "yaml.Node | None":
    if node.id == SEQUENCE and isinstance(step, int):
        return node.value[step] if step < len(node.value) else None
    if node.id == MAPPING:
        return next((value for key, value in node.value if key.value == step), None)
    return None
