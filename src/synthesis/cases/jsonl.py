"""Case files: JSON Lines become valid cases here, or one error that holds everything that is wrong with them."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from synthesis.cases.messages import with_joined_parts
from synthesis.cases.schema import CaseValidator
from synthesis.errors import CaseError, InputError, Place, Problem
from synthesis.model import Case

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_OURS = {"source", "problem"}  # fields of a case that no file can set


def read_bytes(path: Path) -> bytes:
    """The content of an input file; InputError if there is none."""
    if path.is_dir():
        raise InputError("is a folder, not a file", place=Place(str(path)), hint="Give a file of JSON Lines.")
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise InputError("there is no such file", place=Place(str(path)), hint="Check the path.") from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", place=Place(str(path))) from None


def load_cases(path: Path, validator: CaseValidator, shown: str | None = None) -> list[Case]:
    """All cases of a file; CaseError with all problems in line order if there are any.

    `shown` is what the cases call their file, where its path says more about a machine than about the file.
    """
    cases, problems = parse_cases(read_bytes(path), shown or str(path), validator)
    if problems:
        raise CaseError(problems, file=str(path))
    if not cases:
        raise InputError(
            "holds no cases: every line is empty",
            place=Place(str(path)),
            hint="A case file has one JSON object per line; `synthesis schema case` prints its shape.",
        )
    return cases


def parse_cases(content: bytes, file: str, validator: CaseValidator) -> tuple[list[Case], list[Problem]]:
    """The valid cases of a file's content, and what is wrong with the other lines."""
    cases: list[Case] = []
    problems: list[Problem] = []
    first_line: dict[str, int] = {}
    for number, line in _lines(content):
        found = _parse_line(line, number, file, validator)
        if not isinstance(found, Case):
            problems += found
        elif found.id in first_line:
            message = f"the id stands twice: here and on line {first_line[found.id]}"
            problems.append(Problem(number, "duplicate id", message, found.id))
        else:
            first_line[found.id] = number
            cases.append(found)
    return cases, problems


def _lines(content: bytes) -> Iterator[tuple[int, bytes]]:
    """The lines that are not blank, with their true numbers."""
    for number, line in enumerate(content.removeprefix(_BYTE_ORDER_MARK).split(b"\n"), start=1):
        if line.strip():
            yield number, line


def _parse_line(line: bytes, number: int, file: str, validator: CaseValidator) -> Case | Sequence[Problem]:
    try:
        line.decode("utf-8")
        value = msgspec.json.decode(line)
    except UnicodeDecodeError as error:
        return [Problem(number, "not UTF-8", f"is not UTF-8 (byte {error.start + 1} of the line)")]
    except msgspec.DecodeError as error:
        return [Problem(number, "invalid JSON", f"is no valid JSON: {error}")]
    except RecursionError:
        return [Problem(number, "invalid JSON", "is nested too deeply")]
    problems = list(validator.problems(value, number))
    return problems or to_case(value, number, file)


def to_case(value: dict[str, Any], line: int, file: str) -> Case | Sequence[Problem]:
    """A validated object as a case; a schema of the user's own may let through what cannot be evaluated."""
    known = {key: value[key] for key in Case.__struct_fields__ if key in value and key not in _OURS}
    if "messages" in known:
        known["messages"] = with_joined_parts(known["messages"])
    try:
        case = msgspec.convert({**known, "source": {"file": file, "line": line}}, Case)
    except msgspec.ValidationError as error:
        return [Problem(line, "schema violation", str(error), str(value.get("id")))]
    return case
