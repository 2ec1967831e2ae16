"""`synthesis reader`: what the learned reader is, and what each of its heads finds."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click
import msgspec

from synthesis.cli.options import Group, json_option, print_json
from synthesis.cli.terminal import print_lines
from synthesis.errors import OptionError, did_you_mean
from synthesis.printable import safe

if TYPE_CHECKING:
    from synthesis.checks.card import HeadCard, HeadFigures, ReaderCard
    from synthesis.checks.learned import Decision, LearnedReader

NO_READER = "This copy of the package has no learned reader: rules alone find signals."
NO_CARD = "This copy of the package has no card of the reader: what it was trained on and its figures are not here."
SLOW = "slow; numpy or the compiled library gives the same results fast"
_PREFIX = "learned."  # of the ids in reports: `reader show learned.cue` is what people paste
_SHOWN_WORDS = 20


@click.group("reader", cls=Group)
def reader() -> None:
    """Show the learned reader: what it finds, what it was trained on, how often it errs."""


@reader.command("show")
@click.argument("head", required=False, metavar="[HEAD]")
@json_option
def show(head: str | None, as_json: bool) -> None:
    """Show the learned reader, or one of its heads.

    HEAD is what a finding names behind `learned.`, such as cue.
    """
    from synthesis.checks import card as cards
    from synthesis.checks.learned import learned_reader

    found = learned_reader()
    if found is None:
        if head:
            raise OptionError(f"there is no head '{head}': this copy has no learned reader", hint=NO_READER)
        if as_json:
            print_json({"name": None, "note": NO_READER})
        else:
            print_lines([NO_READER])
        return
    card = cards.reader_card(cards.CARD)
    name = (head or "").removeprefix(_PREFIX)
    if name and name not in found.decisions:
        raise OptionError(f"the learned reader has no head '{name}'", hint=did_you_mean(name, found.decisions))
    if as_json:
        print_json(_head_fields(found, card, name) if name else _fields(found, card))
    elif name:
        print_lines(_head_lines(found, card, name), hang=12)
    else:
        print_lines(_lines(found, card), hang=4)


def _fields(found: "LearnedReader", card: "ReaderCard | None") -> dict[str, Any]:
    about = {} if card is None else msgspec.to_builtins(card)
    return {
        **{key: value for key, value in about.items() if key not in {"name", "heads"}},
        "name": found.name,
        "hash": found.hash,
        "engine": found.engine.name,
        "heads": {head: _head_fields(found, card, head) for head in found.decisions},
    }


def _head_fields(found: "LearnedReader", card: "ReaderCard | None", head: str) -> dict[str, Any]:
    decision, about = found.decisions[head], _about(card, head)
    return {
        "head": head,
        "id": f"{_PREFIX}{head}",
        "side": decision.side,
        "why": decision.why,
        "instead": decision.instead,
        "alone": decision.alone,
        "agree": decision.agree,
        "precise": list(decision.precise),
        **({} if about is None else msgspec.to_builtins(about)),
    }


def _about(card: "ReaderCard | None", head: str) -> "HeadCard | None":
    return None if card is None else card.heads.get(head)


def _lines(found: "LearnedReader", card: "ReaderCard | None") -> Iterator[str]:
    engine = found.engine.name
    yield f"{click.style(safe(found.name), bold=True)}  weights and thresholds {found.hash}"
    yield f"runs on {engine}" + (f" ({SLOW})" if engine == "python" else "") + "; the same results on every engine"
    if card is None:
        yield NO_CARD
    else:
        yield from (safe(text) for text in (card.intended_use, card.limits) if text)
        yield from _trained_on(card)
    yield ""
    width = max(map(len, found.decisions), default=0)
    for head, decision in found.decisions.items():
        about = _about(card, head)
        means = (about.means if about else "") or decision.why
        yield f"  {safe(head):<{width}}  {safe(means)} {click.style(f'[{_where(decision)}]', dim=True)}"
    yield ""
    yield click.style("`synthesis reader show HEAD` shows thresholds, figures and words of one.", dim=True)


def _where(decision: "Decision") -> str:
    """The languages in which a head has a say, and which."""
    alone, both = sorted(decision.alone), sorted(decision.agree)
    parts = [f"decides in {', '.join(alone)}" if alone else "", f"weighs rules in {', '.join(both)}" if both else ""]
    return safe("; ".join(filter(None, parts)) or "off in every language")


def _trained_on(card: "ReaderCard") -> Iterator[str]:
    for one in card.trained_on:
        licence = f", {safe(one.licence)}" if one.licence else ""
        yield f"trained on  {safe(one.source)}: {one.rows:,} rows{licence}"


def _head_lines(found: "LearnedReader", card: "ReaderCard | None", head: str) -> Iterator[str]:
    decision, about = found.decisions[head], _about(card, head)
    name = click.style(safe(_PREFIX + head), bold=True)
    yield f"{name}  ({safe(found.name)}, marks the {safe(decision.side)}'s words)"
    if about and about.means:
        yield f"means       {safe(about.means)}"
    yield f"why         {safe(decision.why)}"
    yield f"instead     {safe(decision.instead)}"
    yield from _thresholds(decision)
    if decision.precise:
        yield f"always      rules that count whatever the score: {safe(', '.join(decision.precise))}"
    if card is None or about is None:
        yield NO_CARD
        return
    yield from (_figures(one) for one in about.figures)
    for label, words in (("for", about.words_for), ("against", about.words_against)):
        if words:
            yield f"{label:<10}  words that weigh most: {', '.join(safe(word) for word in words[:_SHOWN_WORDS])}"
    if about.limits:
        yield f"limits      {safe(about.limits)}"
    yield from _trained_on(card)  # last: there are many


def _thresholds(decision: "Decision") -> Iterator[str]:
    told: Sequence[tuple[str, Mapping[str, float]]] = (
        ("decides alone from a score of", decision.alone),
        ("below, rules that are often wrong do not count:", decision.agree),
    )
    for words, numbers in told:
        if numbers:
            listed = ", ".join(f"{safe(code)} {number:g} ({_odds(number)})" for code, number in sorted(numbers.items()))
            yield f"threshold   {words} {listed}"
    if not decision.alone and not decision.agree:
        yield "threshold   off in every language"


def _odds(score: float) -> str:
    """A score is a logit; as a share people can read it."""
    return f"{50 * (1 + math.tanh(score / 2)):.0f} %"


def _figures(one: "HeadFigures") -> str:
    rules = f"; rules alone {_pair(one.rules_precision, one.rules_recall)}"
    return (
        f"figures     {safe(one.language)}, {safe(one.part)}, {one.positives:,} positives: "
        f"{_pair(one.precision, one.recall)}{rules}"
    )


def _pair(precision: float | None, recall: float | None) -> str:
    return f"precision {_number(precision)}, recall {_number(recall)}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"
