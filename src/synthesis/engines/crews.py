"""The crew that a user asked for."""

import os
from contextlib import AbstractContextManager
from pathlib import Path

import msgspec

from synthesis.errors import OptionError
from synthesis.rules.ruleset import RuleSet
from synthesis.runner.stream import Crew
from synthesis.runner.work import WorkOrder

LOCAL, RAY, SPARK = ("local", "ray", "spark")


class EngineChoice(msgspec.Struct, frozen=True):
    """Which engine, and where it is."""

    name: str = LOCAL
    ray_address: str | None = None  # None: a cluster of its own on this machine
    master: str | None = None

    def __post_init__(self) -> None:
        for engine, option, value in ((RAY, "--ray-address", self.ray_address), (SPARK, "--master", self.master)):
            if value is not None and self.name != engine:
                raise OptionError(f"{option} goes with --engine {engine}", hint=f"Give --engine {engine} as well.")


def start_crew(
    choice: EngineChoice, order: WorkOrder, *, workers: int, rules: RuleSet | None = None
) -> AbstractContextManager[Crew]:
    """The crew, ready to be entered; MissingExtraError where its engine is not installed."""
    if choice.name == RAY:
        from synthesis.engines.ray import RayCrew

        return RayCrew(_absolute(order), workers, choice.ray_address)
    if choice.name == SPARK:
        from synthesis.engines.spark import SparkCrew

        return SparkCrew(_absolute(order), workers, choice.master)
    from synthesis.engines.local import LocalCrew

    return LocalCrew(order, workers, rules)


def _absolute(order: WorkOrder) -> WorkOrder:
    """The order with paths that mean the same wherever a worker stands."""
    return msgspec.structs.replace(
        order,
        parts=os.path.abspath(order.parts),
        table=os.path.abspath(order.table) if order.table else "",
        schema=os.path.abspath(order.schema) if order.schema else "",
        folders=tuple(str(Path(folder).absolute()) for folder in order.folders),
    )
