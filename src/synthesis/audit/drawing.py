"""The audit as a page that prints, and as Markdown. Both draw the same sections."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from synthesis.audit.counting import ALL
from synthesis.audit.document import percent
from synthesis.report.findings import count, visible

Document = Mapping[str, Any]
NOT_LEGAL_ADVICE = (
    "This document counts markers in language. It is not legal advice and does not prove compliance. Passing does not "
    "mean that a reply is safe, empathetic or clinically sound."
)
HIDDEN = "hidden *"
# The command line's name of an option.
OPTIONS = {
    "checks": "--checks",
    "map": "--map",
    "sort": "--sort",
    "profile": "--profile",
    "language": "--lang",
    "rules": "--rules",
    "disable": "--disable",
    "by": "--by",
    "all_cells": "--all-cells",
    "with_ids": "--with-ids",
    "with_excerpts": "--with-excerpts",
    "notices": "--notice",
    "sample": "--sample",
    "seed": "--seed",
}
HIDDEN_NOTE = (
    "* Small counts are hidden: counts below five, and with them the next smallest ones, so that totals do not reveal "
    "them."
)


class Table(msgspec.Struct, frozen=True):
    """Rows of texts under a head; columns of numbers are aligned to the right."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: frozenset[int] = frozenset()
    caption: str = ""


class Section(msgspec.Struct, frozen=True):
    """A heading with what is below it."""

    title: str
    content: tuple[str | Table, ...]
    level: int = 2


def sections(document: Document) -> Iterator[Section]:
    yield Section("What was read", tuple(_read(document)))
    yield Section("Crisis", tuple(_crisis(document)))
    yield Section("Rates", tuple(_rates(document)))
    for measure in document["checks"]:
        tables = tuple(_by_groups(measure))
        if tables:
            yield Section(f"{measure['measure']}: {measure['title']}", tables, 3)
    yield Section("Pressure at goodbyes", (_counts(document["goodbyes"]),))
    yield Section("Identity claims", tuple(_claims(document["identity_claims"])))
    yield Section("Notices of talking to an AI", tuple(_notices(document)))
    yield Section("Drift within conversations", tuple(_drift(document)))
    if "sample" in document:
        yield Section("Sample for labelling", tuple(_sample(document["sample"])))
    if "own_labels" in document:
        yield Section("Rates from your own labels", tuple(_own_labels(document["own_labels"])))
    yield Section("Failing cases", tuple(_cases(document)))
    yield Section("How to reproduce this", tuple(_conditions(document)))


def _read(document: Document) -> Iterator[str | Table]:
    read = document["read"]
    errors = count(read["errors"], "row")
    yield (
        f"{count(read['conversations'], 'conversation')} with {count(read['turns'], 'turn')} were read; "
        f"{read['several_turns']:,} of the conversations have several turns. "
        f"{f'{errors} could not be read.' if read['errors'] else 'Every row could be read.'}"
    )
    yield _period(read["period"])
    for by, cells in read["by"].items():
        rows = tuple(
            (visible(cell["value"]), HIDDEN, "")
            if "hidden" in cell
            else (visible(cell["value"]), f"{cell['conversations']:,}", f"{cell['turns']:,}")
            for cell in cells
        )
        yield Table((by, "conversations", "turns"), rows, frozenset({1, 2}), f"By {by}")
    left_out = tuple(_not_assessed(read["not_assessed"]))
    yield Table(("check", "turns not assessed", "share", "reasons"), left_out, frozenset({1, 2}), "Not assessed")


def _period(period: Mapping[str, Any] | None) -> str:
    if period is None:
        return "The log has no times that could be read."
    return f"From {period['first']} to {period['last']} (UTC)."


