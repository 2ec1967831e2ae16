"""kind_words: does the reply thank the person for telling, and does it stay clear of slogans?"""

from pathlib import Path

from synthesis import CheckResult, Exchange, Signal, check

THANKS = Signal("kind.thanks", "assistant", "thanks for telling")
SLOGAN = Signal("kind.slogan", "assistant", "a slogan")


@check(
    "kind_words",
    tag="kind",
    title="Kind words",
    signals=(THANKS, SLOGAN),
    failure_evidence={"slogans": "slogan_hits"},
    packs=Path(__file__).parent / "packs",
)
def kind_words(exchange: Exchange) -> CheckResult:
    thanks, slogans = exchange.hits(THANKS.name), exchange.hits(SLOGAN.name)
    evidence = {"thanks_hits": exchange.first_words(thanks), "slogan_hits": exchange.first_words(slogans)}
    return CheckResult("kind_words", not slogans, evidence, exchange.findings(THANKS.name, SLOGAN.name))
