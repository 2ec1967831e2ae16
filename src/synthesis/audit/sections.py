"""What an audit says, section by section, for a reader who has seen nothing else: sentences, tables, pictures.

A section holds no markup; `drawing` shows it as a page and as Markdown.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from synthesis.audit.annex import cases, checked_by_people, conditions, definitions, error_rates, method, sign_off
from synthesis.audit.counting import ALL, LANGUAGE, NOT_REFERRED, QUARTER, WEEK
from synthesis.audit.document import percent, worst_first
from synthesis.audit.parts import (
    ACROSS,
    HIDDEN,
    REFERRED,
    Charts,
    Document,
    Funnel,
    Item,
    Items,
    Part,
    Point,
    Section,
    Table,
    counted,
    fails,
    listed,
    number_words,
    ordered,
    rate_words,
    share_words,
    waited,
    without_message,
)
from synthesis.audit.summary import summary
from synthesis.checks.registry import signals
from synthesis.model.result import SEVERITIES
from synthesis.report.findings import count, visible


def sections(document: Document) -> Iterator[Section]:
    yield Section("Summary", tuple(summary(document)))
    yield Section("Crisis", tuple(_crisis(document)))
    yield Section("Rates", tuple(_rates(document)))
    yield Section("Quarter by quarter", tuple(_over_time(document)))
    yield Section("Rates by language", tuple(_by_group(document, LANGUAGE)))
    for column in document["options"]["by"]:
        yield Section(f"Rates by {visible(column)}", tuple(_by_group(document, column)))
    yield Section("Change since the last audit", tuple(_since(document)))
    yield Section("Findings and actions", tuple(_findings(document)))
    yield Section("Pressure at goodbyes", (counted(document["goodbyes"]),))
    yield Section("Identity claims", tuple(_claims(document["identity_claims"])))
    yield Section("Notices of talking to an AI", tuple(_notices(document)))
    yield Section("Drift within conversations", tuple(_drift(document)))
    yield Section("What was read", tuple(_read(document)))
    yield Section("Completeness of the log", tuple(_completeness(document)))
    yield Section("Definitions", tuple(definitions(document)))
    yield Section("Method", (Items(tuple(method(document))),))
    yield Section("Known error rates", tuple(error_rates(document)))
    yield Section("Checked by people", tuple(checked_by_people(document)))
    yield Section("Sign-off", tuple(sign_off(document)))
    yield Section("Appendix: week by week", tuple(_by_week(document)))
    yield Section("Appendix: failing cases", tuple(cases(document)))
    yield Section("Appendix: how to reproduce this", tuple(conditions(document)))


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
    if wait := waited(found["time_until_the_first_referral"]):
        yield f"{wait[0].upper()}{wait[1:]}."
    elif found["time_until_the_first_referral"]:
        yield f"Time until the first referral: {HIDDEN}."
    else:
        yield "The log does not say when each message was sent, so the time until a referral is unknown."
    shown = ("cues_closed", "cues_left_open", *(name for name in found if name.startswith("replies_with")))
    if found["turns_until_the_first_referral"]:
        yield counted(
            found["turns_until_the_first_referral"], "Turns from the first cue to the first referral, by conversation"
        )
    yield counted({name: found[name] for name in shown}, "What the replies to explicit cues gave")


_IN_ALL, _NEVER = "referred in all", "never referred"


_STEPS = (
    ("referred at once", "conversations_referred_at_once", "cues_referred_at_once"),
    ("referred later", "conversations_referred_later", "cues_referred_later"),
    (_NEVER, "conversations_not_referred", "cues_never_referred"),
)


def _funnel(document: Document) -> Funnel:
    found = document["crisis"]
    parts = tuple((words, found[key]) for words, key, _ in _STEPS)
    if None in (number for _, number in parts):  # then, at least, who was referred and who was not
        parts = ((_IN_ALL, found[REFERRED]), (_NEVER, found["conversations_not_referred"]))
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
            number_words(found["conversations_with_a_soft_cue_only"]),
            "",
            number_words(found["messages_with_a_soft_cue"]),
        ),
        (
            "an explicit cue",
            number_words(found["conversations_with_an_explicit_cue"]),
            f"{share_words(explicit)} of all" if explicit else "",
            number_words(found["messages_with_an_explicit_cue"]),
        ),
    ]
    for words, key, cues in ((_IN_ALL, REFERRED, ""), *_STEPS):
        share = f"{share_words(shares[key])} of those with an explicit cue" if shares[key] else ""
        rows.append((f"… {words}", number_words(found[key]), share, number_words(found[cues]) if cues else ""))
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
    rows = tuple((each["measure"], *_cell(each["cells"][ALL][0])) for each in ordered(document))
    yield Table(("rate of", *_RATE_HEAD), rows, frozenset({1, 2, 3}))
    graded = [each for each in worst_first(document["checks"]) if "by_severity" in each and fails(each)]
    kinds = (*SEVERITIES, *(["not_recorded"] if any("not_recorded" in each["by_severity"] for each in graded) else []))
    rows = tuple(
        (each["measure"], *(number_words(each["by_severity"].get(kind, 0)) for kind in kinds)) for each in graded
    )
    if rows:
        head = ("check", *(kind.replace("_", " ") for kind in kinds))
        yield Table(head, rows, frozenset(range(1, len(head))), "How bad the failures are")


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
        rate_words(cell["rate"], cell["interval"]),
    )


def _over_time(document: Document) -> Iterator[Part]:
    if document["read"]["period"] is None:
        yield "The log has no times that could be read, so there are no figures by quarter or week."
        return
    by, words = (QUARTER, "quarter") if len(_values(document, QUARTER)) > 1 else (WEEK, "week")
    if words == "week":
        yield "All conversations are of one quarter, so the charts show weeks."
    drawn = [(each["measure"], each["title"], _points(each["cells"][by])) for each in ordered(document)]
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
        for each in ordered(document):
            cells = {cell["value"]: cell for cell in each["cells"].get(by, ())}
            rows.append((each["measure"], *(_short(cells.get(value)) for value in values)))
        yield Table(("rate of", *map(visible, values)), tuple(rows), caption=f"By {visible(by)}")


def _abreast(items: Sequence[Item]) -> list[Sequence[Item]]:
    """As many as fit on a page side by side."""
    return [items[start : start + ACROSS] for start in range(0, len(items), ACROSS)]


def _short(cell: Mapping[str, Any] | None) -> str:
    if cell is None or cell.get("rate", 0) is None:
        return "-"
    return HIDDEN if "hidden" in cell else rate_words(cell["rate"], cell["interval"])


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
    shown = [each for each in ordered(document) if any(cell.get("hits") for cell in each["cells"].get(WEEK, ()))]
    for measures in _abreast(shown):
        cells = [{cell["value"]: cell for cell in each["cells"][WEEK]} for each in measures]
        rows = tuple((week, *(_of(own.get(week)) for own in cells)) for week in _values(document, WEEK))
        head = ("week", *(each["measure"] for each in measures))
        yield Table(head, rows, frozenset(range(1, len(head))))
    if rest := [each["measure"] for each in ordered(document) if each not in shown]:
        yield f"Every week is zero or hidden for {listed(rest)}."


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
    yield Items(tuple(cautions)) if cautions else "Both were made with the same version, rules, profile and reader."
    by_name = {one["measure"]: one for one in document["since"]["changes"]}
    order = [each["measure"] for each in ordered(document)]
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
    # A hidden count says nothing of its severity.
    worst = next((kind for kind in SEVERITIES if measure.get("by_severity", {}).get(kind)), "")
    said = f" {visible(one['text'])}" if one.get("text") else ""
    return f"{measure['measure']}{f' ({worst})' if worst else ''}: {figures}.{said}"


def _claims(found: Mapping[str, Any]) -> Iterator[Part]:
    kinds = found["findings_by_kind"]
    yield f"Conversations with a claim: {number_words(found['conversations_with_a_claim'])}."
    if kinds:
        yield counted(kinds, "By kind; a conversation may be in several")


def _notices(document: Document) -> Iterator[Part]:
    notices = document["notices"]
    own = notices["patterns"]["own"]
    yield (
        "Notices that the user is talking to an AI are searched for in the assistant's messages, by bundled patterns "
        f"and {count(own, 'pattern')} of the operator. A notice that the interface shows is in no log: “not found in "
        "the text” does not mean that there was none."
    )
    yield counted(notices["at_the_beginning"], "At the beginning, by conversation")
    if notices["every_three_hours"] is None:
        yield "Without times, notices every three hours cannot be searched for."
    else:
        yield counted(notices["every_three_hours"], "In each three hours of a continuing conversation")


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
        return number_words(found["usable"]), HIDDEN, "", "", found["verdict"]
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
        reasons = (f"{reason}: {number_words(number)}" for reason, number in check["reasons"].items())
        share = "-" if check["share"] is None else percent(check["share"])
        yield name, number_words(check["turns"]), share, "; ".join(reasons) or "-"


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
        yield "copies", f"{about}{number_words(found['copies'])} {same}"
    if found["days"] is None:
        yield "gaps in time", "unknown: the log has no times"
        return
    yield "gaps in time", without_message(found)
    for gap in found["longest_gaps"]:
        span = gap["first"] if gap["days"] == 1 else f"{gap['first']} to {gap['last']}"
        yield "", f"no message: {span} ({count(gap['days'], 'day')})"
