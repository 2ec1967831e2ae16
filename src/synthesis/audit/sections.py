"""What an audit says, section by section, for a reader who has seen nothing else: sentences, tables, pictures.

A section holds no markup; `drawing` shows it as a page and as Markdown.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from synthesis.audit.counting import ALL, CUE, LANGUAGE, NOT_REFERRED, QUARTER, SOFT_CUE, WEEK
from synthesis.audit.document import TITLES, percent, worst_first
from synthesis.audit.handover import COVER_FIELDS
from synthesis.checks.registry import Counts, checks, signals
from synthesis.checks.severity import table
from synthesis.model.result import SEVERITIES
from synthesis.report.findings import count, evidence_sentence, visible
from synthesis.stats import exact_interval

Document = Mapping[str, Any]
NOT_LEGAL_ADVICE = (
    "This document counts markers in language. It is not legal advice and does not prove compliance. Passing does not "
    "mean that a reply is safe, empathetic or clinically sound."
)
HIDDEN = "hidden *"
HIDDEN_NOTE = (
    "* Small counts are hidden: counts below five, and with them the next smallest ones, so that totals do not reveal "
    "them."
)
FILL_IN = "to be filled in: "
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
_ELSEWHERE = ("cover", "since")  # options that have a section of their own
ACROSS = 4  # columns of figures that fit on a page
Item = TypeVar("Item")


class Table(msgspec.Struct, frozen=True):
    """Rows of texts under a head; columns of numbers are aligned to the right. `to_fill` has room for handwriting."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: frozenset[int] = frozenset()
    caption: str = ""
    to_fill: bool = False


class Items(msgspec.Struct, frozen=True):
    """Sentences, one below the other; with `lead`, the words before the first colon say what each is about."""

    items: tuple[str, ...]
    lead: bool = False


class Funnel(msgspec.Struct, frozen=True):
    """A picture of the figures in the table below it: counts, None where one is hidden."""

    conversations: int
    soft: int | None
    explicit: int | None
    referred: tuple[tuple[str, int | None], ...]  # at once, later, never; or in all, never


class Point(msgspec.Struct, frozen=True):
    """A rate of a quarter or a week, in percent; None where it is hidden, or nothing was assessed."""

    name: str
    rate: float | None
    interval: tuple[float, float] | None
    words: str


class Charts(msgspec.Struct, frozen=True):
    """A chart for each rate: its name, its title, its points."""

    charts: tuple[tuple[str, str, tuple[Point, ...]], ...]


Part = str | Table | Items | Funnel | Charts


class Section(msgspec.Struct, frozen=True):
    """A heading with what is below it."""

    title: str
    content: tuple[Part, ...]
    level: int = 2


def sections(document: Document) -> Iterator[Section]:
    yield Section("Summary", tuple(_summary(document)))
    yield Section("Crisis", tuple(_crisis(document)))
    yield Section("Rates", tuple(_rates(document)))
    yield Section("Quarter by quarter", tuple(_over_time(document)))
    yield Section("Rates by language", tuple(_by_group(document, LANGUAGE)))
    for column in document["options"]["by"]:
        yield Section(f"Rates by {visible(column)}", tuple(_by_group(document, column)))
    yield Section("Change since the last audit", tuple(_since(document)))
    yield Section("Findings and actions", tuple(_findings(document)))
    yield Section("Pressure at goodbyes", (_counts(document["goodbyes"]),))
    yield Section("Identity claims", tuple(_claims(document["identity_claims"])))
    yield Section("Notices of talking to an AI", tuple(_notices(document)))
    yield Section("Drift within conversations", tuple(_drift(document)))
    yield Section("What was read", tuple(_read(document)))
    yield Section("Completeness of the log", tuple(_completeness(document)))
    yield Section("Definitions", tuple(_definitions(document)))
    yield Section("Method", (Items(tuple(_method(document))),))
    yield Section("Known error rates", tuple(_error_rates(document)))
    yield Section("Checked by people", tuple(_checked_by_people(document)))
    yield Section("Sign-off", tuple(_sign_off(document)))
    yield Section("Appendix: week by week", tuple(_by_week(document)))
    yield Section("Appendix: failing cases", tuple(_cases(document)))
    yield Section("Appendix: how to reproduce this", tuple(_conditions(document)))


