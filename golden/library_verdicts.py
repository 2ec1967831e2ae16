"""Print what the library's functions say of the bundled cases."""

import json
from typing import Any

import synthesis
from synthesis import CheckResult, Report

REPLY_FIRST = ("agency", "clinical", "flattery", "identity", "pressure")
MESSAGE_FIRST = ("crisis", "disclosure", "pivot")


def verdict(result: CheckResult) -> str:
    fields = (result.check, result.passed, result.applicable, result.reason, result.error, result.missing)
    found = [(finding.rule, finding.start, finding.end, finding.text) for finding in result.findings]
    return json.dumps([*fields, result.evidence, found], ensure_ascii=False, default=str)


def written(report: Report) -> str:
    synthesis.write_report(report, "library.json")
    with open("library.json", encoding="utf-8") as file:
        return file.read()


def say_of(user: str, assistant: str) -> None:
    for name in REPLY_FIRST:
        print(verdict(getattr(synthesis, f"check_{name}")(assistant, user=user)))
    for name in MESSAGE_FIRST:
        print(verdict(getattr(synthesis, f"check_{name}")(user, assistant)))
    print(verdict(synthesis.check_reassurance(assistant)))


cases: list[Any] = synthesis.load_cases("data/evals.jsonl")
for case in cases:
    say_of(case.user, case.assistant)
print(written(synthesis.run_all_cases(cases)))
print(json.dumps(synthesis.evaluate(cases[0].user, cases[0].assistant).to_dict(), ensure_ascii=False))
spoken = [{"role": "user", "content": cases[1].user}, {"role": "assistant", "content": cases[1].assistant}]
print(json.dumps(synthesis.evaluate_conversation(spoken).to_dict(), ensure_ascii=False))
print(written(synthesis.evaluate_files("data/evals.safety.jsonl")))
print(synthesis.validate_case({"id": "x"}))
