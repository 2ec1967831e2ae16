"""How far a verdict can be trusted: measured on labelled texts that nobody read, or tried on own examples alone.

`measured.yaml` holds counts by check, language and source; `benchmarks/quality.py --measured` writes it. A source with
fewer positives than the protocol asks for is not in it.
"""

from functools import cache
from pathlib import Path

import msgspec

FILE = Path(__file__).with_name("measured.yaml")
MEASURED, EXAMPLES = "measured", "examples"


class Counts(msgspec.Struct, frozen=True):
    """What a check said about the labelled texts of one source."""

    source: str
    positives: int
    found: int
    negatives: int
    alarms: int


@cache
def measured() -> dict[str, dict[str, list[Counts]]]:
    """Counts by check and language."""
    import yaml

    return msgspec.convert(yaml.safe_load(FILE.read_text(encoding="utf-8")), dict[str, dict[str, list[Counts]]])


def measured_languages() -> dict[str, list[str]]:
    """The languages in which each check was measured."""
    return {check: sorted(languages) for check, languages in sorted(measured().items())}


def evidence_level(check: str, language: str) -> str:
    return MEASURED if language in measured().get(check, {}) else EXAMPLES