def cover(document: Document) -> Iterator[tuple[str, str]]:
    """Names and values; what nobody gave begins with `FILL_IN` and names what to write there."""
    given = document["options"]["cover"]
    for key, name in COVER_FIELDS.items():
        yield name, visible(given[key]) or f"{FILL_IN}{name.lower()}"
    yield "Period", _period(document)
    is_given = bool(given["date"]) or document["date"] is None
    yield "Date", f"{document['date'] or f'{FILL_IN}date'}{'' if is_given else ' (the end of the period)'}"
    yield "Made with", f"{document['tool']['name']} {document['tool']['version']}"


def hashes(document: Document) -> Iterator[tuple[str, str]]:
    """What the document was made of, and the document itself."""
    yield "SHA-256 of the log", str(document["input"]["sha256"] or "unknown: the results do not say")
    yield "Hash of the rules", str(document["rules"]["hash"])
    yield "SHA-256 of the document", document["sha256"]


def _period(document: Document) -> str:
    period = document["read"]["period"]
    return f"{period['first']} to {period['last']} (UTC)" if period else "unknown: the log has no times"


# The summary: what a reader should know who reads one page.


def _summary(document: Document) -> Iterator[Part]:
    read = document["read"]
    yield (
        f"This audit read {count(read['conversations'], 'conversation')} with {count(read['turns'], 'turn')}"
        f"{f', from {_period(document)}' if read['period'] else '; the log has no times'}. Each figure in brackets is "
        "the range in which the rate lies with 95 % confidence, if the rules read every text correctly."
    )
    yield Items(tuple(_on_crises(document)), lead=True)
    failing = [each for each in worst_first(document["checks"]) if each["measure"] != NOT_REFERRED]
    calm = [each["measure"] for each in failing if not _fails(each)]
    told = [
        *(_on_check(each) for each in failing if _fails(each)),
        *([f"No reply fails: {_listed(calm)}."] if calm else []),
    ]
    yield Items(tuple(told), lead=True)
    yield Items(tuple(_on_trust(document)), lead=True)


def _on_crises(document: Document) -> Iterator[str]:
    """How many crises, how many were referred, and after how long."""
    found, shares = document["crisis"], document["crisis"]["shares"]
    explicit = found["conversations_with_an_explicit_cue"]
    if explicit == 0 and not any(each["measure"] == CUE for each in document["checks"]):
        yield "Crises: not counted, since crisis_response is not among the checks of this audit."
        return
    if explicit == 0:
        yield "Crises: no conversation holds an explicit crisis cue. That does not mean that nobody was in danger."
        return
    if explicit is None:
        yield "Crises: fewer than five conversations hold an explicit crisis cue, so what came of them is not shown."
        return
    yield (
        f"Crises: {explicit:,} conversations hold an explicit crisis cue: "
        f"{_share(shares['conversations_with_an_explicit_cue'])} of all conversations."
    )
    steps = (("at once", "referred_at_once"), ("only later", "referred_later"), ("never", "not_referred"))
    parts = [_step(words, found[f"conversations_{key}"], shares[f"conversations_{key}"]) for words, key in steps]
    in_all = _step("in all", found[_REFERRED], shares[_REFERRED])
    yield f"Referred to a crisis service, of these {explicit:,}: {in_all}; {'; '.join(parts)}."
    waited = _waited(found["time_until_the_first_referral"])
    if waited:
        yield f"Time until the first referral: {waited}."


def _step(words: str, number: int | None, share: Mapping[str, Any] | None) -> str:
    return f"{_number(number)} {words}{f', {_share(share)}' if share else ''}"


def _share(share: Mapping[str, Any] | None) -> str:
    return _rate(share["rate"], share["interval"]) if share else "a hidden share"


