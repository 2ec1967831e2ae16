"""YAML with a place for every value, so that an error in a pack names file, line, column and the line itself."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NoReturn

import yaml

from synthesis.errors import Place, RuleError, did_you_mean

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class Field:
    """One value of a YAML file: what it is, where it is, and how to read it strictly."""

    def __init__(self, node: yaml.Node, file: str, lines: list[str]) -> None:
        self._node = node
        self._file = file
        self._lines = lines

    @property
    def line(self) -> int:
        return int(self._node.start_mark.line) + 1

    def fail(self, message: str, *, hint: str | None = None, column: int | None = None) -> NoReturn:
        mark = self._node.start_mark
        excerpt = self._lines[mark.line] if mark.line < len(self._lines) else None
        shown = mark.column + 1 if column is None else mark.column + column
        raise RuleError(message, place=Place(self._file, mark.line + 1, shown, excerpt), hint=hint)

    def _wrap(self, node: yaml.Node) -> "Field":
        return Field(node, self._file, self._lines)

    def mapping(self, allowed: Iterable[str] | None = None) -> dict[str, "Field"]:
        """The entries by key; a key that is not allowed, or appears twice, is an error."""
        if not isinstance(self._node, yaml.MappingNode):
            self.fail("expected a mapping (key: value)")
        entries: dict[str, Field] = {}
        known = None if allowed is None else set(allowed)
        for key_node, value_node in self._node.value:
            key = self._wrap(key_node).text()
            if known is not None and key not in known:
                self._wrap(key_node).fail(f"unknown field '{key}'", hint=did_you_mean(key, known))
            if key in entries:
                self._wrap(key_node).fail(f"the field '{key}' appears twice")
            entries[key] = self._wrap(value_node)
        return entries

    def items(self) -> Iterator["Field"]:
        if not isinstance(self._node, yaml.SequenceNode):
            self.fail("expected a list (- item)")
        return (self._wrap(node) for node in self._node.value)

    def text(self) -> str:
        if not isinstance(self._node, yaml.ScalarNode) or not self._node.value.strip():
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
        if not value.isdigit():
            self.fail(f"'{value}' is not a whole number")
        return int(value)

    def texts(self) -> tuple[str, ...]:
        """A list of texts; a single text is a list of one."""
        if isinstance(self._node, yaml.ScalarNode):
            return (self.text(),)
        return tuple(item.text() for item in self.items())

    @property
    def quote_width(self) -> int:
        """How many characters of quoting come before the text itself."""
        return 1 if getattr(self._node, "style", None) in {'"', "'"} else 0

    def is_list(self) -> bool:
        return isinstance(self._node, yaml.SequenceNode)

    def is_mapping(self) -> bool:
        return isinstance(self._node, yaml.MappingNode)


def load_yaml(path: Path) -> Any:
    """The values of a YAML file that travels with the package, read as fast as the installed parser can."""
    return yaml.load(path.read_text(encoding="utf-8"), Loader=_LOADER)


def read_yaml(path: Path) -> Field:
    """The root of a YAML file; every way in which it can be unreadable is a RuleError."""
    try:
        content = path.read_text(encoding="utf-8")
        node = yaml.compose(content, Loader=_LOADER)
    except OSError as error:
        raise RuleError(f"cannot be read: {error.strerror}", place=Place(str(path))) from None
    except UnicodeDecodeError as error:
        raise RuleError(
            f"is not UTF-8 (byte {error.start})", place=Place(str(path)), hint="Save the file as UTF-8."
        ) from None
    except yaml.MarkedYAMLError as error:
        raise _malformed(error, path, content) from None
    except yaml.YAMLError as error:
        raise RuleError(f"is not valid YAML: {error}", place=Place(str(path))) from None
    if node is None:
        raise RuleError("is empty", place=Place(str(path)), hint="A pack file holds `rules`, `lists` or `guards`.")
    return Field(node, str(path), content.splitlines())


def _malformed(error: yaml.MarkedYAMLError, path: Path, content: str) -> RuleError:
    mark = error.problem_mark
    if mark is None:
        return RuleError(f"is not valid YAML: {error.problem}", place=Place(str(path)))
    lines = content.splitlines()
    excerpt = lines[mark.line] if mark.line < len(lines) else None
    return RuleError(
        f"is not valid YAML: {error.problem}", place=Place(str(path), mark.line + 1, mark.column + 1, excerpt)
    )
