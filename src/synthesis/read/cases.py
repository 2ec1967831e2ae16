"""Case files: JSON Lines become valid cases here, or one error that holds everything that is wrong with them."""

import json
import types
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from synthesis.errors import NO_CHECKS, SCHEMA, CaseError, InputError, Place, Problem, SchemaError, did_you_mean
from synthesis.io import CASE_SCHEMA
from synthesis.model import Case
from synthesis.read.lines import Block, blocks, decode_line, kind_of

ROLES = {
    **dict.fromkeys(("user", "human"), "user"),
    **dict.fromkeys(("assistant", "gpt", "chatgpt", "model", "ai", "bot"), "assistant"),
    **dict.fromkeys(("system", "developer"), "system"),
    **dict.fromkeys(("tool", "function", "function_call", "function_response", "tool_call", "tool_response"), "tool"),
    **dict.fromkeys(("observation", "ipython"), "tool"),
}


@cache
def _senders() -> Mapping[str, str]:
    """What exports of help desks and messengers call the sides.

    A line of a pasted chat that begins with one of these words may well be prose ("Note: ..."), so only fields that
    hold a role are read by them.
    """
    import tomllib  # only a log has such names

    found = tomllib.loads((Path(__file__).parent / "senders.toml").read_text(encoding="utf-8"))
    return {word: side for side, words in found.items() for word in words}


def side_of(role: Any) -> str | None:
    """Who speaks under this name: `user`, `assistant`, `system` or `tool`; None for an unknown role."""
    name = "_".join(role.lower().replace("-", " ").split()) if isinstance(role, str) else ""
    return ROLES.get(name) or _senders().get(name)


def text_of(content: Any) -> str | None:
    """The text of a message: itself, or its text parts joined; None where it is neither."""
    if content is None:
        return ""  # a message that only calls a tool
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return None
    texts = [_part(part) for part in content]
    return "\n\n".join(text for text in texts if text)


def is_unicode(text: str) -> bool:
    """Whether a text has no halves of characters (lone surrogates), which cannot be written anywhere."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


_SAID = frozenset({"text", "input_text", "output_text", "refusal"})  # types of parts that somebody says


def _part(part: Any) -> str:
    if isinstance(part, str):
        return part
    if not isinstance(part, Mapping) or str(part.get("type", "text")) not in _SAID:
        return ""
    text = part.get("text", part.get("content", part.get("refusal")))
    if isinstance(text, Mapping):
        text = text.get("value")
    return text if isinstance(text, str) else ""


def with_joined_parts(messages: Any) -> Any:
    """The messages of a case with content in parts, or none, turned into texts; all else as it is."""
    if not isinstance(messages, list):
        return messages
    return [
        {**message, "content": text_of(message["content"])}
        if isinstance(message, dict) and isinstance(message.get("content", ""), list | types.NoneType)
        else message
        for message in messages
    ]


# The JSON Schema that every case must satisfy: ours, or one that a user gives.


_CHECKS_REQUIRED = '"checks" is a required property'


def read_schema(path: Path = CASE_SCHEMA) -> Any:
    """The schema in a file, as it is."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SchemaError(f"cannot be read: {error.strerror}", place=Place(str(path))) from None
    except UnicodeDecodeError:
        raise SchemaError("is not UTF-8", place=Place(str(path)), hint="Save the file as UTF-8.") from None
    except json.JSONDecodeError as error:
        raise SchemaError(
            f"is not valid JSON: {error.msg}", place=Place(str(path), error.lineno, error.colno)
        ) from None
    except RecursionError:
        raise SchemaError("is nested too deeply", place=Place(str(path))) from None


def with_check_names(schema: dict[str, Any], names: Collection[str]) -> dict[str, Any]:
    """The schema as it is in force: with the names of the known checks."""
    properties = dict(schema.get("properties", {}))
    known = sorted(names)
    if "checks" in properties:
        properties["checks"] = {**properties["checks"], "items": {"type": "string", "enum": known}}
    if "expected" in properties:
        properties["expected"] = {**properties["expected"], "propertyNames": {"enum": known}}
    return {**schema, "properties": properties}


