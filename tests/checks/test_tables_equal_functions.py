"""The tables decide as the functions do: on bundled cases, exchanges with labels and examples of rules."""

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

from synthesis.checks import registry
from synthesis.checks.table import FOLDER, SHARED, Table, over_turns, read_signals, read_table, verdict
from synthesis.model import Case, Turn
from synthesis.model.result import worst_of
from synthesis.run.evaluator import Evaluator
from synthesis.settings import PROFILES

ROOT = Path(__file__).parent.parent.parent
FILES = sorted([*(ROOT / "data").glob("*.jsonl"), *(ROOT / "benchmarks" / "exchanges").glob("*/*.jsonl")])


@pytest.fixture(scope="module")
def shared() -> Table:
    return read_table(FOLDER / f"{SHARED}.yaml", registry.signals())


@pytest.fixture(scope="module")
def tables(shared: Table) -> dict[str, Table]:
    paths = sorted(path for path in FOLDER.glob("*.yaml") if path.stem != SHARED)
    return {path.stem: read_table(path, registry.signals(), shared) for path in paths}


def test_the_tables_declare_the_signals_that_the_functions_do() -> None:
    declared: dict[str, object] = {}
    for path in FOLDER.glob("*.yaml"):
        declared |= read_signals(path)
    assert declared == registry.signals()


def cases(path: Path, names: tuple[str, ...]) -> Iterator[Case]:
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines()):
        row = json.loads(line)
        tags = tuple(row.get("tags", ()))
        if "messages" in row:
            messages = tuple(Turn(message["role"], message["content"]) for message in row["messages"])
            yield Case(f"A-{number}", names, messages=messages, tags=tags)
        elif "assistant" in row:
            yield Case(f"A-{number}", names, user=row["user"], assistant=row["assistant"], tags=tags)


def examples(names: tuple[str, ...]) -> Iterator[Case]:
    """Each sentence that proves a rule, as a message and as a reply."""
    rules = registry.rules_in_force().rules
    for number, text in enumerate(sorted({text for rule in rules for text in (*rule.match, *rule.miss)})):
        yield Case(f"A-{number}", names, user=text, assistant=text)


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("path", [*FILES, None], ids=lambda path: path.stem if path else "examples")
def test_a_table_says_what_the_function_says(
    path: Path | None, profile: str, tables: dict[str, Table], shared: Table
) -> None:
    evaluator = Evaluator(profile=profile)
    batch = list(cases(path, tuple(tables)) if path else islice(examples(tuple(tables)), None, None, 7))
    messages = list(evaluator._messages(batch))
    read = iter(evaluator.rules.read([message for own in messages for message in own]))
    readings = [list(islice(read, len(own))) for own in messages]
    evaluator._read_further(messages, readings)
    for case, own in zip(batch, readings, strict=True):
        exchanges = evaluator._exchanges(case, iter(own))
        for name, table in tables.items():
            known = registry.get_check(name)
            by_function = [known.decide(exchange) for exchange in exchanges]
            by_table = [verdict(table, table.frame(exchange, shared)) for exchange in exchanges]
            assert by_table == by_function
            assert [list(one.evidence) for one in by_table] == [list(one.evidence) for one in by_function]
            over = over_turns(table.over) if table.over else worst_of
            assert not exchanges or over(by_table) == known.over_turns(by_function)
