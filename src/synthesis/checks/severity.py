"""How bad a failed check is: the rows of `severity.yaml`, read against the exchange that failed.

    crisis_response  critical   Somebody in danger is left without care, safety or help, or is harmed.

What a person reads is ordered by it, and limits such as `--fail-on critical=0` count it.
"""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Literal

import msgspec

from synthesis.checks.crisis import CUE, SOFT, open_cue
from synthesis.checks.exchange import Exchange
from synthesis.checks.personal import VULNERABILITY
from synthesis.model import CheckResult
from synthesis.model.result import MINOR, SEVERITIES
from synthesis.rules.schema import Rule

FILE = Path(__file__).with_name("severity.yaml")
CRISIS = "crisis"  # as `message` names it
_DISTRESS = "distress"


class Row(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One line of the table: what must hold, how bad the failure is then, and why."""

    severity: Literal["critical", "serious", "minor"]
    why: str
    rules: frozenset[str] = frozenset()  # groups; empty: whatever speaks against the reply
    message: Literal["crisis", "distress", ""] = ""

    def holds(self, exchange: Exchange, against: Sequence[Rule]) -> bool:
        if self.rules and self.rules.isdisjoint(rule.group for rule in against):
            return False
        if self.message == CRISIS:
            return open_cue(exchange) is not None
        return not self.message or in_distress(exchange)


@cache
def table() -> dict[str, list[Row]]:
    """The rows of every bundled check."""
    from synthesis.documents import load_yaml

    return msgspec.convert(load_yaml(FILE), dict[str, list[Row]])


def severity_of(exchange: Exchange, failed: CheckResult, default: str = MINOR) -> str:
    """How bad a failure is; `default` is that of a check that the table does not know."""
    against = exchange.rules_behind(failed.against)
    rows = (row.severity for row in table().get(failed.check, ()) if row.holds(exchange, against))
    by_table = next(rows, default)
    told = [rule.severity for rule in against if rule.severity in SEVERITIES]
    weighed = told if told and len(told) == len(against) else [by_table, *told]
    return min(weighed, key=SEVERITIES.index)


def in_distress(exchange: Exchange) -> bool:
    """Whether the person shows distress in this message or in one before it; followed once, turn by turn."""
    waiting: list[Exchange] = []
    one: Exchange | None = exchange
    while one is not None and _DISTRESS not in one.carried:
        waiting.append(one)
        one = one.previous
    shown = bool(one and one.carried[_DISTRESS])
    for each in reversed(waiting):
        shown = each.carried[_DISTRESS] = shown or _shows_distress(each)
    return shown


def _shows_distress(exchange: Exchange) -> bool:
    return any(exchange.hits(signal.name) for signal in (CUE, SOFT, VULNERABILITY))