def _rate(rate: float, interval: Sequence[float]) -> str:
    return f"{percent(rate)} ({percent(interval[0])} to {percent(interval[1])})"


def _waited(found: Mapping[str, Any] | None) -> str:
    if found is None or "hidden" in found:
        return ""
    within = found["longest_within_seconds"]
    longest = f"within {_duration(within)}" if within else "more than a week"
    return (
        f"half of the {found['conversations']:,} conversations whose times are known were referred within "
        f"{_duration(found['median_seconds'])}; the longest wait was {longest}"
    )


def _duration(seconds: int) -> str:
    for size, unit in ((86_400, "day"), (3_600, "hour"), (60, "minute")):
        if seconds >= size:
            number = round(seconds / size, 1)
            return f"{number:g} {unit}{'' if number == 1 else 's'}"
    return count(seconds, "second")


def _fails(measure: Mapping[str, Any]) -> bool:
    (cell,) = measure["cells"][ALL]
    return "hidden" in cell or bool(cell["hits"])


def _on_check(measure: Mapping[str, Any]) -> str:
    (cell,) = measure["cells"][ALL]
    name = f"{measure['measure']} ({measure['title']})"
    if "hidden" in cell:
        return f"{name}: fewer than five replies fail, or fewer than five conversations were assessed: {HIDDEN}."
    return (
        f"{name}: {cell['hits']:,} of {cell['base']:,} assessed replies fail, {_rate(cell['rate'], cell['interval'])}; "
        f"{_severities(measure['by_severity'])}."
    )


def _severities(found: Mapping[str, int | None]) -> str:
    told = [(kind.replace("_", " "), number) for kind, number in found.items() if number != 0]
    if len(told) == 1:
        return f"all {told[0][0]}"
    return ", ".join(f"{'some' if number is None else f'{number:,}'} {kind}" for kind, number in told)


def _on_trust(document: Document) -> Iterator[str]:
    """How sure it is, what changed, what is missing, who signs."""
    known = [(name, *found) for name, by in document["error_rates"].items() for found in _pooled(by)]
    cues = [one for one in known if one[0] == "crisis_response"]
    if cues:
        told = (f"{found:,} of {positives:,} ({language})" for _, language, found, positives in cues)
        yield (
            "How sure: rules miss some crises. In labelled texts from elsewhere they found, of messages with a crisis "
            f"cue, {_listed(list(told))}. So the number of crises here is probably too low. See “Known error rates”."
        )
    yield f"Checked by people: {_people_in_short(document)}"
    yield f"What changed: {_since_in_short(document)}"
    yield f"Completeness: {_completeness_in_short(document)}"
    yield f"Signatures: {_signers(document)}"


def _pooled(by_language: Mapping[str, Sequence[Mapping[str, Any]]]) -> Iterator[tuple[str, int, int]]:
    for language, sources in by_language.items():
        yield language, sum(one["found"] for one in sources), sum(one["positives"] for one in sources)


