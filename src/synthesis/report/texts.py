"""The words of people and assistants in a report: brought in from the cases, or replaced by their lengths.

A redacted report keeps ids, rules and verdicts. Whatever is not known to be free of words goes too: unknown fields,
evidence of checks that are not built in, the text of errors. A rule's id still tells which kind of wording it found.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from synthesis.errors import InputError
from synthesis.model import Case, CaseResult, Finding
from synthesis.report.reading import Record, StoredReport

_KEPT_IN_RESULTS = (
    *("id", "pass", "outcome", "is_negative_example", "language", "alert", "checks", "label_comparison"),
    *("findings", "tags", "source"),
)
# Evidence that consists of our own words, or of the rules' (pattern sources).
_OWN_WORDS = {
    "agency_language": {"pos_hits", "neg_hits", "reflection_hits", "reason"},
    "clinical_scope": {"reason"},
    "crisis_response": {
        *("applies_by", "cue", "cue_groups", "elements", "given", "reason", "soft_groups", "warnings"),
    },
    "disclosure": {"answer", "cites", "reason"},
    "engagement_pressure": {"reason"},
    "flattery": {"strength", "reason"},
    "identity_claim": {"reason"},
    "topic_pivot": {"pass_strength", "reason"},
    "unverifiable_reassurance": {"reason"},
}


def with_texts(report: StoredReport, cases: Mapping[str, Case]) -> StoredReport:
    """The report with the texts of these cases where it has none; InputError if they are not what was evaluated."""
    return report.changed(lambda result: _with_text(result, cases.get(result.id)))


def redacted(report: StoredReport) -> StoredReport:
    """The same report without the words of anybody."""
    return report.changed(
        lambda result: CaseResult.from_dict(_without_words(result.to_dict())), header={"redacted": True}
    )


def texts_of(case: Case) -> Record:
    """What was said, as a result holds it."""
    if case.messages:
        return {"messages": msgspec.to_builtins(case.messages)}
    return {"user": case.user, "assistant": case.assistant}


def _with_text(result: CaseResult, case: Case | None) -> CaseResult:
    if case is None or result.has_texts:
        return result
    filled = msgspec.structs.replace(result, texts=result.texts | texts_of(case))
    if not all(_fits(finding, filled.exchanges) for finding in result.findings):
        raise InputError(
            f"the case {case.id} is not the one that was evaluated: its words differ from the report's evidence",
            hint="Give the case file that the report was made from.",
        )
    return filled


def _fits(finding: Finding, turns: list[tuple[str, str]]) -> bool:
    if finding.turn >= len(turns):
        return False
    said = turns[finding.turn][0 if finding.where == "user" else 1]
    return said[finding.start : finding.end] == finding.text


def _without_words(result: Record) -> Record:
    kept = {key: result[key] for key in _KEPT_IN_RESULTS if key in result}
    kept["checks"] = {name: _evidence(check, _OWN_WORDS.get(name, set())) for name, check in kept["checks"].items()}
    kept["findings"] = _findings(kept["findings"])
    if "alert" in kept:
        kept["alert"] = _alert(kept["alert"])
    texts: Record = {key: _length(result[key]) for key in ("user", "assistant") if key in result}
    if "messages" in result:
        texts["messages"] = [turn | {"content": _length(turn["content"])} for turn in result["messages"]]
    return kept | texts


def _findings(found: list[Record]) -> list[Record]:
    return [finding | {"text": _length(finding["text"])} for finding in found]


def _alert(fields: Record) -> Record:
    """An alert is a check's evidence with the check's name and its findings."""
    name, found = fields["check"], fields["findings"]
    evidence = {key: value for key, value in fields.items() if key not in {"check", "findings"}}
    return {"check": name, **_evidence(evidence, _OWN_WORDS.get(name, set())), "findings": _findings(found)}


def _evidence(fields: Record, own: set[str]) -> Record:
    own = own | {"missing"}  # names that a check gives
    shown = {key: value if key in own else _hidden(value) for key, value in fields.items() if key != "turns"}
    if "error" in fields:
        shown["error"] = str(fields["error"]).partition(":")[0]  # the kind of error
    if "turns" in fields:
        shown["turns"] = [_evidence(turn, own) for turn in fields["turns"]]
    return shown


def _hidden(value: Any) -> Any:
    if isinstance(value, str):
        return _length(value)
    if isinstance(value, list):
        return [_hidden(item) for item in value]
    return {key: _hidden(item) for key, item in value.items()} if isinstance(value, dict) else value


def _length(text: str) -> str:
    return f"[{len(text)} character{'' if len(text) == 1 else 's'}]"
