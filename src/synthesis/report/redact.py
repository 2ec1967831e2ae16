"""A report to share: what people and assistants said is replaced by its length; ids, rules and verdicts stay.

Whatever is not known to be free of their words goes too: unknown fields, evidence of checks that are not built in,
the text of errors. A rule's id still tells which kind of wording it found.
"""

from typing import Any

from synthesis.report.reading import Record, StoredReport

_KEPT_IN_RESULTS = (
    *("id", "pass", "outcome", "is_negative_example", "language", "checks", "label_comparison"),
    *("findings", "tags", "source"),
)
# Evidence that consists of our own words, or of the rules' (pattern sources).
_OWN_WORDS = {
    "agency_language": {"pos_hits", "neg_hits", "reflection_hits", "reason"},
    "clinical_scope": {"reason"},
    "crisis_response": {"elements", "reason"},
    "engagement_pressure": {"reason"},
    "identity_claim": {"reason"},
    "topic_pivot": {"pass_strength", "reason"},
    "unverifiable_reassurance": {"reason"},
}
_IN_FAILURES = {"neg_hits", "elements"}


def redacted(report: StoredReport) -> StoredReport:
    """The same report without the words of anybody."""
    return report.changed(_result, _failure, {"redacted": True})


def _result(result: Record) -> Record:
    kept = {key: result[key] for key in _KEPT_IN_RESULTS if key in result}
    kept["checks"] = {name: _evidence(check, _OWN_WORDS.get(name, set())) for name, check in kept["checks"].items()}
    kept["findings"] = [finding | {"text": _length(finding["text"])} for finding in kept["findings"]]
    texts: Record = {key: _length(result[key]) for key in ("user", "assistant") if key in result}
    if "messages" in result:
        texts["messages"] = [turn | {"content": _length(turn["content"])} for turn in result["messages"]]
    return kept | texts


def _failure(failure: Record) -> Record:
    return failure | {"evidence": _evidence(failure["evidence"], _IN_FAILURES)}


def _evidence(fields: Record, own: set[str]) -> Record:
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
