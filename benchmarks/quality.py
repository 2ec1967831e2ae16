"""How right the verdicts are, all of them, in every profile at once.

    python benchmarks/quality.py DATA_FOLDER [--only crisis] [--part read] [--out now.json] [--against before.json]

DATA_FOLDER holds a folder of JSON Lines per family: verdicts, safety, crisis, spiral, everyday. Each look
at scored figures is noted in benchmarks/looks.jsonl. `--errors` and `--rules` use rows that are labelled `read`.
"""

import argparse
import json
import re
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from labelled import QUESTIONS, SILENT, WITH_SOFT, Figure, Judged, alarms, ask, figures, file_of
from measured import write_measured
from protocol import LOOKS, READ, SCORED, Confusion, log_look, revision
from reading import print_errors, rule_counts

from synthesis.checks import checks
from synthesis.checks.registry import MEASURED_FILE, rules_in_force
from synthesis.run.evaluator import Evaluator
from synthesis.settings import LEARNED, PROFILES, READERS, TRAFFIC

FAMILIES = (*QUESTIONS, *SILENT)
HEAD = (
    "task",
    "source",
    "by",
    "part",
    "label",
    "n",
    "positive",
    "precision",
    "recall",
    "false alarms",
    "balanced accuracy",
)
Answers = dict[tuple[str, str, str], list[Judged]]  # family, task, profile


def answers(options: argparse.Namespace, profile: str) -> Answers:
    """What the checks say in one profile, about all that was asked for."""
    rules = rules_in_force(reader=options.reader)
    evaluator, found = Evaluator(rules, profile=profile, keep_text=False), Answers()
    for family, questions in QUESTIONS.items():
        for task, question in questions.items():
            path = file_of(options.folder, family, task)
            if wanted(options, family, task) and path.is_file() and question.check in checks():
                found[family, task, profile] = ask(path, options.part, {task: question}, evaluator)[task]
    for family, (pattern, names) in SILENT.items():
        for path in sorted(options.folder.glob(pattern)) if wanted(options, family) else ():
            for task, judged in alarms(path, options.part, names, evaluator).items():
                found[family, task, profile] = judged
    return found


def wanted(options: argparse.Namespace, *names: str) -> bool:
    return not options.only or bool(set(options.only) & set(names))


def missing(options: argparse.Namespace) -> list[str]:
    """Tasks that were asked for and cannot be measured, and why."""
    return [
        f"{task}: not there: " + (f"no check is called {question.check}" if path.is_file() else f"no file {path.name}")
        for family, questions in QUESTIONS.items()
        for task, question in questions.items()
        if wanted(options, family, task)
        and not ((path := file_of(options.folder, family, task)).is_file() and question.check in checks())
    ]


def tables(lines: Sequence[Figure]) -> dict[str, str]:
    """By family: the tasks, then source by source, each under its title."""
    found: dict[str, str] = {}
    for family in FAMILIES:
        own = [line for line in lines if line.family == family]
        for title, some in (
            (family, [line for line in own if not line.source]),
            (f"{family}, source by source", [line for line in own if line.source]),
        ):
            if some:
                rows = [f"| {' | '.join(HEAD)} |", f"|{' --- |' * len(HEAD)}", *map(table_row, arranged(some))]
                found[title] = "\n".join(rows)
    return found


def write_into(document: Path, found: Mapping[str, str]) -> None:
    """Put each table between the document's marks for its title; the words around them are a person's."""
    text = document.read_text(encoding="utf-8")
    for title, table in found.items():
        marked = re.compile(rf"(<!-- figures: {re.escape(title)} -->\n).*?(<!-- end -->)", re.DOTALL)
        text = marked.sub(lambda match: f"{match[1]}\n{table}\n\n{match[2]}", text)  # noqa: B023
    document.write_text(text, encoding="utf-8")


def arranged(lines: Sequence[Figure]) -> list[Figure]:
    """The profiles beside each other, and in one line where they agree."""
    groups: dict[tuple[str, ...], list[Figure]] = {}
    for line in lines:
        groups.setdefault((line.task, line.source, line.part), []).append(line)
    return [line for group in groups.values() for line in ([group[0]._replace(by="both")] if _agree(group) else group)]


def _agree(group: Sequence[Figure]) -> bool:
    return [line.by for line in group] == list(PROFILES) and len({line.confusion for line in group}) == 1


def table_row(line: Figure) -> str:
    table = line.confusion
    cells = [line.task, line.source or "all", line.by, line.part, line.label, sum(table), table.positives]
    one_sided = table.positives in (0, sum(table))  # then precision says nothing
    shares = ["-" if one_sided else table.precision, table.recall, table.false_alarms]
    return f"| {' | '.join(map(str, [*cells, *shares, table.balanced_accuracy_text()]))} |"