class CaseValidator:
    """Says what is wrong with a case; knows one schema and the names of the checks there are."""

    def __init__(self, check_names: Collection[str], path: Path | None = None) -> None:
        self.checks = tuple(check_names)
        self._names = frozenset(self.checks)
        place = Place(str(path or CASE_SCHEMA))
        import jsonschema_rs  # a log, or a reply by itself, needs none

        try:
            self._validator = jsonschema_rs.validator_for(read_schema(path or CASE_SCHEMA), retriever=_refuse)
        except (
            jsonschema_rs.ValidationError,
            jsonschema_rs.ReferencingError,
            ValueError,
            TypeError,
        ) as error:
            reason = str(error).partition("\n")[0]
            raise SchemaError(f"is not a usable JSON Schema: {reason}", place=place) from None

    def problems(self, case: Any, line: int) -> Iterator[Problem]:
        """Everything that is wrong with one case."""
        name = case.get("id") if isinstance(case, dict) else None
        case_id = name if isinstance(name, str) else None
        if not isinstance(case, dict):
            yield Problem(line, "not an object", f"expected a JSON object, found {kind_of(case)}")
            return
        try:
            for error in self._validator.iter_errors(case):
                where = "/".join(str(part) for part in error.instance_path)
                field = f"{where}: " if where else ""
                kind = NO_CHECKS if error.message == _CHECKS_REQUIRED else SCHEMA
                yield Problem(line, kind, f"{field}{_plain(error.message)}", case_id)
        except ValueError as error:  # what no JSON can hold, or nesting that the validator refuses
            yield Problem(line, SCHEMA, _refused(error), case_id)
            return
        for unknown in self._unknown_checks(case):
            message = f"no check is called '{unknown}'. {did_you_mean(unknown, self._names)}"
            yield Problem(line, "unknown check", message, case_id)

    def _unknown_checks(self, case: dict[str, Any]) -> list[str]:
        asked = case.get("checks")
        labelled = case.get("expected")
        names = [
            *(asked if isinstance(asked, list) else ()),
            *(labelled if isinstance(labelled, dict) else ()),
        ]
        return [name for name in dict.fromkeys(names) if isinstance(name, str) and name not in self._names]


def _refuse(uri: str) -> Any:
    raise ValueError(f"it refers to {uri}, and remote references are refused")


def _plain(message: str) -> str:
    """A validator's message may quote the whole text of a case; a reader needs its beginning only."""
    if message.startswith("False schema"):
        return "is not allowed here ('messages' takes the place of 'user' and 'assistant')"
    return message if len(message) <= 200 else f"{message[:120]} … {message[-60:]}"


def _refused(error: ValueError) -> str:
    if isinstance(error, UnicodeEncodeError):
        return "holds half a character (a lone surrogate)"
    return "is nested too deeply" if "ecursion" in str(error) else f"cannot be validated: {error}"


# Case files: JSON Lines become valid cases here, or one error that holds everything that is wrong with them.


_OURS = {"source", "problem", "times", "facts"}  # fields of a case that no file can set
_decode_ready = msgspec.json.Decoder(Case).decode_lines


def load_cases(path: Path, validator: CaseValidator) -> list[Case]:
    """All cases of a file in memory; CaseError with all problems in line order if there are any."""
    cases: list[Case] = []
    problems: list[Problem] = []
    for block in blocks(path, str(path)):
        if isinstance(block, Problem):
            problems.append(block)
        else:
            found, wrong = parse_block(block, validator)
            cases += found
            problems += wrong
    problems += _duplicates(cases)
    if problems:
        raise CaseError(sorted(problems, key=lambda problem: problem.line), file=str(path))
    if not cases:
        raise no_cases(str(path))
    return cases


def no_cases(shown: str) -> InputError:
    return InputError(
        "holds no cases: every line is empty",
        place=Place(shown),
        hint="A case file has one JSON object per line; `synthesis schema case` prints its shape.",
    )


def parse_block(block: Block, validator: CaseValidator) -> tuple[list[Case], list[Problem]]:
    """The valid cases of a block, and what is wrong with its other lines."""
    cases: list[Case] = []
    problems: list[Problem] = []
    content = block.read()
    if block.ready:
        return _decode_ready(content), problems
    for number, line in enumerate(content.split(b"\n"), start=block.first_line):
        if line and not line.isspace():
            found = parse_line(line, number, block.file, validator)
            if isinstance(found, Case):
                cases.append(found)
            else:
                problems += found
    return cases, problems


def _duplicates(cases: list[Case]) -> Iterator[Problem]:
    first: dict[str, Case] = {}
    for case in cases:
        earlier = first.setdefault(case.id, case)
        if earlier is not case and case.source and earlier.source:
            yield duplicate(case.source.line, earlier.source.line, case.id)


def duplicate(line: int, first_line: int, case_id: str) -> Problem:
    return Problem(line, "duplicate id", f"the id appears twice: here and on line {first_line}", case_id)


def parse_line(line: bytes, number: int, file: str, validator: CaseValidator) -> Case | Sequence[Problem]:
    """The case in a line of a file, or everything that is wrong with it."""
    value = decode_line(line, number)
    if isinstance(value, Problem):
        return [value]
    problems = list(validator.problems(value, number))
    return problems or to_case(value, number, file)


def to_case(value: dict[str, Any], line: int, file: str, own_id: str | None = None) -> Case | Sequence[Problem]:
    """A validated object as a case; a schema of the user's own may let through what cannot be evaluated."""
    known = {key: value[key] for key in Case.__struct_fields__ if key in value and key not in _OURS}
    if "messages" in known:
        known["messages"] = with_joined_parts(known["messages"])
    try:
        case = msgspec.convert({**known, "source": {"file": file, "line": line, "id": own_id}}, Case)
    except msgspec.ValidationError as error:
        return [Problem(line, SCHEMA, str(error), str(value.get("id")))]
    return case
