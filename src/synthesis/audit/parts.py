"""What sections of an audit are made of: tables, lists and pictures without markup, and figures in words."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from synthesis.audit.counting import ALL, CUE, SOFT_CUE
from synthesis.audit.document import percent, worst_first
from synthesis.report.findings import count

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
    "reader": "--reader",
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


ELSEWHERE = ("cover", "since")  # options that have a section of their own


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


def share_words(share: Mapping[str, Any] | None) -> str:
    return rate_words(share["rate"], share["interval"]) if share else "a hidden share"


def rate_words(rate: float, interval: Sequence[float]) -> str:
    return f"{percent(rate)} ({percent(interval[0])} to {percent(interval[1])})"


def waited(found: Mapping[str, Any] | None) -> str:
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


def fails(measure: Mapping[str, Any]) -> bool:
    (cell,) = measure["cells"][ALL]
    return "hidden" in cell or bool(cell["hits"])


def listed(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def without_message(found: Mapping[str, Any]) -> str:
    if not found["days_without"]:
        return f"each of the {found['days']:,} days of the period holds a message"
    return f"{found['days_without']:,} of the {found['days']:,} days of the period hold no message"


REFERRED = "conversations_referred_to_a_crisis_service"


def ordered(document: Document) -> list[Mapping[str, Any]]:
    """The rates of what went wrong, the worst first, then the cues."""
    return [*worst_first(document["checks"]), *(one for one in document["checks"] if one["measure"] in (CUE, SOFT_CUE))]


# Goodbyes, identity claims, notices, drift.


def counted(found: Mapping[str, Any], caption: str = "") -> Table:
    rows = tuple((name.replace("_", " "), number_words(number)) for name, number in found.items())
    return Table(("what", "count"), rows, frozenset({1}), caption)


def number_words(number: int | None) -> str:
    return HIDDEN if number is None else f"{number:,}"
