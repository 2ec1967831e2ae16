"""Drift within conversations, without what would tell about fewer than five of them."""

from collections.abc import Mapping
from typing import Any

from synthesis.audit.cells import hidden_counts
from synthesis.audit.options import LEAST_IN_CELL, AuditOptions

_PARTS = ("worse", "better", "same")


def shown_drift(drift: Mapping[str, Any] | None, hidden: set[str], options: AuditOptions) -> dict[str, Any] | None:
    """The drift of each check; means of few conversations, or of few hits (`hidden`), would tell as much as a count."""
    if drift is None or options.all_cells:
        return dict(drift) if drift else None
    return {**drift, "by_check": {name: _shown(found, name in hidden) for name, found in drift["by_check"].items()}}


def _shown(found: Mapping[str, Any], has_few_hits: bool) -> dict[str, Any]:
    short = found["too_short"]
    shown = {**found, "too_short": None if 0 < short < LEAST_IN_CELL else short}
    is_small = has_few_hits or hidden_counts([{name: found[name] for name in _PARTS}])
    if not found["usable"] or not is_small:
        return shown
    is_few = found["usable"] < LEAST_IN_CELL
    return {"hidden": True, "usable": None if is_few else found["usable"], "verdict": found["verdict"]}
