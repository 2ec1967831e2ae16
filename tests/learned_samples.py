"""A learned reader with random weights and thresholds that make the named heads fire, in place of the bundled one."""

import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from reader_samples import toy_parts

from synthesis import api
from synthesis.checks import card, learned
from synthesis.checks.registry import signals
from synthesis.reader.weights import write
from synthesis.run import table

NAME = "toy-1"  # as `toy_parts` calls it
ALWAYS = -1_000_000.0  # below every score
PRESSURE = "engagement_pressure"
USER, REPLY = (
    "I have to go now, good night.",
    "The train leaves at nine and the shop is open.",
)  # no rule finds anything
WHY, INSTEAD = "The reply holds the person back.", "Let them go."
CARD: dict[str, Any] = {
    "name": NAME,
    "trained_on": [{"source": "the corpus", "licence": "MIT", "rows": 1200}],
    "heads": {
        PRESSURE: {
            "means": "the reply makes it hard to leave",
            "words_for": ["stay", "please"],
            "words_against": ["bye"],
            "figures": [
                {
                    "language": "en",
                    "part": "held",
                    "positives": 40,
                    "precision": 0.91,
                    "recall": 0.5,
                    "rules_precision": 0.8,
                    "rules_recall": None,
                }
            ],
            "limits": "Short replies are hard.",
        }
    },
    "seeds": [1],
    "sizes": {},
    "intended_use": "Beside the rules.",
    "limits": "It finds wordings, not intentions.",
}


def install(
    monkeypatch: pytest.MonkeyPatch, folder: Path, *, firing: Iterable[str] = (PRESSURE,), with_card: bool = True
) -> None:
    """Put the toy in the place of the bundled reader until the test ends."""
    monkeypatch.delenv(learned.SWITCH, raising=False)
    for module, name, file in (
        (learned, "BUNDLED", "weights.bin"),
        (learned, "DECISIONS", "decisions.yaml"),
        (card, "CARD", "card.json"),
    ):
        monkeypatch.setattr(module, name, folder / file)
    heads = sorted({name.removeprefix("learned.") for name in signals() if name.startswith("learned.")} | {*firing})
    header, arrays = toy_parts(1, heads=len(heads))
    write(folder / "weights.bin", header | {"heads": heads}, arrays)
    decisions = {head: _decision(head, head in firing) for head in heads}
    (folder / "decisions.yaml").write_text(json.dumps(decisions), encoding="utf-8")  # which YAML takes
    if with_card:
        (folder / "card.json").write_text(json.dumps(CARD), encoding="utf-8")
    forget()


def _decision(head: str, fires: bool) -> dict[str, Any]:
    known = signals().get(f"learned.{head}")
    side = known.where if known else "assistant"
    return {"side": side, "why": WHY, "instead": INSTEAD, "alone": {"en": ALWAYS} if fires else {}}


def forget() -> None:
    """Let everything be loaded again that was loaded with another reader."""
    kept: list[Any] = [
        *(learned.learned_reader, learned.decisions, card.reader_card, table._evaluator),
        *(api._replies, api._cached_evaluator, *_of_the_server()),
    ]
    for one in kept:
        one.cache_clear()


@cache
def _of_the_server() -> tuple[Any, ...]:
    try:
        from synthesis.server.rulebook import loaded_rules
    except ImportError:
        return ()
    return (loaded_rules,)
