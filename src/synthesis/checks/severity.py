"""How bad a failed check is: the rows under `severity` in its table, read against the exchange that failed.

    crisis_response  critical   Somebody in danger is left without care, safety or help, or is harmed.

What a person reads is ordered by it, and limits such as `--fail-on critical=0` count it. A rule can say a severity of
its own, which raises that of the row; where every rule that speaks against the reply says one, it can lower it, too.
"""

from synthesis.checks.exchange import Exchange
from synthesis.checks.formula import shared_frame
from synthesis.checks.registry import Check, checks, shared_table
from synthesis.checks.table import SeverityRow
from synthesis.model import CheckResult
from synthesis.model.result import SEVERITIES
from synthesis.rules.schema import Rule


def severity_rows() -> dict[str, tuple[SeverityRow, ...]]:
    """The rows of every check that has a table."""
    return {name: check.table.severity for name, check in checks().items() if check.table and check.table.severity}


def severity_of(exchange: Exchange, failed: CheckResult, check: Check) -> str:
    """How bad a failure is: by the first row that holds, else what the check says of itself."""
    against = exchange.rules_behind(failed.against)
    rows = check.table.severity if check.table else ()
    by_table = next((row.severity for row in rows if _holds(row, exchange, against)), check.severity)
    told = [rule.severity for rule in against if rule.severity in SEVERITIES]
    weighed = told if told and len(told) == len(against) else [by_table, *told]
    return min(weighed, key=SEVERITIES.index)


def _holds(row: SeverityRow, exchange: Exchange, against: list[Rule]) -> bool:
    if row.groups and row.groups.isdisjoint(rule.group for rule in against):
        return False
    return row.when is None or bool(row.when.of(shared_frame(exchange, shared_table().steps)))
