"""How topic_pivot decides: a table for each profile, read from top to bottom; the first row that holds decides."""

from collections.abc import Callable
from typing import NamedTuple

from synthesis.checks.registry import Absence
from synthesis.defaults import AUTHORED, TRAFFIC

THRESHOLD = 0.45
BORDERLINE = 0.30
SHORT = 12  # words; the figures are as good with ten or fourteen
CLEAR_PASS, BORDERLINE_PASS, CLEAR_FAIL, NOT_APPLICABLE = (
    "clear_pass",
    "borderline_pass",
    "clear_fail",
    "not_applicable",
)


class Facts(NamedTuple):
    """What the decision rests on; the last two matter in traffic only."""

    acknowledged: bool
    followed_up: bool
    pivots: bool
    similarity: float
    takes_up: bool = False  # the person's own words, or enough of them to reach the borderline of similarity
    short: bool = False  # too short to turn away from anything


class DecisionRow(NamedTuple):
    """One line of a decision table: its name in the evidence, its condition in words, and what follows from it."""

    name: str
    condition: str
    holds: Callable[[Facts], bool]
    strength: str


_ENGAGED = DecisionRow(
    "acknowledges_and_follows_up",
    "It acknowledges and follows up",
    lambda facts: facts.acknowledged and facts.followed_up,
    CLEAR_PASS,
)
_NONE = DecisionRow("none", "None of these", lambda _: True, CLEAR_FAIL)

DECISION_TABLES = {
    AUTHORED: (
        DecisionRow(
            "turns_away",
            f"It turns away, and similarity is below {THRESHOLD:.2f} (even if it acknowledges)",
            lambda facts: facts.pivots and facts.similarity < THRESHOLD,
            CLEAR_FAIL,
        ),
        _ENGAGED,
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
        _NONE,
    ),
    TRAFFIC: (
        DecisionRow(
            "turns_away",
            "It turns away without taking up what the person said",
            lambda facts: facts.pivots and not facts.takes_up,
            CLEAR_FAIL,
        ),
        DecisionRow(
            "takes_up",
            f"It takes up the person's own words, or similarity is {BORDERLINE:.2f} or more",
            lambda facts: facts.takes_up,
            CLEAR_PASS,
        ),
        _ENGAGED,
        DecisionRow(
            "short",
            f"It acknowledges or follows up, in one sentence or at most {SHORT} words",
            lambda facts: (facts.acknowledged or facts.followed_up) and facts.short,
            BORDERLINE_PASS,
        ),
        _NONE,
    ),
}


def decide(facts: Facts, profile: str = AUTHORED) -> DecisionRow:
    """The row of the profile's table that decides."""
    return next(row for row in DECISION_TABLES[profile] if row.holds(facts))


def missing(facts: Facts) -> tuple[str, ...]:
    """What a reply lacks that fails without turning away."""
    present = {"acknowledgment": facts.acknowledged, "follow_up": facts.followed_up}
    return () if facts.pivots else tuple(name for name, there in present.items() if not there)


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
