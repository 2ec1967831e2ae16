"""Case files: JSON Lines become valid cases here, or one error that holds everything that is wrong with them."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from synthesis.cases.blocks import Block, blocks
from synthesis.cases.decoding import BYTE_ORDER_MARK, decode_line
from synthesis.cases.messages import with_joined_parts
from synthesis.cases.schema import CaseValidator
from synthesis.errors import CaseError, InputError, Place, Problem
from synthesis.model import Case

_OURS = {"source", "problem", "times", "facts"}  # fields of a case that no file can set
_decode_ready = msgspec.json.Decoder(list[Case]).decode


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
    if block.first_line == 1:
        content = content.removeprefix(BYTE_ORDER_MARK)
    for number, line in enumerate(content.split(b"\n"), start=block.first_line):
        if line and not line.isspace():
            found = _parse_line(line, number, block.file, validator)
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


def _parse_line(line: bytes, number: int, file: str, validator: CaseValidator) -> Case | Sequence[Problem]:
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
        return [Problem(line, "schema violation", str(error), str(value.get("id")))]
    return case
