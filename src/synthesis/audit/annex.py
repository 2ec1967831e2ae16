"""What an audit rests on: words, method, known errors, people, signatures, and its appendices."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from synthesis.audit.counting import ALL
from synthesis.audit.document import TITLES, worst_first
from synthesis.audit.parts import ELSEWHERE, OPTIONS, Document, Part, Table, counted, rate_words
from synthesis.checks.registry import Counts, checks, signals
from synthesis.checks.severity import severity_rows
from synthesis.model.report import reader_name
from synthesis.report.findings import count, evidence_sentence, visible
from synthesis.settings import RULES
from synthesis.stats import exact_interval

# Words, method, errors, people, signatures.


_WORDS = (
    ("turn", "what the user said, and the reply to it"),
    ("conversation", "one or more turns that the log holds together"),
    ("assessed", "a check applied to the reply; otherwise it says why not, and the reply is in no rate of that check"),
    ("hit", "a reply that fails a check, or a message that contains a cue"),
)


def definitions(document: Document) -> Iterator[Part]:
    yield Table(("word", "means"), (*_WORDS, *_signal_words()))
    known = checks()
    used = [each["measure"] for each in worst_first(document["checks"])]
    rows = tuple((name, known[name].title if name in known else TITLES[name]) for name in used)
    yield Table(("check", "asks"), rows, caption="What each check asks")
    graded = tuple((name, row.severity, row.why) for name in used for row in severity_rows().get(name, ()))
    yield Table(
        ("check", "a failure is", "because"), graded, caption="How bad a failure is; the first line that holds decides"
    )


def _signal_words() -> Iterator[tuple[str, str]]:
    known = signals()
    for word, name in (("explicit cue", "crisis.cue"), ("soft cue", "crisis.soft"), ("care", "crisis.care")):
        yield word, known[name].title
    yield "safety", f"{known['crisis.question'].title}, or {known['crisis.step'].title}"
    yield "help", known["crisis.help"].title
    yield "referral", "help that names a crisis line or its number; a place or a person is help, but not a referral"


def method(document: Document) -> Iterator[str]:
    languages = ", ".join(document["rules"].get("languages", ()))
    yield (
        f"{document['rules']['count']:,} rules{f' in {languages}' if languages else ''} look for wordings; each check "
        "decides by what they found. No model is asked, and the same text always gets the same verdict."
    )
    if (name := reader_name(document)) != RULES:
        yield (
            f"Beside the rules a learned reader ({name}) scores each exchange with fixed weights, offline and with the "
            "same result on every machine. It can decide alone, and where it disagrees, rules that are often wrong do "
            "not count. `synthesis reader show` says what it was trained on and how often it errs."
        )
    yield (
        "A rate is per turn. Turns of one conversation resemble each other, so its interval (Wilson, 95 %) is computed "
        "for as many independent turns as they are worth (Kish's design effect). Shares of the funnel are per "
        "conversation."
    )
    yield (
        "Intervals cover chance only: as many other conversations of the same kind would give another figure. They do "
        "not cover what the rules miss or find wrongly."
    )
    yield "A difference between two audits has Newcombe's 95 % interval of two independent rates."
    yield (
        "Counts below five are hidden, with as many others as it takes so that totals do not reveal them."
        if not document["options"]["all_cells"]
        else "All counts are shown, also those below five: this document may identify individuals."
    )


# What the labelled texts are that `measured.yaml` names.
_SOURCES = {
    "C1_CHAT": "messages to chat assistants, labelled by a model",
    "C2_ES": "Spanish messages, the same key phrases in both classes",
    "C3_PT": "Brazilian Portuguese messages, the same key phrases in both classes",
    "C4_FIGURES": "figures of speech, news and games, all harmless",
    "P1_PRAISE": "replies of a model, labelled by a judge model:",
    "P2_SELF": "replies of a model, labelled by a judge model:",
}


def error_rates(document: Document) -> Iterator[Part]:
    yield (
        "Counts on labelled texts that nobody had read while the rules were written. They are other texts than those "
        "of this audit and do not correct its rates; they show how far a rule may be off."
    )
    found = document["error_rates"]
    rows = tuple(
        (name, language, _source(one["source"]), *_errors(msgspec.convert(one, Counts)))
        for name, by in found.items()
        for language, sources in by.items()
        for one in sources
    )
    if rows:
        yield Table(("check", "language", "measured on", "found", "false alarms"), rows)
    yield evidence_sentence({name: sorted(by) for name, by in found.items()}, found)


def _source(name: str) -> str:
    code, _, rest = name.partition(" ")
    return f"{_SOURCES.get(code, code)} {rest}".strip()


def _errors(one: Counts) -> Iterator[str]:
    for part, whole in ((one.found, one.positives), (one.alarms, one.negatives)):
        yield f"{part:,} of {whole:,}: {rate_words(part / whole, exact_interval(part, whole))}" if whole else "-"


def checked_by_people(document: Document) -> Iterator[Part]:
    if "own_labels" in document:
        yield from _own_labels(document["own_labels"])
    else:
        yield (
            "Nobody has labelled a sample of these conversations: the true rates, and how many of the alarms are "
            "right, are unknown. --sample draws one, --labels brings the labels back."
        )
    if "sample" in document:
        sample = document["sample"]
        drawn = count(sample["asked_for"], "conversation")
        yield f"Drawn for labelling: {drawn}, equally from each stratum, seed {sample['seed']}."
        yield counted(sample["strata"], "Conversations in each stratum")


def _own_labels(labels: Mapping[str, Any]) -> Iterator[Part]:
    yield labels["sentence"]
    if labels["warning"]:
        yield labels["warning"]
    keys = ("check", "labels", "agreement", "rate", "precision", "recall")
    rows = tuple(tuple(str(each[key]) for key in keys) for each in labels["checks"])
    if rows:
        yield Table(keys, rows, frozenset({1}))
        asked = tuple((each["check"], each["question"]) for each in labels["checks"])
        yield Table(
            ("check", "question"), asked, caption="Questions to the people who labelled; the rate is the share of Yes"
        )


_EMPTY_LINES = 2


def sign_off(document: Document) -> Iterator[Part]:
    given = document["options"]["cover"]["signatures"]
    yield (
        "I have read this document. To my knowledge the log that it was made from is as described under “Completeness "
        f"of the log”. The document that I sign has the SHA-256 {document['sha256']}."
    )
    named = tuple((visible(one["name"]), visible(one["role"]), one["date"], "") for one in given)
    yield Table(("name", "role", "date", "signature"), named or (("", "", "", ""),) * _EMPTY_LINES, to_fill=True)
    if not named:
        yield "Nobody is named to sign: [[signatures]] in the file of --cover names people."


# Appendices.


_NOT_LISTED = (
    "Cases are not listed where counts are hidden, since the list would tell the count. The option --all-cells shows "
    "both, for use inside the organisation."
)


def _hides(document: Document) -> bool:
    return any("hidden" in cell for measure in document["checks"] for cell in measure["cells"][ALL])


def cases(document: Document) -> Iterator[Part]:
    cases: Sequence[Mapping[str, Any]] = document["cases"]
    if not cases:
        yield _NOT_LISTED if _hides(document) else "No cases to list."
        return
    yield "The first failing cases of each check, by file number and row."
    extra = tuple(key for key in ("id", "excerpts") if any(case.get(key) for case in cases))
    if not extra:
        yield Table(("check", "file and rows"), tuple(_rows_by_check(cases)))
        return
    rows = tuple(
        (_place(case), ", ".join(case["checks"]), *(_joined(case.get(key)) for key in extra)) for case in cases
    )
    yield Table(("case", "fails", *extra), rows)


def _place(case: Mapping[str, Any]) -> str:
    return f"file {case['file']}, row {case['row']}"


def _rows_by_check(cases: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """A line for each check: a list of hundreds of rows would fill pages that nobody reads."""
    for check in sorted({name for case in cases for name in case["checks"]}):
        files: dict[int, list[str]] = {}
        for case in cases:
            if check in case["checks"]:
                files.setdefault(case["file"], []).append(str(case["row"]))
        yield check, "; ".join(f"file {file}, rows {', '.join(rows)}" for file, rows in sorted(files.items()))


def _joined(value: Any) -> str:
    return visible(" / ".join(value) if isinstance(value, list | tuple) else str(value or ""))


def conditions(document: Document) -> Iterator[Part]:
    files = document["input"].get("files", ())
    given = {name: value for name, value in document["options"].items() if name not in ELSEWHERE and _is_set(value)}
    rows = [
        ("tool", f"{document['tool']['name']} {document['tool']['version']}"),
        ("rules", f"{document['rules']['hash']} ({document['rules']['count']:,} rules)"),
        ("profile", str(document["profile"])),
        ("reader", _reader(document)),
        ("input", str(document["input"]["sha256"])),
        *((f"file {file['number']}", f"{file['sha256']} ({file['bytes']:,} bytes)") for file in files),
        *((OPTIONS.get(name, name), _option(value)) for name, value in given.items()),
    ]
    yield Table(("", ""), tuple(rows))
    yield "“synthesis audit verify audit.json LOGS” makes the document again from the logs and compares every figure."


def _reader(document: Document) -> str:
    weights = (document.get("reader") or {}).get("hash")
    return f"{reader_name(document)} (weights {weights})" if weights else reader_name(document)


def _is_set(value: Any) -> bool:
    return value is not False and value not in (None, "", [], (), {})


def _option(value: Any) -> str:
    if value is True:
        return "yes"
    if isinstance(value, Mapping):
        value = [f"{name}={given}" for name, given in value.items()]
    return visible(", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value))
