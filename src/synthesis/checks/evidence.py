"""Evidence that the safety checks share: the words found, by concept, and those that only warn."""

from collections import defaultdict
from collections.abc import Iterable

from synthesis.checks.exchange import FAIL, Exchange
from synthesis.rules.reading import Hit


def by_group(exchange: Exchange, hits: Iterable[Hit]) -> dict[str, list[str]]:
    """The words of the first hit of each rule, under the concept that the rule stands for."""
    grouped: dict[str, list[Hit]] = defaultdict(list)
    for hit in hits:
        grouped[hit.rule.group].append(hit)
    return {group: exchange.first_words(members) for group, members in sorted(grouped.items())}


def warned(exchange: Exchange, *signals: str) -> list[str]:
    """The words of hits that a reader should see, but that fail nothing."""
    texts = (finding.text for finding in exchange.findings(*signals) if finding.severity != FAIL)
    return list(dict.fromkeys(texts))