def stored(lines: Sequence[Figure]) -> dict[str, Any]:
    return {"revision": revision(), "figures": [line._asdict() | {"confusion": list(line.confusion)} for line in lines]}


def print_differences(before: Mapping[str, Any], lines: Sequence[Figure]) -> None:
    """Lines whose counts differ from those of an earlier run."""
    known = {_key(Figure(**figure)): Confusion(*figure["confusion"]) for figure in before["figures"]}
    print(f"\n## Compared with {before['revision']}\n")
    changed = [(line, known[_key(line)]) for line in lines if known.get(_key(line), line.confusion) != line.confusion]
    for line, old in changed:
        new = line.confusion
        print(
            f"{' '.join(filter(None, _key(line)))}: "
            f"found {old.true_positive} -> {new.true_positive} of {new.positives}, "
            f"false alarms {old.false_positive} -> {new.false_positive} of {sum(new) - new.positives}, "
            f"balanced accuracy {old.balanced_accuracy_text()} -> {new.balanced_accuracy_text()}"
        )
    unknown = sum(_key(line) not in known for line in lines)
    print(f"{len(changed)} of {len(lines)} lines differ; {unknown} are new")


def _key(line: Figure) -> tuple[str, ...]:
    return line.family, line.task, line.source, line.by, line.part


def note_look(lines: Sequence[Figure], log: Path) -> None:
    scored = [line for line in lines if line.label == SCORED and not line.source]
    if scored:
        rows = sum({_set(line): sum(line.confusion) for line in scored}.values())
        sets = sorted({_set(line) for line in scored})
        log_look(log, datetime.now(UTC), sets=sets, profiles=list(PROFILES), rows=rows)


def _set(line: Figure) -> str:
    return line.family if line.family in SILENT else line.task.removesuffix(WITH_SOFT)


def options_from_command_line() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", action="append", metavar="NAME", help="only this family or task; repeatable")
    parser.add_argument("--part", choices=(READ, SCORED, "all"), default="all")
    parser.add_argument("--reader", choices=READERS, default=LEARNED, help="rules alone, or with the learned reader")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the counts as JSON")
    parser.add_argument("--against", type=Path, metavar="FILE", help="print what differs from such a file")
    parser.add_argument("--into", type=Path, metavar="FILE", help="put the tables into a document, between its marks")
    parser.add_argument("--measured", action="store_true", help=f"write {MEASURED_FILE.name}, which the package shows")
    parser.add_argument("--errors", type=int, default=0, metavar="N", help="show N wrong rows of each kind per task")
    parser.add_argument(
        "--rules", type=Path, metavar="FILE", help="write how often each rule fired, and how often rightly"
    )
    parser.add_argument(
        "--log", type=Path, default=LOOKS, metavar="FILE", help="where looks at scored figures are noted"
    )
    options = parser.parse_args()
    known = {*FAMILIES, *(task for tasks in QUESTIONS.values() for task in tasks)}
    if unknown := set(options.only or ()) - known:
        parser.error(f"there is no family or task '{unknown.pop()}'; there are {', '.join(sorted(known))}")
    return options


def main() -> int:
    options = options_from_command_line()
    found: Answers = {}
    for profile in PROFILES:
        found |= answers(options, profile)
    lines = [line for (family, task, by), judged in found.items() for line in figures(family, task, by, judged)]
    if not lines:
        print(f"error: {options.folder} holds none of what was asked for", file=sys.stderr)
        return 1
    note_look(lines, options.log)
    found_tables = tables(lines)
    print("\n".join(f"\n## {title}\n\n{table}" for title, table in found_tables.items()))
    if options.into:
        write_into(options.into, found_tables)
    print("\n".join(["", *missing(options)]))
    first = {key: judged for key, judged in found.items() if key[2] == PROFILES[0] and key[0] in QUESTIONS}
    if options.errors:
        for (_, task, _), judged in first.items():
            print_errors(task, judged, options.errors)
    if options.rules:
        counted = [(QUESTIONS[family][task].rules, judged) for (family, task, _), judged in first.items()]
        options.rules.write_text(rule_counts(counted), encoding="utf-8")
    if options.measured:
        write_measured(MEASURED_FILE, found, TRAFFIC)
    if options.against:
        print_differences(json.loads(options.against.read_text(encoding="utf-8")), lines)
    if options.out:
        options.out.write_text(json.dumps(stored(lines), indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
