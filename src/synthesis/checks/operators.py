"""The operators of a table: what each takes, what it gives, one sentence and one example. There are no others.

Hits are places in a text where a rule matched, in the order of the text; an operator never changes one.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from synthesis.checks.exchange import Exchange, apart_from, first_of_each, outermost, warned
from synthesis.model.texts import on_absence
from synthesis.rules.reading import Hit

# The kinds of values. Each can be asked whether it holds: hits, words and names if there are some, a number if not 0.
HITS, WORDS, NAMES, NUMBER, TRUTH, TEXT, MAPPING, ANY = KINDS = (
    "hits",
    "words",
    "names",
    "number",
    "truth",
    "text",
    "mapping",
    "anything",
)


class Operator(NamedTuple):
    """What a table may call. `of_exchange`: it looks at the texts as well, not at its arguments alone."""

    name: str
    takes: tuple[str, ...]
    gives: str
    does: str
    example: str
    call: Callable[..., Any]
    of_exchange: bool = False
    named: bool = False  # any number of arguments, each with a name
    of_steps: bool = False  # its argument maps names of steps, and it asks for these


OPERATORS: dict[str, Operator] = {}
Call = Callable[..., Any]
Step = Callable[[str], Any]


def operator(
    *takes: str,
    gives: str,
    does: str,
    example: str,
    of_exchange: bool = False,
    named: bool = False,
    of_steps: bool = False,
) -> Callable[[Call], Call]:
    def register(call: Call) -> Call:
        name = call.__name__.rstrip("_")
        OPERATORS[name] = Operator(name, takes, gives, does, example, call, of_exchange, named, of_steps)
        return call

    return register


def by_place(hit: Hit) -> tuple[int, int, str]:
    return hit.start, -hit.end, hit.rule.id


# What the learned reader says.


@operator(
    TEXT,
    gives=TRUTH,
    of_exchange=True,
    does="Whether the learned reader lets rules count that are often wrong; true where it has no say.",
    example="agrees('topic_pivot')",
)
def agrees(exchange: Exchange, head: str) -> bool:
    return exchange.agrees(head)


@operator(
    HITS,
    TEXT,
    gives=HITS,
    of_exchange=True,
    does="The hits that count beside the learned reader: where its score disagrees, those of precise rules alone.",
    example="backed(identity.claim, 'identity_claim')",
)
def backed(exchange: Exchange, hits: Sequence[Hit], head: str) -> list[Hit]:
    return exchange.backed(hits, head)


# Which of several hits count.


OPERATORS["outermost"] = Operator(
    "outermost",
    (HITS,),
    HITS,
    "The hits without those that lie inside another one.",
    "outermost(agency.positive)",
    outermost,
)


@operator(
    HITS,
    HITS,
    gives=HITS,
    does="The first hits without those that touch one of the second.",
    example="apart(agency.negative, steps)",
)
def apart(hits: Sequence[Hit], others: Sequence[Hit]) -> list[Hit]:
    return apart_from(list(others), hits)


@operator(
    HITS,
    HITS,
    gives=HITS,
    example="not_alone(pivot.follow_up, acknowledgments)",
    does="The first hits apart from the only one of the second: one phrase cannot do both.",
)
def not_alone(hits: Sequence[Hit], others: Sequence[Hit]) -> list[Hit]:
    if not others:
        return list(hits)
    return [hit for hit in hits if any(other.end <= hit.start or hit.end <= other.start for other in others)]


@operator(
    HITS,
    gives=HITS,
    does="Of hits that overlap the first alone: one phrase that two rules find is one.",
    example="once(flattery.mild)",
)
def once(hits: Iterable[Hit]) -> list[Hit]:
    kept: list[Hit] = []
    for hit in sorted(hits, key=by_place):
        if not kept or hit.start >= kept[-1].end:
            kept.append(hit)
    return kept


@operator(HITS, gives=HITS, does="The hits in the order of the text.", example="in_order(mind_reading + guarantee)")
def in_order(hits: Iterable[Hit]) -> list[Hit]:
    return sorted(hits, key=by_place)


@operator(
    HITS,
    NAMES,
    gives=HITS,
    does="The hits whose rule is of one of these groups.",
    example="in_groups(identity.claim, human)",
)
def in_groups(hits: Iterable[Hit], groups: Sequence[str]) -> list[Hit]:
    return [hit for hit in hits if hit.rule.group in groups]


@operator(
    HITS,
    NAMES,
    gives=HITS,
    does="The hits whose rule is of none of these groups.",
    example="without_groups(pivot.indicator, lists)",
)
def without_groups(hits: Iterable[Hit], groups: Sequence[str]) -> list[Hit]:
    return [hit for hit in hits if hit.rule.group not in groups]


@operator(HITS, TEXT, gives=HITS, does="The hits of one rule.", example="of_rule(pivots, 'pivot.indicator.sale')")
def of_rule(hits: Iterable[Hit], rule: str) -> list[Hit]:
    return [hit for hit in hits if hit.rule.id == rule]


# Where hits are.


@operator(
    HITS,
    gives=HITS,
    of_exchange=True,
    does="The hits in the first two sentences of the reply.",
    example="in_opening(pivot.acknowledgment)",
)
def in_opening(exchange: Exchange, hits: Iterable[Hit]) -> list[Hit]:
    limit = exchange.assistant.anchor[1]
    return [hit for hit in hits if hit.start < limit]


@operator(
    HITS,
    gives=HITS,
    of_exchange=True,
    does="The hits after the first two sentences of the reply.",
    example="after_opening(pivot.acknowledgment)",
)
def after_opening(exchange: Exchange, hits: Iterable[Hit]) -> list[Hit]:
    limit = exchange.assistant.anchor[1]
    return [hit for hit in hits if hit.start >= limit]


@operator(
    HITS,
    gives=HITS,
    of_exchange=True,
    does="The hits in the first sentence of the message.",
    example="in_first_sentence(personal.task)",
)
def in_first_sentence(exchange: Exchange, hits: Iterable[Hit]) -> list[Hit]:
    end = _first_end(exchange)
    return [hit for hit in hits if hit.start < end]


@operator(
    HITS,
    gives=HITS,
    of_exchange=True,
    does="The hits after the first sentence of the message.",
    example="after_first_sentence(personal.task)",
)
def after_first_sentence(exchange: Exchange, hits: Iterable[Hit]) -> list[Hit]:
    end = _first_end(exchange)
    return [hit for hit in hits if hit.start >= end]


def _first_end(exchange: Exchange) -> int:
    sentences = exchange.user.sentences
    return sentences[0][1] if sentences else 0


@operator(
    HITS,
    HITS,
    gives=HITS,
    of_exchange=True,
    example="without_ground(flattery.strong, flattery.reason)",
    does="The first hits without those that one of the second follows in the same or the next sentence.",
)
def without_ground(exchange: Exchange, hits: Iterable[Hit], grounds: Sequence[Hit]) -> list[Hit]:
    starts = [ground.start for ground in grounds]
    return [hit for hit in hits if not any(hit.start <= start < _reach(exchange, hit) for start in starts)]


def _reach(exchange: Exchange, hit: Hit) -> int:
    """Where the sentence after a hit's own ends."""
    ends = [end for _, end in exchange.assistant.sentences if end > hit.start]
    return ends[min(1, len(ends) - 1)] if ends else hit.end


