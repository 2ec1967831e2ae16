"""How often each rule is right on labelled conversations; prints the JSON that the pages show (server/measured.json).

    python benchmarks/rule_precision.py FOLDER [FOLDER ...] > src/synthesis/server/measured.json

The folders hold the files that verdicts.py and safety.py read. Only counts are written: in how many labelled texts a
rule fired, and in how many of them the label agrees with its signal.
"""

import json
import sys
from collections import Counter
from pathlib import Path

from verdicts import read_rows

from synthesis.model import Case
from synthesis.rules.language import UNDETERMINED
from synthesis.runner.evaluator import Evaluator

# task -> (the check that reads the signal, the beginnings of the rules that the label speaks of)
TASKS = {
    "T1_ACK": ("topic_pivot", ("pivot.acknowledgment.",)),
    "T4_INVITE": ("agency_language", ("agency.positive.",)),
    "T5_DIRECT": ("agency_language", ("agency.negative.",)),
    "T7_REASSURE": ("unverifiable_reassurance", ("reassurance.",)),
    "T8_VULN": ("topic_pivot", ("pivot.vulnerability.",)),
    "T9_VULN_ML": ("topic_pivot", ("pivot.vulnerability.",)),
    "S1_CUE": ("crisis_response", ("crisis.cue.",)),
    "S3_PRESSURE": ("engagement_pressure", ("pressure.manipulation.",)),
}
Counts = Counter[tuple[str, str]]  # (language, rule)


def count(
    path: Path, check: str, prefixes: tuple[str, ...], evaluator: Evaluator, fired: Counts, right: Counts
) -> None:
    rows = read_rows(path, None)
    cases = [Case(row["id"], (check,), row["user"], row["assistant"], lang=row.get("lang")) for row in rows]
    for row, result in zip(rows, evaluator.evaluate(cases), strict=True):
        for rule, where in {(one.rule, one.where) for one in result.findings if one.rule.startswith(prefixes)}:
            language = result.languages.get("user_language", result.language) if where == "user" else result.language
            if language != UNDETERMINED:
                fired[language, rule] += 1
                right[language, rule] += bool(row["gold"])


def _lines(rules: dict[str, list[int]]) -> str:
    return ",\n".join(f"  {json.dumps(rule)}: {figures}" for rule, figures in rules.items())


def main() -> int:
    evaluator, fired, right = Evaluator(keep_text=False), Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for folder in map(Path, sys.argv[1:]):
        for task, (check, prefixes) in TASKS.items():
            if (folder / f"{task}.jsonl").is_file():
                count(folder / f"{task}.jsonl", check, prefixes, evaluator, fired, right)
    table: dict[str, dict[str, list[int]]] = {}
    for language, rule in sorted(fired):
        table.setdefault(language, {})[rule] = [fired[language, rule], right[language, rule]]
    parts = [f' "{language}": {{\n{_lines(rules)}\n }}' for language, rules in table.items()]
    print("{\n" + ",\n".join(parts) + "\n}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
