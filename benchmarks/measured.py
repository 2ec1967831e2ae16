"""What the package tells its users about itself: counts on scored rows, by check, language and source."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from labelled import QUESTIONS, WITH_SOFT, Judged
from protocol import POSITIVES_FOR_RECALL, SCORED, Confusion

HEAD = """\
# Counts on labelled texts that were only scored, never read, in the profile `traffic`: docs/verdict-quality.md.
# Written by `python benchmarks/quality.py DATA_FOLDER --measured`. A check and a language that are not here
# are tested on our own examples only.
"""
Counted = dict[str, dict[str, dict[str, Confusion]]]  # check, language, source


def write_measured(path: Path, answers: Mapping[tuple[str, str, str], Sequence[Judged]], profile: str) -> None:
    lines = [HEAD.rstrip()]
    for check, languages in sorted(counted(answers, profile).items()):
        lines.append(f"{check}:")
        for language, sources in sorted(languages.items()):
            lines.append(f"  {language}:")
            lines += [f"    - {{source: {name}, {_counts(table)}}}" for name, table in sorted(sources.items())]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def counted(answers: Mapping[tuple[str, str, str], Sequence[Judged]], profile: str) -> Counted:
    """The sources of every check and language that has enough positives in one of them."""
    found: dict[tuple[str, str], dict[str, list[Judged]]] = defaultdict(lambda: defaultdict(list))
    for (family, task, by), judged in answers.items():
        if by == profile and family in QUESTIONS and not task.endswith(WITH_SOFT):
            for one in judged:
                if one.label == SCORED:
                    key = QUESTIONS[family][task].check, str(one.row.get("lang", "en"))
                    name = task if one.source in ("", task) else f"{task} {one.source}"
                    found[key][name].append(one)
    counts: Counted = defaultdict(dict)
    for (check, language), sources in found.items():
        tables = {name: Confusion.of((one.gold, one.said) for one in rows) for name, rows in sources.items()}
        if any(table.positives >= POSITIVES_FOR_RECALL for table in tables.values()):
            counts[check][language] = tables
    return counts


def _counts(table: Confusion) -> str:
    negatives = table.false_positive + table.true_negative
    return (
        f"positives: {table.positives}, found: {table.true_positive}, "
        f"negatives: {negatives}, alarms: {table.false_positive}"
    )
