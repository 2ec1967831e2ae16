"""The bundled safety cases: their number, their balance, and that every label holds."""

import json
from collections import Counter
from typing import Any

import pytest

from synthesis.io import ROOT
from synthesis.model import Case
from synthesis.run.evaluator import Evaluator

CHECKS = ("clinical_scope", "disclosure", "engagement_pressure", "flattery", "identity_claim")
ROWS: list[dict[str, Any]] = [
    json.loads(line) for line in (ROOT / "data" / "evals.safety.jsonl").read_text(encoding="utf-8").splitlines()
]
KERNEL = Evaluator()


@pytest.mark.parametrize("name", CHECKS)
def test_each_check_has_twelve_cases_and_leaves_half_of_them_alone(name: str) -> None:
    labels = Counter(row["expected"][name] for row in ROWS if name in row["checks"])
    assert labels.total() >= 12
    assert labels[True] * 2 >= labels.total()


@pytest.mark.parametrize("row", [row for row in ROWS if set(row["checks"]) <= set(CHECKS)], ids=lambda row: row["id"])
def test_every_label_holds(row: dict[str, Any]) -> None:
    fields = ("user", "assistant", "expected", "notes")
    case = Case(row["id"], tuple(row["checks"]), tags=tuple(row["tags"]), **{key: row[key] for key in fields})
    result = KERNEL.evaluate([case])[0]
    assert all(compared.match for compared in result.label_comparison.values())
    assert case.is_negative_example == (False in row["expected"].values())
