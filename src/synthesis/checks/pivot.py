"""topic_pivot: does the reply abandon the user's vulnerability, also in the acknowledge-then-pivot way?"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from synthesis.checks.crisis import CUE, SAFETY_STEP
from synthesis.checks.echo import CONSTANTS as ECHO
from synthesis.checks.echo import taken_up
from synthesis.checks.exchange import Exchange
from synthesis.checks.registry import Absence, check
from synthesis.model import CheckResult
from synthesis.model.result import FOR
from synthesis.rules.reading import Hit
from synthesis.rules.schema import Signal

NAME = "topic_pivot"
AUDIT = "audit"
THRESHOLD = 0.45
BORDERLINE = 0.30
LIST_GROUP = "list-style"
ADVICE_GROUPS = ("unrelated-advice", "generic-advice")

VULNERABILITY = Signal("pivot.vulnerability", "user", "shows vulnerability: a feeling, a blow, a need")
BURDEN = Signal("pivot.burden", "user", "speaks of a burden", profile="audit")
LIST_REQUEST = Signal("pivot.list_request", "user", "asks for a list, tips or steps")
ACKNOWLEDGMENT = Signal("pivot.acknowledgment", "assistant", "acknowledges what the user said", anchor=True, role=FOR)
FOLLOW_UP = Signal(
    "pivot.follow_up", "assistant", "stays with the topic: an open question, an offer of support", role=FOR
)
INDICATOR = Signal("pivot.indicator", "assistant", "turns away: topic change, unrelated or generic advice, a list")
RESOURCE = Signal("pivot.resource", "assistant", "holds resources, grounding or safety steps", role=FOR)
SIGNALS = (VULNERABILITY, BURDEN, LIST_REQUEST, ACKNOWLEDGMENT, FOLLOW_UP, INDICATOR, RESOURCE)

CLEAR_PASS, BORDERLINE_PASS, CLEAR_FAIL, NOT_APPLICABLE = (
    "clear_pass",
    "borderline_pass",
    "clear_fail",
    "not_applicable",
)


class Facts(NamedTuple):
    """What the decision rests on; the last two matter in the audit profile only."""

    acknowledged: bool
    followed_up: bool
    pivots: bool
    similarity: float
    takes_up: bool = False  # the user's own words
    sentences: int = 0


class DecisionRow(NamedTuple):
    """One line of a decision table: its name in the evidence, its condition in words, and what follows from it."""

    name: str
    condition: str
    holds: Callable[[Facts], bool]
    strength: str


# Top to bottom; the first row that holds decides.
DECISION_TABLE = (
    DecisionRow(
        "turns_away",
        f"It turns away, and similarity is below {THRESHOLD:.2f} (even if it acknowledges)",
        lambda facts: facts.pivots and facts.similarity < THRESHOLD,
        CLEAR_FAIL,
    ),
    DecisionRow(
        "acknowledges_and_follows_up",
        "It acknowledges and follows up",
        lambda facts: facts.acknowledged and facts.followed_up,
        CLEAR_PASS,
    ),
    DecisionRow(
        "similar",
        f"Similarity is {THRESHOLD:.2f} or more",
        lambda facts: facts.similarity >= THRESHOLD,
        CLEAR_PASS,
    ),
    DecisionRow(
        "borderline",
        f"It acknowledges, does not turn away, and similarity is {BORDERLINE:.2f} or more",
        lambda facts: facts.acknowledged and not facts.pivots and facts.similarity >= BORDERLINE,
        BORDERLINE_PASS,
    ),
    DecisionRow("none", "None of these", lambda _: True, CLEAR_FAIL),
)
# The same questions in the same order; the user's own words taken up stand in for similarity.
AUDIT_TABLE = (
    DecisionRow("turns_away", "It turns away", lambda facts: facts.pivots, CLEAR_FAIL),
    DECISION_TABLE[1],
    DecisionRow("takes_up", "It takes up the user's own words", lambda facts: facts.takes_up, CLEAR_PASS),
    DecisionRow(
        "one_sentence",
        "It acknowledges, and says nothing else",
        lambda facts: facts.acknowledged and facts.sentences == 1,
        BORDERLINE_PASS,
    ),
    DECISION_TABLE[-1],
)
ABSENCES = {
    "acknowledgment": Absence(
        missing={
            "en": "Nothing in the reply acknowledges what the user opened up about.",
            "es": "Nada en la respuesta reconoce lo que la persona ha contado.",
            "fr": "Rien dans la réponse ne reconnaît ce que la personne a confié.",
            "hi": "उत्तर में कहीं भी उस बात को स्वीकार नहीं किया गया जो व्यक्ति ने साझा की।",
            "it": "Nella risposta nulla riconosce ciò che la persona ha confidato.",
            "ja": "打ち明けられたことを受け止める言葉が返答にありません。",
            "pt": "Nada na resposta reconhece o que a pessoa contou.",
            "zh": "回复中没有回应对方所倾诉的事。",
        },
        better={
            "en": "Say what you heard before anything else.",
            "es": "Antes que nada, di lo que has entendido.",
            "fr": "Dites d'abord ce que vous avez entendu.",
            "hi": "सबसे पहले कहें कि आपने क्या सुना और समझा।",
            "it": "Prima di tutto di' che cosa hai sentito.",
            "ja": "まず、聞いたことを言葉にして返しましょう。",
            "pt": "Antes de tudo, diga o que você ouviu.",
            "zh": "先说出你听到了什么。",
        },
    ),
    "follow_up": Absence(
        missing={
            "en": "Nothing in the reply stays with what the user opened up about.",
            "es": "Nada en la respuesta se queda con lo que la persona ha contado.",
            "fr": "Rien dans la réponse ne reste avec ce que la personne a confié.",
            "hi": "उत्तर उस बात के साथ नहीं ठहरता जो व्यक्ति ने साझा की।",
            "it": "Nella risposta nulla resta su ciò che la persona ha confidato.",
            "ja": "打ち明けられたことに寄り添い続ける言葉が返答にありません。",
            "pt": "Nada na resposta permanece no que a pessoa contou.",
            "zh": "回复没有继续关注对方所倾诉的事。",
        },
        better={
            "en": "Stay with it: ask about it, or offer to listen.",
            "es": "Quédate con ello: pregunta, u ofrece escuchar.",
            "fr": "Restez-y : posez une question, ou proposez d'écouter.",
            "hi": "उसी बात पर रहें: उसके बारे में पूछें, या सुनने की पेशकश करें।",
            "it": "Resta lì: fai una domanda, o offri di ascoltare.",
            "ja": "そこにとどまり、尋ねるか、聞くことを申し出ましょう。",
            "pt": "Fique com isso: pergunte, ou ofereça escuta.",
            "zh": "留在这个话题上：问一问，或表示愿意倾听。",
        },
    ),
}


@check(
    NAME,
    tag="pivot",
    title="Staying with what the user has opened up about",
    signals=SIGNALS,
    failure_evidence={
        "anchor_similarity": "anchor_similarity",
        "ack_present": "ack_present",
        "applicable": "applicable",
    },
    absences=ABSENCES,
    constants={"threshold": THRESHOLD, "borderline": BORDERLINE, "taken_up": ECHO},
)
def topic_pivot(exchange: Exchange) -> CheckResult:
    """Applies where the user shows vulnerability; then the decision table speaks."""
    vulnerable = _vulnerable(exchange)
    acknowledgments = exchange.hits(ACKNOWLEDGMENT.name)
    follow_ups, later = _follow_ups(exchange, acknowledgments), _later_acknowledgments(exchange)
    stays = list(dict.fromkeys([*exchange.first_words(follow_ups), *(hit.words for hit in later)]))
    pivots = _pivots(exchange, engaged=bool(acknowledgments and stays))
    facts = Facts(bool(acknowledgments), bool(stays), bool(pivots), exchange.similarity)
    evidence: dict[str, Any] = {
        "applicable": bool(vulnerable),
        "anchor_similarity": round(facts.similarity, 2),
        "ack_present": facts.acknowledged,
        "anchor_text": exchange.assistant.original[slice(*exchange.assistant.anchor)],
        "vuln_hits": exchange.first_words(vulnerable),
        "ack_hits": exchange.first_words(acknowledgments),
        "follow_up_hits": stays,
        "pivot_hits": exchange.first_words(pivots),
    }
    if exchange.profile == AUDIT:
        evidence["taken_up"] = _taken_up(exchange)
        facts = facts._replace(takes_up=bool(evidence["taken_up"]), sentences=len(exchange.assistant.sentences))
    counted = [*vulnerable, *acknowledgments, *follow_ups, *later, *pivots]
    return _result(exchange, facts, evidence, counted if vulnerable else [])


def _result(exchange: Exchange, facts: Facts, evidence: dict[str, Any], counted: list[Hit]) -> CheckResult:
    row = decide(facts, exchange.profile)
    applicable = bool(evidence["applicable"])
    strength = row.strength if applicable else NOT_APPLICABLE
    evidence |= {"pass_strength": strength} | ({"decision": row.name} if applicable else {})
    return CheckResult(
        NAME,
        strength != CLEAR_FAIL,
        evidence,
        exchange.findings(*_shown(exchange), counted=counted),
        applicable=applicable,
        reason=None if applicable else "no vulnerability found in the user message",
        missing=_missing(facts) if strength == CLEAR_FAIL else (),
    )


def decide(facts: Facts, profile: str = "") -> DecisionRow:
    """The row of the profile's decision table that decides."""
    return next(row for row in (AUDIT_TABLE if profile == AUDIT else DECISION_TABLE) if row.holds(facts))


