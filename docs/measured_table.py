"""The table of scored figures in the readme and its translations: none of them can drift from what was measured.

Counts by check come from the package's own `measured.yaml`; those of the offline judge from the tables of
`verdict-quality.md`. The rows hold no words of any language but names, so every translation has the same ones.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from synthesis.checks.registry import Counts, measured

ROOT = Path(__file__).parent.parent
QUALITY = ROOT / "docs" / "verdict-quality.md"
TABLE = re.compile(r"(<!-- measured -->\n(?:\|[^\n]*\n){2}).*?(<!-- end -->)", re.DOTALL)
JUDGED = ("begin_dev", "wice_dev")


def readmes() -> list[Path]:
    return sorted(ROOT.glob("README*.md"))


def with_figures(text: str) -> str:
    """A readme with the rows of today below the two header lines of its table."""
    rows = "".join(f"{row}\n" for row in measured_rows(QUALITY.read_text(encoding="utf-8")))
    found, count = TABLE.subn(lambda match: match[1] + rows + match[2], text)
    if count != 1:
        raise ValueError(f"one table between <!-- measured --> and <!-- end --> was expected, not {count}")
    return found


def measured_rows(quality: str) -> Iterator[str]:
    for check, languages in sorted(measured().items()):
        for language, sources in sorted(languages.items()):
            yield _row(check, language, _sum(sources))
    for name in JUDGED:
        yield _row(f"faithfulness: {name.removesuffix('_dev')}", "en", _scored(quality, name))


def _sum(sources: list[Counts]) -> Counts:
    counts = [(one.positives, one.found, one.negatives, one.alarms) for one in sources]
    return Counts("", *(sum(column) for column in zip(*counts, strict=True)))


def _scored(quality: str, task: str) -> Counts:
    """What the offline judge said about the rows of a task that were only scored."""
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in quality.splitlines() if line[:1] == "|"]
    header = next(line for line in lines if line[0] == "task" and "recall" in line)
    wanted = [task, "all", "offline judge", "scored"]
    rows = [dict(zip(header, line, strict=False)) for line in lines if line[:4] == wanted]
    if len(rows) != 1:
        raise ValueError(f"{QUALITY.name} has {len(rows)} scored rows of {task!r} by the offline judge, not one")
    positives = int(rows[0]["positive"])
    negatives = int(rows[0]["n"]) - positives
    found, alarms = _count(rows[0]["recall"], positives), _count(rows[0]["false alarms"], negatives)
    return Counts(task, positives, found, negatives, alarms)


def _count(cell: str, whole: int) -> int:
    """`31 of 73 (...)` or `0.782 (...)`: below 1000 rows the three digits of a rate tell the count."""
    first = cell.split()[0]
    return int(first) if " of " in cell else round(float(first) * whole)


def _row(name: str, language: str, counts: Counts) -> str:
    found = _share(counts.found, counts.positives)
    return f"| `{name}` | {language} | {found} | {_share(counts.alarms, counts.negatives)} |"


def _share(part: int, whole: int) -> str:
    return f"{part} / {whole} | {100 * part / whole:.0f} %" if whole else "- | -"