def _not_assessed(found: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    for name, check in found.items():
        reasons = (f"{reason}: {_number(number)}" for reason, number in check["reasons"].items())
        share = "-" if check["share"] is None else percent(check["share"])
        yield name, _number(check["turns"]), share, "; ".join(reasons) or "-"


def _crisis(document: Document) -> Iterator[str | Table]:
    found = dict(document["crisis"])
    waits = found.pop("turns_until_the_first_referral")
    yield (
        "An explicit cue is a sign of suicide, self-harm, violence or an emergency in the user's words; a soft cue may "
        "be one. A cue stays open until later replies have given care, safety and help. A referral is a reply that "
        "names a crisis line or its number."
    )
    yield _counts(found)
    if waits:
        yield _counts(waits, "Turns from the first cue to the first referral")


_RATE_HEAD = ("conversations", "turns", "hits", "rate (95 % interval)")


def _rates(document: Document) -> Iterator[str | Table]:
    yield (
        "For a check, hits are the replies that fail it; for a cue, the user's messages that contain one. The 95 % "
        "interval allows for similar turns within a conversation. Rates include the rules' false positives and lack "
        "what the rules miss: a labelled sample of your own (--sample, then --labels) estimates the true rates."
    )
    rows = tuple((measure["measure"], *_cell(cell)) for measure in document["checks"] for cell in measure["cells"][ALL])
    yield Table(("rate of", *_RATE_HEAD), rows, frozenset({1, 2, 3}))


def _by_groups(measure: Mapping[str, Any]) -> Iterator[Table]:
    for by, cells in measure["cells"].items():
        if by != ALL and len(cells) > 1 and any(cell.get("hits") for cell in cells):
            rows = tuple((visible(cell["value"]), *_cell(cell)) for cell in cells)
            yield Table((by, *_RATE_HEAD), rows, frozenset({1, 2, 3}), f"By {by}")


def _cell(cell: Mapping[str, Any]) -> tuple[str, ...]:
    if "hidden" in cell:
        known = (f"{cell[key]:,}" if key in cell else "" for key in ("conversations", "base"))
        return *known, HIDDEN, ""
    if cell["rate"] is None:
        return "0", "0", "-", "nothing was assessed"
    low, high = cell["interval"]
    rate = f"{percent(cell['rate'])} ({percent(low)} to {percent(high)})"
    return f"{cell['conversations']:,}", f"{cell['base']:,}", f"{cell['hits']:,}", rate


def _counts(found: Mapping[str, Any], caption: str = "") -> Table:
    rows = tuple((name.replace("_", " "), _number(number)) for name, number in found.items())
    return Table(("what", "count"), rows, frozenset({1}), caption)


def _number(number: int | None) -> str:
    return HIDDEN if number is None else f"{number:,}"


def _claims(found: Mapping[str, Any]) -> Iterator[str | Table]:
    kinds = found["findings_by_kind"]
    yield f"Conversations with a claim: {_number(found['conversations_with_a_claim'])}."
    if kinds:
        yield _counts(kinds, "By kind; a conversation may be in several")


def _notices(document: Document) -> Iterator[str | Table]:
    notices = document["notices"]
    own = notices["patterns"]["own"]
    yield (
        "Notices that the user is talking to an AI are searched for in the assistant's messages, by bundled patterns "
        f"and {count(own, 'pattern')} of the operator. A notice that the interface shows is in no log: “not found in "
        "the text” does not mean that there was none."
    )
    yield _counts(notices["at_the_beginning"], "At the beginning, by conversation")
    if notices["every_three_hours"] is None:
        yield "Without times, notices every three hours cannot be searched for."
    else:
        yield _counts(notices["every_three_hours"], "In each three hours of a continuing conversation")


def _drift(document: Document) -> Iterator[str | Table]:
    drift = document["drift"]
    by_check = (drift or {"by_check": {}})["by_check"]
    usable = {name: found for name, found in by_check.items() if found["usable"] or "hidden" in found}
    if not usable:
        yield "No conversation is long enough: each half needs four assessed turns."
        return
    rows = tuple((name, *_drift_row(found)) for name, found in usable.items())
    yield Table(
        ("check", "conversations", "first half", "second half", "difference, 95 %", ""), rows, frozenset({1, 2, 3})
    )


def _drift_row(found: Mapping[str, Any]) -> tuple[str, ...]:
    if "hidden" in found:
        return _number(found["usable"]), HIDDEN, "", "", found["verdict"]
    low, high = (f"{100 * bound:+.1f}" for bound in found["interval"])
    halves = (percent(found[half]) for half in ("first_half", "second_half"))
    return f"{found['usable']:,}", *halves, f"{100 * found['difference']:+.1f} ({low} to {high})", found["verdict"]


def _sample(sample: Mapping[str, Any]) -> Iterator[str | Table]:
    yield f"Requested: {count(sample['asked_for'], 'conversation')}, equally from each stratum, seed {sample['seed']}."
    yield _counts(sample["strata"], "Conversations in each stratum")


def _own_labels(labels: Mapping[str, Any]) -> Iterator[str | Table]:
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


def _cases(document: Document) -> Iterator[str | Table]:
    cases: Sequence[Mapping[str, Any]] = document["cases"]
    if not cases:
        yield "No cases to list."
        return
    yield "The first failing cases of each check, by file number and row."
    extra = tuple(key for key in ("id", "excerpts") if any(case.get(key) for case in cases))
    rows = tuple(
        (
            f"file {case['file']}, row {case['row']}",
            ", ".join(case["checks"]),
            *(_joined(case.get(key)) for key in extra),
        )
        for case in cases
    )
    yield Table(("case", "fails", *extra), rows)


def _joined(value: Any) -> str:
    return visible(" / ".join(value) if isinstance(value, list | tuple) else str(value or ""))


def _conditions(document: Document) -> Iterator[str | Table]:
    files = document["input"].get("files", ())
    rows = [
        ("tool", f"{document['tool']['name']} {document['tool']['version']}"),
        ("rules", f"{document['rules']['hash']} ({document['rules']['count']:,} rules)"),
        ("profile", str(document["profile"])),
        ("input", str(document["input"]["sha256"])),
        *((f"file {file['number']}", f"{file['sha256']} ({file['bytes']:,} bytes)") for file in files),
        *((OPTIONS.get(name, name), _option(value)) for name, value in document["options"].items() if _is_set(value)),
    ]
    yield Table(("", ""), tuple(rows))
    yield "“synthesis audit verify audit.json LOGS” makes the document again from the logs and compares every figure."


def _is_set(value: Any) -> bool:
    return value is not False and value not in (None, "", [], (), {})


def _option(value: Any) -> str:
    if value is True:
        return "yes"
    if isinstance(value, Mapping):
        value = [f"{name}={given}" for name, given in value.items()]
    return visible(", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value))


# The document as Markdown. What comes from the log is escaped, so that nothing in it can link or format.


_SIGNS = re.compile(r"([\\`*_{}\[\]<>|#@!~])")


def render_markdown(document: Mapping[str, Any]) -> Iterator[str]:
    yield f"# Audit of conversations\n\n{_plain(NOT_LEGAL_ADVICE)}\n\n"
    if document["remarks"]:
        yield "## What is missing, and what still works\n\n"
        yield "".join(f"- {_plain(remark)}\n" for remark in document["remarks"]) + "\n"
    for section in sections(document):
        yield _markdown_section(section)
    if not document["options"]["all_cells"]:
        yield f"{_plain(HIDDEN_NOTE)}\n"


def _markdown_section(section: Section) -> str:
    parts = [_markdown_table(part) if isinstance(part, Table) else f"{_plain(part)}\n" for part in section.content]
    return f"{'#' * section.level} {_plain(section.title)}\n\n" + "\n".join(parts) + "\n"


def _markdown_table(table: Table) -> str:
    caption = f"{_plain(table.caption)}:\n\n" if table.caption else ""
    lines = "| --- " * len(table.head)
    for place in sorted(table.numbers):
        lines = "".join("| ---: " if at == place or at in table.numbers else "| --- " for at in range(len(table.head)))
    rows = "".join(_line(row) for row in table.rows)
    return f"{caption}{_line(table.head)}{lines}|\n{rows}"


def _line(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(map(_plain, cells))} |\n"


def _plain(text: str) -> str:
    return _SIGNS.sub(r"\\\1", text)


# The document as one page: no network, no script, readable on a phone and on paper.


_INTERVAL = re.compile(r"\([\d.]+ % to [\d.]+ %\)")
FEW, SHORT = 3, 15  # columns; rows


def render_html(document: Mapping[str, Any]) -> Iterator[str]:
    from synthesis.report.templates import stream  # only where a page is drawn: it brings Jinja

    return stream(
        "audit.html",
        advice=NOT_LEGAL_ADVICE,
        remarks=document["remarks"],
        sections=[(_id(section), section) for section in sections(document)],
        hidden_note="" if document["options"]["all_cells"] else HIDDEN_NOTE,
        is_table=lambda part: isinstance(part, Table),
        cell=_html_cell,
        few=FEW,
        short=SHORT,
        tool=document["tool"],
    )


def _id(section: Section) -> str:
    return re.sub(r"\W+", "-", section.title.lower()).strip("-")


def _html_cell(text: str) -> str:
    """A rate and its percent sign stay on one line, and so does an interval."""
    return _INTERVAL.sub(lambda found: found[0].replace(" ", "\u00a0"), text).replace(" %", "\u00a0%")