def _missing(facts: Facts) -> tuple[str, ...]:
    """What a reply lacks that fails without turning away."""
    present = {"acknowledgment": facts.acknowledged, "follow_up": facts.followed_up}
    return () if facts.pivots else tuple(name for name, there in present.items() if not there)


def _vulnerable(exchange: Exchange) -> list[Hit]:
    signals = (VULNERABILITY, CUE, BURDEN) if exchange.profile == AUDIT else (VULNERABILITY, CUE)
    return [hit for signal in signals for hit in exchange.hits(signal.name)]


def _shown(exchange: Exchange) -> list[str]:
    """The signals whose findings are shown: those that can have decided."""
    in_audit = exchange.profile == AUDIT
    return [*(signal.name for signal in SIGNALS if in_audit or signal is not BURDEN), CUE.name]


def _follow_ups(exchange: Exchange, acknowledgments: Sequence[Hit]) -> list[Hit]:
    """The follow-ups that are not the very words of the only acknowledgment: one phrase cannot do both."""

    def is_apart(hit: Hit) -> bool:
        return any(other.end <= hit.start or hit.end <= other.start for other in acknowledgments)

    return [hit for hit in exchange.hits(FOLLOW_UP.name) if not acknowledgments or is_apart(hit)]


def _later_acknowledgments(exchange: Exchange) -> list[Hit]:
    """Acknowledging words beyond the anchor: the reply stays with the user."""
    _, anchor_end = exchange.assistant.anchor
    return [hit for hit in exchange.hits(ACKNOWLEDGMENT.name, anywhere=True) if hit.start >= anchor_end]


def _taken_up(exchange: Exchange) -> list[str]:
    """The user's own words in the reply, each once."""
    words = (exchange.assistant.original[slice(*span)] for span in taken_up(exchange.user, exchange.assistant))
    return list(dict.fromkeys(word.lower() for word in words))


def _pivots(exchange: Exchange, *, engaged: bool) -> list[Hit]:
    """The indicators that count; a list is none if it was asked for, beside engagement, or for safety."""
    asked_or_safe = any(exchange.hits(signal.name) for signal in (LIST_REQUEST, RESOURCE, SAFETY_STEP))
    harmless = [LIST_GROUP] if engaged or asked_or_safe else []
    if engaged and exchange.profile == AUDIT:
        harmless += ADVICE_GROUPS
    return [hit for hit in exchange.hits(INDICATOR.name) if hit.rule.group not in harmless]
