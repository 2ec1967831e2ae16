"""The table of accuracy in the readme and its translations: none of them can drift from what was measured.

The counts are those that the package itself shows, from `measured.yaml`. Checks and languages without any follow in the
same table. A row holds no words of any language but what its readme writes into the mark above the table, such as
`<!-- measured: no held-out accuracy yet -->`.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from synthesis.checks import checks
from synthesis.checks.registry import Counts, measured
from synthesis.rules.ruleset import bundled_languages

ROOT = Path(__file__).parent.parent
NO_BREAK = "\u00a0"
TABLE = re.compile(r"(<!-- measured: ([^\n]+?) -->\n(?:\|[^\n]*\n){2}).*?(<!-- end -->)", re.DOTALL)


def readmes() -> list[Path]:
    return sorted(ROOT.glob("README*.md"))


def with_figures(text: str) -> str:
    """A readme with the rows of today below the two header lines of its table."""
    found, count = TABLE.subn(lambda match: match[1] + _lines(match[2]) + match[3], text)
    if count != 1:
        raise ValueError(f"one table between <!-- measured: WORDS --> and <!-- end --> was expected, not {count}")
    return found


def _lines(words: str) -> str:
    return "".join(f"{row}\n" for row in [*measured_rows(), *unmeasured_rows(words)])


def measured_rows() -> Iterator[str]:
    for check, languages in sorted(measured().items()):
        for language, sources in sorted(languages.items()):
            yield _row(check, language, _sum(sources))


def unmeasured_rows(words: str) -> Iterator[str]:
    """One row for the checks that lack the same languages."""
    lacking = defaultdict(list)
    for check in sorted(checks()):
        languages = ", ".join(sorted(set(bundled_languages()) - measured().get(check, {}).keys()))
        lacking[languages].append(f"`{check}`")
    for languages, names in lacking.items():
        if languages:
            yield f"| {', '.join(names)} | {languages} | {words} | | | |"


def _sum(sources: list[Counts]) -> Counts:
    counts = [(one.positives, one.found, one.negatives, one.alarms) for one in sources]
    return Counts("", *(sum(column) for column in zip(*counts, strict=True)))


def _row(name: str, language: str, counts: Counts) -> str:
    found = _share(counts.found, counts.positives)
    return f"| `{name}` | {language} | {found} | {_share(counts.alarms, counts.negatives)} |"


def _share(part: int, whole: int) -> str:
    """Its spaces do not break, so that a phone shows a figure in one line."""
    shown = f"{part}_/_{whole} | {100 * part / whole:.0f}_%" if whole else "- | -"
    return shown.replace("_", NO_BREAK)