@operator(
    HITS,
    gives=TRUTH,
    of_exchange=True,
    example="cover_reply(crisis.referral + crisis.care)",
    does="Whether every sentence of the reply holds the beginning of one of the hits.",
)
def cover_reply(exchange: Exchange, hits: Iterable[Hit]) -> bool:
    reply = exchange.assistant
    return {reply.sentence_at(hit.start) for hit in hits}.issuperset(reply.sentences)


# How many there are, and what they are.


@operator(
    HITS,
    gives=NUMBER,
    does="How many rules the hits are of: a rule counts once, however often it hits.",
    example="rules(support)",
)
def rules(hits: Iterable[Hit]) -> int:
    return len(first_of_each(hits))


@operator(ANY, gives=NUMBER, does="How many there are.", example="count(mild)")
def count(values: Sequence[Any]) -> int:
    return len(values)


@operator(
    HITS,
    gives=NAMES,
    does="The groups of the hits' rules, in the order of the alphabet.",
    example="groups(disclosure.question)",
)
def groups(hits: Iterable[Hit]) -> list[str]:
    return sorted({hit.rule.group for hit in hits})


@operator(
    HITS, gives=NAMES, does="The ids of the hits' rules, in the order of the alphabet.", example="rule_ids(claims)"
)
def rule_ids(hits: Iterable[Hit]) -> list[str]:
    return sorted({hit.rule.id for hit in hits})


@operator(HITS, TEXT, gives=HITS, does="The hits of one signal.", example="of_signal(support, 'agency.positive')")
def of_signal(hits: Iterable[Hit], signal: str) -> list[Hit]:
    return [hit for hit in hits if hit.rule.signal == signal]


@operator(
    HITS, gives=WORDS, does="The words of the first hit of each rule, each wording once.", example="words(claims)"
)
def words(hits: Sequence[Hit]) -> list[str]:
    return list(dict.fromkeys([hit.words for hit in first_of_each(hits)])) if hits else []


@operator(HITS, gives=WORDS, does="The words of every hit, each wording once.", example="all_words(counting)")
def all_words(hits: Iterable[Hit]) -> list[str]:
    return list(dict.fromkeys(hit.words for hit in hits))


@operator(WORDS, gives=WORDS, does="The wordings that hold none of the others.", example="tightest(words(crisis.cue))")
def tightest(wordings: Sequence[str]) -> list[str]:
    return [text for text in wordings if not any(other in text for other in wordings if other != text)]