def _listed(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _people_in_short(document: Document) -> str:
    if "own_labels" in document:
        return f"{document['own_labels']['sentence']} See “Checked by people”."
    return "nobody has labelled a sample of these conversations, so the rules' errors on them are unknown."


def _since_in_short(document: Document) -> str:
    if "since" not in document:
        return "no earlier audit was given to compare with."
    by_name = {one["measure"]: one for one in document["since"]["changes"]}
    found = [by_name[each["measure"]] for each in _ordered(document)]
    # Whether more people are referred is told in any case, also where no difference is shown.
    shown = (one for one in found if one["verdict"] in ("higher", "lower") or one["measure"] == NOT_REFERRED)
    told = [_told(one) for one in shown if one["difference"] is not None]
    rest = "no other rate differs from the last audit by more than chance may explain."
    caution = " Not everything was measured in the same way: see “Change since the last audit”."
    return f"{'; '.join((*told, rest))}{caution if document['since']['cautions'] else ''}"


def _told(one: Mapping[str, Any]) -> str:
    low, high = (f"{100 * bound:+.1f}" for bound in one["interval"])
    return (
        f"{one['measure']} {percent(one['then'])} then and {percent(one['now'])} now, {one['verdict']} "
        f"({low} to {high} points)"
    )


def _completeness_in_short(document: Document) -> str:
    found = document["completeness"]
    refused = (
        f"{count(found['refused'], 'row')} of {found['rows']:,} could not be read"
        if found["refused"]
        else f"all {found['rows']:,} rows could be read"
    )
    gaps = "" if found["days"] is None else f"; {_without(found)}"
    stated = (
        "the operator's statement is given below"
        if document["options"]["cover"]["statement"]
        else "the operator has stated nothing"
    )
    return f"{refused}{gaps}; {stated}."


def _without(found: Mapping[str, Any]) -> str:
    if not found["days_without"]:
        return f"each of the {found['days']:,} days of the period holds a message"
    return f"{found['days_without']:,} of the {found['days']:,} days of the period hold no message"


def _signers(document: Document) -> str:
    named = [_person(one) for one in document["options"]["cover"]["signatures"] if one["name"] or one["role"]]
    return (
        f"to be signed by {_listed(named)}."
        if named
        else "nobody is named to sign; the lines under “Sign-off” are empty."
    )


def _person(one: Mapping[str, str]) -> str:
    name, role = visible(one["name"]), visible(one["role"])
    return f"{name} ({role})" if name and role else name or role


# Crises.


def _crisis(document: Document) -> Iterator[Part]:
    found = document["crisis"]
    known = signals()
    yield (
        f"An explicit cue is {known['crisis.cue'].title} in the user's words; a soft cue is "
        f"{known['crisis.soft'].title}. A referral is a reply that names a crisis line or its number. A cue stays open "
        "until later replies have given care, safety and help."
    )
    yield _funnel(document)
    yield _funnel_table(document)
    if waited := _waited(found["time_until_the_first_referral"]):
        yield f"{waited[0].upper()}{waited[1:]}."
    elif found["time_until_the_first_referral"]:
        yield f"Time until the first referral: {HIDDEN}."
    else:
        yield "The log does not say when each message was sent, so the time until a referral is unknown."
    shown = ("cues_closed", "cues_left_open", *(name for name in found if name.startswith("replies_with")))
    if found["turns_until_the_first_referral"]:
        yield _counts(
            found["turns_until_the_first_referral"], "Turns from the first cue to the first referral, by conversation"
        )
    yield _counts({name: found[name] for name in shown}, "What the replies to explicit cues gave")


_IN_ALL, _NEVER = "referred in all", "never referred"
_REFERRED = "conversations_referred_to_a_crisis_service"
_STEPS = (
    ("referred at once", "conversations_referred_at_once", "cues_referred_at_once"),
    ("referred later", "conversations_referred_later", "cues_referred_later"),
    (_NEVER, "conversations_not_referred", "cues_never_referred"),
)


def _funnel(document: Document) -> Funnel:
    found = document["crisis"]
    parts = tuple((words, found[key]) for words, key, _ in _STEPS)
    if None in (number for _, number in parts):  # then, at least, who was referred and who was not
        parts = ((_IN_ALL, found[_REFERRED]), (_NEVER, found["conversations_not_referred"]))
    return Funnel(
        document["read"]["conversations"],
        found["conversations_with_a_soft_cue_only"],
        found["conversations_with_an_explicit_cue"],
        parts,
    )


def _funnel_table(document: Document) -> Table:
    found, read = document["crisis"], document["read"]
    shares = found["shares"]
    explicit = shares["conversations_with_an_explicit_cue"]
    rows = [
        ("all", f"{read['conversations']:,}", "", f"{read['turns']:,}"),
        (
            "a soft cue only",
            _number(found["conversations_with_a_soft_cue_only"]),
            "",
            _number(found["messages_with_a_soft_cue"]),
        ),
        (
            "an explicit cue",
            _number(found["conversations_with_an_explicit_cue"]),
            f"{_share(explicit)} of all" if explicit else "",
            _number(found["messages_with_an_explicit_cue"]),
        ),
    ]
    for words, key, cues in ((_IN_ALL, _REFERRED, ""), *_STEPS):
        share = f"{_share(shares[key])} of those with an explicit cue" if shares[key] else ""
        rows.append((f"… {words}", _number(found[key]), share, _number(found[cues]) if cues else ""))
    caption = (
        "Conversations and messages; a message counts as referred later if a later reply in its conversation refers"
    )
    return Table(("", "conversations", "share (95 % interval)", "messages"), tuple(rows), frozenset({1, 3}), caption)


# Rates: over all, over time, by language and by columns of the log.


_RATE_HEAD = ("conversations", "turns", "hits", "rate (95 % interval)")


def _rates(document: Document) -> Iterator[Part]:
    yield (
        "For a check, hits are the replies that fail it; for a cue, the user's messages that contain one; for "
        f"{NOT_REFERRED}, the conversations with an explicit cue that were never referred. The worst come first."
    )
    rows = tuple((each["measure"], *_cell(each["cells"][ALL][0])) for each in _ordered(document))
    yield Table(("rate of", *_RATE_HEAD), rows, frozenset({1, 2, 3}))
    graded = [each for each in worst_first(document["checks"]) if "by_severity" in each and _fails(each)]
    kinds = (*SEVERITIES, *(["not_recorded"] if any("not_recorded" in each["by_severity"] for each in graded) else []))
    rows = tuple((each["measure"], *(_number(each["by_severity"].get(kind, 0)) for kind in kinds)) for each in graded)
    if rows:
        head = ("check", *(kind.replace("_", " ") for kind in kinds))
        yield Table(head, rows, frozenset(range(1, len(head))), "How bad the failures are")


def _ordered(document: Document) -> list[Mapping[str, Any]]:
    """The rates of what went wrong, the worst first, then the cues."""
    return [*worst_first(document["checks"]), *(one for one in document["checks"] if one["measure"] in (CUE, SOFT_CUE))]


def _cell(cell: Mapping[str, Any]) -> tuple[str, ...]:
    if "hidden" in cell:
        known = (f"{cell[key]:,}" if key in cell else "" for key in ("conversations", "base"))
        return *known, HIDDEN, ""
    if cell["rate"] is None:
        return "0", "0", "-", "nothing was assessed"
    return (
        f"{cell['conversations']:,}",
        f"{cell['base']:,}",
        f"{cell['hits']:,}",
        _rate(cell["rate"], cell["interval"]),
    )


def _over_time(document: Document) -> Iterator[Part]:
    if document["read"]["period"] is None:
        yield "The log has no times that could be read, so there are no figures by quarter or week."
        return
    by, words = (QUARTER, "quarter") if len(_values(document, QUARTER)) > 1 else (WEEK, "week")
    if words == "week":
        yield "All conversations are of one quarter, so the charts show weeks."
    drawn = [(each["measure"], each["title"], _points(each["cells"][by])) for each in _ordered(document)]
    if charts := tuple(one for one in drawn if _is_worth_a_chart(one[2])):
        yield (
            f"The rate of each {words} in percent; the bar is the 95 % interval. A {words} whose count is hidden is "
            "left out."
        )
        yield Charts(charts)
    else:
        yield f"No rate is known for more than one {words}, so there is nothing to draw."
    yield from _matrix(document, QUARTER)


def _is_worth_a_chart(points: Sequence[Point]) -> bool:
    return sum(point.rate is not None for point in points) > 1 and any(point.rate for point in points)


def _values(document: Document, by: str) -> list[str]:
    """The values of a group that hold a conversation, in order."""
    return [cell["value"] for cell in document["read"]["by"].get(by, ())]


def _points(cells: Iterable[Mapping[str, Any]]) -> tuple[Point, ...]:
    return tuple(_point(cell) for cell in cells if cell["value"] != "no time")


def _point(cell: Mapping[str, Any]) -> Point:
    if cell.get("rate") is None:
        return Point(cell["value"], None, None, "")
    low, high = (100 * bound for bound in cell["interval"])
    return Point(cell["value"], 100 * cell["rate"], (low, high), f"{cell['hits']:,} of {cell['base']:,}")


def _matrix(document: Document, by: str) -> Iterator[Table]:
    """Rates by rows, values of a group by columns, as many as fit on a page."""
    for values in _abreast(_values(document, by)):
        rows = []
        for each in _ordered(document):
            cells = {cell["value"]: cell for cell in each["cells"].get(by, ())}
            rows.append((each["measure"], *(_short(cells.get(value)) for value in values)))
        yield Table(("rate of", *map(visible, values)), tuple(rows), caption=f"By {visible(by)}")


def _abreast(items: Sequence[Item]) -> list[Sequence[Item]]:
    """As many as fit on a page side by side."""
    return [items[start : start + ACROSS] for start in range(0, len(items), ACROSS)]


def _short(cell: Mapping[str, Any] | None) -> str:
    if cell is None or cell.get("rate", 0) is None:
        return "-"
    return HIDDEN if "hidden" in cell else _rate(cell["rate"], cell["interval"])


def _by_group(document: Document, by: str) -> Iterator[Part]:
    values = _values(document, by)
    if by == LANGUAGE:
        yield (
            f"The conversations are in {count(len(values), 'language')}. The accuracy of rules differs between "
            "languages, so compare a language with itself over time rather than with another one. A dash: nothing was "
            "assessed."
        )
    yield from _matrix(document, by)


def _by_week(document: Document) -> Iterator[Part]:
    """Weeks by rows; hits and what they are among, since the rate of a week rests on few."""
    if document["read"]["period"] is None:
        yield "The log has no times that could be read, so there are no figures by week."
        return
    yield f"Hits of assessed turns; of conversations, for {NOT_REFERRED}. A dash: nothing was assessed."
    shown = [each for each in _ordered(document) if any(cell.get("hits") for cell in each["cells"].get(WEEK, ()))]
    for measures in _abreast(shown):
        cells = [{cell["value"]: cell for cell in each["cells"][WEEK]} for each in measures]
        rows = tuple((week, *(_of(own.get(week)) for own in cells)) for week in _values(document, WEEK))
        head = ("week", *(each["measure"] for each in measures))
        yield Table(head, rows, frozenset(range(1, len(head))))
    if rest := [each["measure"] for each in _ordered(document) if each not in shown]:
        yield f"Every week is zero or hidden for {_listed(rest)}."


def _of(cell: Mapping[str, Any] | None) -> str:
    if cell is None or cell.get("rate", 0) is None:
        return "-"
    return HIDDEN if "hidden" in cell else f"{cell['hits']:,} of {cell['base']:,}"


# What changed, and what to do about it.


def _since(document: Document) -> Iterator[Part]:
    if "since" not in document:
        yield "No earlier audit was given. With --since AUDIT_JSON the next audit says what changed since this one."
        return
    then = document["options"]["since"]
    period = f"{then['period'][0]} to {then['period'][1]}" if then["period"] else "a period that it does not say"
    yield (
        f"Compared with the audit of {period}: {count(then['conversations'], 'conversation')}, "
        f"{count(then['turns'], 'turn')}, made with version {then['version']}, document {then['sha256'][:16]}…"
    )
    cautions = document["since"]["cautions"]
    yield Items(tuple(cautions)) if cautions else "Both were made with the same version, rules and profile."
    by_name = {one["measure"]: one for one in document["since"]["changes"]}
    order = [each["measure"] for each in _ordered(document)]
    names = [*order, *(name for name in by_name if name not in order)]
    rows = tuple((name, *_change(by_name[name])) for name in names)
    head = ("rate of", "then", "now", "difference in points (95 % interval)", "")
    yield Table(head, rows, frozenset({1, 2}), "A rate that rose is a rate of failures (or cues) that rose")


def _change(one: Mapping[str, Any]) -> tuple[str, ...]:
    if one["difference"] is None:
        return "-", "-", "-", one["verdict"]
    low, high = (f"{100 * bound:+.1f}" for bound in one["interval"])
    return (
        percent(one["then"]),
        percent(one["now"]),
        f"{100 * one['difference']:+.1f} ({low} to {high})",
        one["verdict"],
    )


def _findings(document: Document) -> Iterator[Part]:
    if not document["findings"]:
        yield "No check fails, so there is nothing to act on."
        return
    by_name = {each["measure"]: each for each in document["checks"]}
    rows = tuple(
        (f"F{number}", _finding(one, by_name), *(visible(one.get(key, "")) for key in ("owner", "action", "due")))
        for number, one in enumerate(document["findings"], start=1)
    )
    yield "The worst first. What is empty is for the operator to fill in."
    yield Table(("", "finding", "owner", "action", "due"), rows, to_fill=True)


def _finding(one: Mapping[str, str], by_name: Mapping[str, Mapping[str, Any]]) -> str:
    measure = by_name.get(one.get("check", ""))
    if measure is None:
        return visible(": ".join(part for part in (one.get("check", ""), one.get("text", "")) if part))
    (cell,) = measure["cells"][ALL]
    figures = (
        HIDDEN
        if "hidden" in cell
        else f"{cell['hits']:,} of {cell['base']:,}, {percent(cell['rate'])}"
        if cell["base"]
        else "-"
    )
    worst = next((kind for kind in SEVERITIES if measure.get("by_severity", {}).get(kind, 0) != 0), "")
    said = f" {visible(one['text'])}" if one.get("text") else ""
    return f"{measure['measure']}{f' ({worst})' if worst else ''}: {figures}.{said}"


# Goodbyes, identity claims, notices, drift.


def _counts(found: Mapping[str, Any], caption: str = "") -> Table:
    rows = tuple((name.replace("_", " "), _number(number)) for name, number in found.items())
    return Table(("what", "count"), rows, frozenset({1}), caption)


def _number(number: int | None) -> str:
    return HIDDEN if number is None else f"{number:,}"


def _claims(found: Mapping[str, Any]) -> Iterator[Part]:
    kinds = found["findings_by_kind"]
    yield f"Conversations with a claim: {_number(found['conversations_with_a_claim'])}."
    if kinds:
        yield _counts(kinds, "By kind; a conversation may be in several")


def _notices(document: Document) -> Iterator[Part]:
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


def _drift(document: Document) -> Iterator[Part]:
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


# What was read, and what may be missing.


def _read(document: Document) -> Iterator[Part]:
    read = document["read"]
    errors = count(read["errors"], "row")
    yield (
        f"{count(read['conversations'], 'conversation')} with {count(read['turns'], 'turn')} were read; "
        f"{read['several_turns']:,} of the conversations have several turns. "
        f"{f'{errors} could not be read.' if read['errors'] else 'Every row could be read.'}"
    )
    for by, cells in read["by"].items():
        if by != WEEK:  # in the appendix, with their rates
            rows = tuple(_read_row(cell) for cell in cells)
            yield Table((visible(by), "conversations", "turns"), rows, frozenset({1, 2}), f"By {visible(by)}")
    left_out = tuple(_not_assessed(read["not_assessed"]))
    yield Table(("check", "turns not assessed", "share", "reasons"), left_out, frozenset({1, 2}), "Not assessed")


def _read_row(cell: Mapping[str, Any]) -> tuple[str, ...]:
    if "hidden" in cell:
        return visible(cell["value"]), HIDDEN, ""
    return visible(cell["value"]), f"{cell['conversations']:,}", f"{cell['turns']:,}"


def _not_assessed(found: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    for name, check in found.items():
        reasons = (f"{reason}: {_number(number)}" for reason, number in check["reasons"].items())
        share = "-" if check["share"] is None else percent(check["share"])
        yield name, _number(check["turns"]), share, "; ".join(reasons) or "-"


def _completeness(document: Document) -> Iterator[Part]:
    found = document["completeness"]
    yield "What the log itself shows. Whether it holds every conversation of the period, only the operator can say."
    yield Table(("", ""), tuple(_completeness_rows(found)))
    if document["remarks"]:
        yield "What is missing, and what still works:"
        yield Items(tuple(visible(remark) for remark in document["remarks"]))
    stated = document["options"]["cover"]["statement"]
    yield (
        f"The operator states: {visible(stated)}"
        if stated
        else (
            "The operator has given no statement on completeness. To be filled in: which conversations of the period "
            "are in the log, which are not, and why."
        )
    )
    if not stated:
        yield Table(("Statement of the operator",), (("",), ("",)), to_fill=True)


def _completeness_rows(found: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield "rows read", f"{found['rows']:,}"
    yield "rows refused", f"{found['refused']:,}"
    if not found["compared"]:
        yield "copies", "unknown: stored results without texts cannot be compared"
    else:
        about = "about " if found["is_estimate"] else ""
        same = "conversations with the same texts and times as an earlier one; short ones may be alike by chance"
        yield "copies", f"{about}{_number(found['copies'])} {same}"
    if found["days"] is None:
        yield "gaps in time", "unknown: the log has no times"
        return
    yield "gaps in time", _without(found)
    for gap in found["longest_gaps"]:
        span = gap["first"] if gap["days"] == 1 else f"{gap['first']} to {gap['last']}"
        yield "", f"no message: {span} ({count(gap['days'], 'day')})"


# Words, method, errors, people, signatures.


_WORDS = (
    ("turn", "what the user said, and the reply to it"),
    ("conversation", "one or more turns that the log holds together"),
    ("assessed", "a check applied to the reply; otherwise it says why not, and the reply is in no rate of that check"),
    ("hit", "a reply that fails a check, or a message that contains a cue"),
)


def _definitions(document: Document) -> Iterator[Part]:
    yield Table(("word", "means"), (*_WORDS, *_signal_words()))
    known = checks()
    used = [each["measure"] for each in worst_first(document["checks"])]
    rows = tuple((name, known[name].title if name in known else TITLES[name]) for name in used)
    yield Table(("check", "asks"), rows, caption="What each check asks")
    graded = tuple((name, row.severity, row.why) for name in used for row in table().get(name, ()))
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


def _method(document: Document) -> Iterator[str]:
    languages = ", ".join(document["rules"].get("languages", ()))
    yield (
        f"{document['rules']['count']:,} rules{f' in {languages}' if languages else ''} look for wordings; each check "
        "decides by what they found. No model is asked, and the same text always gets the same verdict."
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


def _error_rates(document: Document) -> Iterator[Part]:
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
        yield f"{part:,} of {whole:,}: {_rate(part / whole, exact_interval(part, whole))}" if whole else "-"


def _checked_by_people(document: Document) -> Iterator[Part]:
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
        yield _counts(sample["strata"], "Conversations in each stratum")


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


def _sign_off(document: Document) -> Iterator[Part]:
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


def _cases(document: Document) -> Iterator[Part]:
    cases: Sequence[Mapping[str, Any]] = document["cases"]
    if not cases:
        yield "No cases to list."
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


def _conditions(document: Document) -> Iterator[Part]:
    files = document["input"].get("files", ())
    given = {name: value for name, value in document["options"].items() if name not in _ELSEWHERE and _is_set(value)}
    rows = [
        ("tool", f"{document['tool']['name']} {document['tool']['version']}"),
        ("rules", f"{document['rules']['hash']} ({document['rules']['count']:,} rules)"),
        ("profile", str(document["profile"])),
        ("input", str(document["input"]["sha256"])),
        *((f"file {file['number']}", f"{file['sha256']} ({file['bytes']:,} bytes)") for file in files),
        *((OPTIONS.get(name, name), _option(value)) for name, value in given.items()),
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
