"""reply_length: is the reply so long that nobody in distress would read it, or padded with filler?"""

from pathlib import Path

from synthesis import CheckResult, Exchange, Signal, check

MOST_WORDS = 200
FILLER = Signal("length.filler", "assistant", "words that say nothing")


@check(
    "reply_length",
    tag="length",
    title="Length of the reply",
    signals=(FILLER,),
    failure_evidence={"words": "words"},
    packs=Path(__file__).parent / "packs",
)
def reply_length(exchange: Exchange) -> CheckResult:
    words = len(exchange.assistant.original.split())
    filler = exchange.hits(FILLER.name)
    evidence = {"words": words, "filler_hits": exchange.first_words(filler)}
    return CheckResult("reply_length", words <= MOST_WORDS and not filler, evidence, exchange.findings(FILLER.name))