@operator(
    HITS, gives=MAPPING, does="For each group the words of the first hit of each rule.", example="by_group(claims)"
)
def by_group(hits: Iterable[Hit]) -> dict[str, list[str]]:
    grouped: dict[str, list[Hit]] = defaultdict(list)
    for hit in hits:
        grouped[hit.rule.group].append(hit)
    return {group: words(members) for group, members in sorted(grouped.items())}


@operator(
    TEXT,
    gives=WORDS,
    of_exchange=True,
    does="The words of hits of a signal that a reader should see, but that decide nothing.",
    example="warnings('identity.claim')",
)
def warnings(exchange: Exchange, signal: str) -> list[str]:
    return warned(exchange, signal)


# Several steps at once, by name.


@operator(gives=NAMES, named=True, does="The names whose step holds.", example="present(care=care, help=help)")
def present(**steps: Any) -> list[str]:
    return [name for name, value in steps.items() if value]


@operator(gives=NAMES, named=True, does="The names whose step does not hold.", example="absent(care=care, help=help)")
def absent(**steps: Any) -> list[str]:
    return [name for name, value in steps.items() if not value]


@operator(
    gives=MAPPING,
    named=True,
    does="The words of each step that has hits, under its name.",
    example="words_by_name(care=care, help=help)",
)
def words_by_name(**steps: Sequence[Hit]) -> dict[str, list[str]]:
    return {name: words(hits) for name, hits in steps.items() if hits}


@operator(gives=MAPPING, named=True, does="Each value under its name.", example="named(found=found, missing=missing)")
def named(**values: Any) -> dict[str, Any]:
    return values


# Words that both texts have.


@operator(
    WORDS,
    HITS,
    gives=TRUTH,
    does="Whether one of the words is in the words of the hits.",
    example="in_words(taken_up, vulnerable)",
)
def in_words(wanted: Iterable[str], hits: Iterable[Hit]) -> bool:
    told = " ".join(hit.words.lower() for hit in hits)
    return any(word in told for word in wanted)


@operator(ANY, NAMES, gives=TRUTH, does="Whether the two have a name in common.", example="share(groups, away_groups)")
def share(one: Iterable[str], other: Iterable[str]) -> bool:
    return not set(one).isdisjoint(other)


@operator(TEXT, gives=TRUTH, of_exchange=True, does="Whether the case has this tag.", example="tagged('role-play')")
def tagged(exchange: Exchange, tag: str) -> bool:
    return tag in exchange.tags


@operator(
    TEXT,
    gives=TRUTH,
    of_exchange=True,
    does="Of a result: whether it shows a finding of this signal.",
    example="shows('crisis.cue')",
)
def shows(result: Any, signal: str) -> bool:
    return bool(result.shows(signal))


@operator(NUMBER, gives=NUMBER, does="The number with two decimals.", example="rounded(similarity)")
def rounded(number: float) -> float:
    return round(number, 2)


@operator(
    NAMES,
    TEXT,
    gives=WORDS,
    of_exchange=True,
    example="advice(lacks, 'crisis_response')",
    does="What the packs advise where a reply to this check lacks these.",
)
def advice(exchange: Exchange, names: Iterable[str], check: str) -> list[str]:
    told_in = exchange.assistant.language.code
    return [f"{name}: {on_absence(exchange.texts, check, name, told_in).instead}" for name in names]


@operator(ANY, gives=TRUTH, does="Whether there is any.", example="holds(acknowledgments)")
def holds(value: Any) -> bool:
    return bool(value)


@operator(
    WORDS,
    WORDS,
    gives=WORDS,
    does="The wordings of both, each once.",
    example="both(words(follow_ups), all_words(later))",
)
def both(one: Iterable[str], other: Iterable[str]) -> list[str]:
    return list(dict.fromkeys([*one, *other]))


@operator(TEXT, NAMES, gives=TRUTH, does="Whether the name is among the names.", example="in_names('care', lacking)")
def in_names(name: str, names: Sequence[str]) -> bool:
    return name in names


# Several steps at once, by a constant that maps their names to something.


@operator(
    MAPPING,
    gives=NUMBER,
    of_steps=True,
    does="The sum of the numbers of those steps that hold.",
    example="weighed(personal_weights)",
)
def weighed(step: Step, weights: Mapping[str, float]) -> float:
    total: float = 0
    for name, weight in weights.items():  # one after the other: `sum` rounds otherwise from Python 3.12 on
        total += weight if step(name) else 0
    return total


@operator(
    MAPPING,
    gives=WORDS,
    of_steps=True,
    does="The texts of those steps that hold, each once.",
    example="told(not_personal)",
)
def told(step: Step, texts: Mapping[str, str]) -> list[str]:
    return list(dict.fromkeys(text for name, text in texts.items() if step(name)))
