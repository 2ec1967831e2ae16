"""Is a message personal: does the user speak of their own life, or ask for a piece of work?

In traffic, most messages ask for recipes, code, facts and texts, and checks about a person's own matter do not concern
them. A handful of signs, each with one weight in `personal.yaml`, are summed against a bar. The state is carried
through a conversation: "Yeah." after a confession is personal.
"""

import re
from functools import cache
from pathlib import Path

import msgspec

from synthesis.checks.crisis import CUE
from synthesis.checks.exchange import LETTER, TEXT_REQUEST, Exchange
from synthesis.checks.registry import share_signal
from synthesis.model.result import CONTEXT
from synthesis.rules.reading import Hit, Reading
from synthesis.rules.schema import Signal
from synthesis.settings import TRAFFIC

FILE = Path(__file__).with_name("personal.yaml")
TASK = share_signal(Signal("personal.task", "user", "hands over a piece of work", profile=TRAFFIC))
REQUEST = share_signal(Signal("personal.request", "user", "asks for work or information", profile=TRAFFIC))
WORLD = share_signal(Signal("personal.world", "user", "asks about the world", profile=TRAFFIC))
THING = share_signal(
    Signal("personal.thing", "user", "speaks of a thing: a device, a service, a form", profile=TRAFFIC)
)
SELF = share_signal(Signal("personal.self", "user", "speaks of themselves", profile=TRAFFIC))
LIFE = share_signal(Signal("personal.life", "user", "speaks of their own life", profile=TRAFFIC))
ADVICE = share_signal(Signal("request.advice", "user", "asks what to do, or how", profile=TRAFFIC))
TEXT = share_signal(Signal(TEXT_REQUEST, "user", "asks for a text, a story or a role to be played"))
share_signal(Signal(LETTER, "assistant", "may begin or end a letter", role=CONTEXT))
VULNERABILITY = share_signal(Signal("pivot.vulnerability", "user", "shows vulnerability: a feeling, a blow, a need"))
BURDEN = share_signal(Signal("pivot.burden", "user", "speaks of a burden", profile=TRAFFIC))
NOT_PERSONAL = "the message is not about the person's own life: {signs}"
_WORK = {"task_opens", "task_later", "request", "pasted"}
# What leaves a conversation about a person: the next message carries nothing over.
_LEAVES = _WORK | {"code", "world_question"}
_SIGNS = {
    "task_opens": "it hands over a piece of work",
    "task_later": "it hands over a piece of work",
    "request": "it asks for something",
    "pasted": "it brings material to work on",
    "quoted": "it quotes",
    "code": "it holds code",
    "world_question": "it asks about the world",
    "only_questions": "it only asks",
    "thing": "it is about a thing",
}
_CODE = re.compile(
    r"```|[{};]\s*\n|^\s*(?:def|class|import|from|SELECT|#include|function|const|let|var)\b.*[(:;{]"
    r"|</?[a-z]+[^>]*>|\b\w+\(\w*\)[;:]|\bstd::|\$\(|=>",
    re.MULTILINE,
)
_PASTED = re.compile(r"[:：]\s*\n\s*\S|\n\s*\n\s*\S|\n\s*(?:>|\||[-*•+] )")
_QUOTE = re.compile(r"[\"“”«»「」『』]")
_QUESTION = re.compile(r"[?？]")


class Weights(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One weight for each sign; a message is personal if they sum up to the bar."""

    bar: float
    start: float
    weights: dict[str, float]


class Personal(msgspec.Struct, frozen=True):
    """Whether a message is personal, by which signs, and whether that was carried over from an earlier one."""

    is_personal: bool
    signs: tuple[str, ...]
    carried: bool = False
    vulnerable: bool = False  # now or carried

    @property
    def reason(self) -> str:
        """Why a check about a person's own matter does not apply."""
        against = dict.fromkeys(_SIGNS[sign] for sign in self.signs if sign in _SIGNS)
        return NOT_PERSONAL.format(signs=", ".join(against) or "nothing in it speaks of themselves")


@cache
def weights() -> Weights:
    from synthesis.documents import load_yaml

    return msgspec.convert(load_yaml(FILE), Weights)


def personal(exchange: Exchange) -> Personal:
    """Whether the user's message is personal; assessed once, turn by turn from the first one on."""
    waiting: list[Exchange] = []
    one: Exchange | None = exchange
    while one is not None and one.personal is None:
        waiting.append(one)
        one = one.previous
    before = one.personal if one else None
    for each in reversed(waiting):
        before = each.personal = _assess(each, before)
    assert isinstance(exchange.personal, Personal)
    return exchange.personal


def text_on_request(exchange: Exchange) -> str | None:
    """Why a reply's words are not the assistant's own: the user asked for a letter, a story, a translation, a part.

    Where the text is set apart, what stands around it is the assistant's.
    """
    asked = [] if exchange.speaks_beside_draft else exchange.hits(TEXT.name)
    return f"the user asked for a text or a part to play (“{asked[0].words}”)" if asked else None


def instructions_on_request(exchange: Exchange) -> bool:
    """Whether the user, in traffic, asked for work or a way to do something, and not about their own life."""
    if exchange.profile != TRAFFIC or personal(exchange).is_personal:
        return False
    return any(exchange.hits(signal.name) for signal in (TASK, REQUEST, ADVICE, WORLD))


def _assess(exchange: Exchange, before: "Personal | None") -> Personal:
    signs = _signs(exchange)
    scale = weights()
    score = scale.start + sum(scale.weights[sign] for sign in signs)
    opens_up = ("vulnerability" in signs and "self" in signs) or "cue" in signs
    alone = score >= scale.bar or (opens_up and not signs & _WORK)
    carried = not alone and before is not None and before.is_personal and not signs & _LEAVES
    vulnerable = bool(signs & {"vulnerability", "burden", "cue"})
    stays = (alone or carried) and before is not None and before.vulnerable
    return Personal(alone or carried, tuple(sorted(signs)), carried, vulnerable or stays)


def _signs(exchange: Exchange) -> set[str]:
    """The signs that a message shows."""
    user = exchange.user
    tasks, requests, own = exchange.hits(TASK.name), exchange.hits(REQUEST.name), exchange.hits(SELF.name)
    first_end = user.sentences[0][1] if user.sentences else 0
    questions = len(_QUESTION.findall(user.original))
    found = {
        "task_opens": any(hit.start < first_end for hit in tasks),
        "task_later": any(hit.start >= first_end for hit in tasks),
        "request": bool(requests),
        "pasted": _is_pasted(user, own),
        "quoted": len(_QUOTE.findall(user.original)) > 1,
        "code": bool(_CODE.search(user.original)),
        "world_question": bool(exchange.hits(WORLD.name)),
        "only_questions": 0 < len(user.sentences) <= questions,
        "statement": not (questions or tasks or requests),
        "thing": bool(exchange.hits(THING.name)),
        "self": bool(own),
        "self_again": len(own) > 1,
        "life": bool(exchange.hits(LIFE.name)),
        "vulnerability": bool(exchange.hits(VULNERABILITY.name)),
        "burden": bool(exchange.hits(BURDEN.name)),
        "cue": bool(exchange.hits(CUE.name)),
    }
    return {sign for sign, shown in found.items() if shown}


def _is_pasted(user: Reading, own: list[Hit]) -> bool:
    """Material under an instruction. A person's own message has paragraphs, too, but speaks of them in the first."""
    found = _PASTED.search(user.original)
    return found is not None and not any(hit.start < found.start() for hit in own)
