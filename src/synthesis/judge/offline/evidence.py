"""What the offline judge shows for each claim, in the form that every judge's claims have."""

from collections.abc import Iterator, Sequence

from synthesis.judge.claims import CONTRADICTED, NOT_FOUND, SUPPORTED, CheckedClaim
from synthesis.judge.offline.claims import Claim
from synthesis.judge.offline.quoting import Original, Place
from synthesis.judge.offline.scoring import is_supported
from synthesis.judge.offline.support import Support


def claim_evidence(
    checked: Sequence[tuple[Claim, Support]], answer: str, passages: Sequence[str], *, listed: bool
) -> Iterator[CheckedClaim]:
    """Each claim with its verdict, its place in the answer and the words of the passage that decide it."""
    said, shown = Original(answer), [Original(passage) for passage in passages]
    end = 0
    for claim, support in checked:
        # In order, so that a sentence that the answer repeats is marked each time.
        span = said.locate(claim.text, after=end)
        end = span[1] if span else end
        yield _claim(claim.text, support, span, shown, claim_verdict(support, listed))


def claim_verdict(support: Support, listed: bool) -> str:
    """A contradiction needs a sentence that says otherwise; what merely is not there is not found."""
    if support.contradicted:
        return CONTRADICTED
    return SUPPORTED if is_supported(support, listed) else NOT_FOUND


def _claim(text: str, support: Support, span: Place | None, passages: Sequence[Original], verdict: str) -> CheckedClaim:
    number, found = support.passage, None
    if number is not None and verdict != NOT_FOUND:
        found = passages[number].locate(support.quote)
    return CheckedClaim(
        text=text,
        support=round(support.value, 6),
        evidence=support.evidence,
        unsupported=tuple(support.unsupported),
        notes=tuple(support.notes),
        verdict=verdict,
        span=span,
        passage=None if number is None else number + 1,
        quote=passages[number].text[slice(*found)] if number is not None and found else "",
        quote_found=None if verdict == NOT_FOUND else found is not None,
        quote_span=found,
    )
