"""The JSON Schema that every case must satisfy: ours, or one that a user gives."""

import json
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs

from synthesis import io
from synthesis.errors import NO_CHECKS, Place, Problem, SchemaError, did_you_mean

_CHECKS_REQUIRED = '"checks" is a required property'


def read_schema(path: Path = io.CASE_SCHEMA) -> Any:
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
        self._names = frozenset(check_names)
        place = Place(str(path or io.CASE_SCHEMA))
        try:
            self._validator = jsonschema_rs.validator_for(read_schema(path or io.CASE_SCHEMA), retriever=_refuse)
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
            yield Problem(line, "not an object", f"expected a JSON object, found {_kind(case)}")
            return
        try:
            for error in self._validator.iter_errors(case):
                where = "/".join(str(part) for part in error.instance_path)
                field = f"{where}: " if where else ""
                kind = NO_CHECKS if error.message == _CHECKS_REQUIRED else "schema violation"
                yield Problem(line, kind, f"{field}{_plain(error.message)}", case_id)
        except ValueError as error:  # what no JSON can hold, or nesting that the validator refuses
            yield Problem(line, "schema violation", _refused(error), case_id)
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
        return [name for name in dict.fromkeys(filter(lambda n: isinstance(n, str), names)) if name not in self._names]


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


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, str):
        return "a string"
    return "an array" if isinstance(value, list) else "a number"
