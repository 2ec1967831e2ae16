"""What a writer of rules may study: single rows and single rules, of rows that are labelled `read` and of no others."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from labelled import Judged

from synthesis.rules.text import UNDETERMINED

SHOWN = 600  # characters of a text

Counts = Counter[tuple[str, str]]  # (language, rule)


def print_errors(task: str, judged: Sequence[Judged], count: int) -> None:
    """As many wrong rows of each kind, spread over the file, with the words that were found in them."""
    for kind, wrong in (("missed", (True, False)), ("false alarm", (False, True))):
        rows = [one for one in judged if one.label == "read" and (one.gold, one.said) == wrong]
        for one in rows[:: max(1, len(rows) // count)][:count]:
            print(f"\n[{task}: {kind}] {one.row['id']}\n  user: {one.row['user'][:SHOWN]}")
            print(f"  reply: {one.row.get('assistant', '')[:SHOWN]}")
            for finding in one.result.findings if one.result else ():
                print(f"    {finding.rule}: {finding.text!r}")


def rule_counts(answers: Iterable[tuple[tuple[str, ...], Sequence[Judged]]]) -> str:
    """JSON: language -> rule -> [rows in which it fired, those where the label agrees]. No texts."""
    fired, right = Counts(), Counts()
    for prefixes, judged in answers:
        for one in judged:
            if one.label == "read":
                for place in _fired(one, prefixes):
                    fired[place] += 1
                    right[place] += one.gold
    table: dict[str, dict[str, list[int]]] = {}
    for language, rule in sorted(fired):
        table.setdefault(language, {})[rule] = [fired[language, rule], right[language, rule]]
    return "{\n" + ",\n".join(f' "{language}": {{\n{_lines(rules)}\n }}' for language, rules in table.items()) + "\n}\n"


def _fired(one: Judged, prefixes: tuple[str, ...]) -> set[tuple[str, str]]:
    result = one.result
    if result is None or not prefixes:
        return set()
    user = result.languages.get("user_language", result.language)
    found = {
        (user if finding.where == "user" else result.language, finding.rule)
        for finding in result.findings
        if finding.rule.startswith(prefixes)
    }
    return {place for place in found if place[0] != UNDETERMINED}


def _lines(rules: Mapping[str, list[int]]) -> str:
    return ",\n".join(f"  {json.dumps(rule)}: {figures}" for rule, figures in rules.items())
