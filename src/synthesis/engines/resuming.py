"""Runs that write a table: begun again, they leave out what is already done."""

import hashlib
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from synthesis.rules.ruleset import RuleSet
from synthesis.runner.manifest import Manifest
from synthesis.runner.run import run_conditions
from synthesis.runner.stream import Crew
from synthesis.runner.work import Part, Task, WorkOrder


class ResumingCrew:
    """Takes finished parts from the manifest and hands only the other tasks on; the order of the tasks stays."""

    def __init__(self, crew: Crew, manifest: Manifest) -> None:
        self._crew = crew
        self._manifest = manifest

    def work(self, todo: Iterator[Task]) -> Iterator[Part]:
        places: deque[Part | None] = deque()  # None: a part that the crew will bring

        def unfinished() -> Iterator[Task]:
            for task in todo:
                found = self._manifest.find(task)
                places.append(found)
                if found is None:
                    yield task

        for part in self._crew.work(unfinished()):
            while (earlier := places.popleft()) is not None:
                yield earlier
            yield part
        yield from (part for part in places if part is not None)


def table_conditions(order: WorkOrder, rules: RuleSet, most_line: int) -> dict[str, Any]:
    """All that a part depends on apart from its input; the engine and the number of workers are not among it."""
    in_force = run_conditions(rules, order.profile)
    places = order.filters.places
    chosen = hashlib.sha256(repr(sorted(places)).encode()).hexdigest() if places is not None else None
    schema = Path(order.schema)
    return {
        "version": in_force["tool"]["version"],
        "rules": in_force["rules"]["hash"],
        "similarity": in_force["similarity"],
        "profile": order.profile,
        "language": order.language or "auto",
        "schema": hashlib.sha256(schema.read_bytes()).hexdigest() if schema.is_file() else None,
        "filters": msgspec.to_builtins(msgspec.structs.replace(order.filters, places=None)),
        "sample": chosen,
        "reading of rows": {**order.rows.shown(), "most_line": most_line},
        "columns": {"keep": list(order.keep), "failures_only": order.failures_only},
    }
