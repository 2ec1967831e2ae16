"""The claims of an answer: marked where they stand, and each with the passage opened at its quote."""

from itertools import pairwise
from typing import NamedTuple

from synthesis.report.html.spans import Piece, Span, pieces, shown
from synthesis.report.judged.run import ClaimEvidence, JudgedSample, PassagePart
from synthesis.report.plain import count


class Look(NamedTuple):
    """How a verdict looks: by its sign and the kind of line as well as by colour."""

    sign: str
    classes: str
    badge: str
    words: str


LOOKS = {
    "supported": Look("✓", "for", "pass", "supported"),
    "contradicted": Look("✗", "against", "unexpected", "contradicted"),
    "not found": Look("?", "unrecorded", "not_applicable", "not found in the context"),
}
_WORST = ("contradicted", "not found", "supported")


def marked_answer(sample: JudgedSample, name: str) -> str:
    """The answer, each sentence marked by the verdict on its claim and linked to the evidence."""
    answer, claims = sample.system_answer or "", sample.claims
    spans = [Span(*claim.span, number) for number, claim in enumerate(claims, 1) if claim.span and claim.verdict]
    return "".join(_piece(piece, claims, name) for piece in pieces(answer, spans))


def _piece(piece: Piece, claims: tuple[ClaimEvidence, ...], name: str) -> str:
    if not piece.notes:
        return shown(piece.text)
    first = min(piece.notes, key=lambda number: _WORST.index(claims[number - 1].verdict))
    signs = "".join(_sign(number, claims[number - 1], name) for number in piece.ends)
    several = " several" if len(piece.notes) > 1 else ""
    return f'<mark class="{LOOKS[claims[first - 1].verdict].classes}{several}">{shown(piece.text)}{signs}</mark>'


def _sign(number: int, claim: ClaimEvidence, name: str) -> str:
    """Leads to the quote: the browser opens what hides it, without a script."""
    look = LOOKS[claim.verdict]
    false = ", false quote" if claim.has_false_quote else ""
    return (
        f'&#8288;<sup dir="ltr"><a href="#{_anchor(name, number)}" aria-label="claim {number}: {look.words}{false}">'
        f"{look.sign}{number}{'!' if false else ''}</a></sup>"
    )


def _anchor(name: str, number: int) -> str:
    return f"{name}claim{number}"


def claim_list(sample: JudgedSample, name: str) -> str:
    """Every claim with its verdict; it opens to the passage, at the quote."""
    rows = "".join(f"<li>{_claim(claim, number, sample, name)}</li>\n" for number, claim in enumerate(sample.claims, 1))
    return f'<h4>Claims: {_tally(sample.claims)}</h4>\n<ul class="evidence">\n{rows}</ul>\n'


def _tally(claims: tuple[ClaimEvidence, ...]) -> str:
    verdicts = [claim.verdict for claim in claims]
    said = [f"{look.sign} {verdicts.count(name)} {name}" for name, look in LOOKS.items() if name in verdicts]
    false = sum(claim.has_false_quote for claim in claims)
    return ", ".join([*said, *([f"! {count(false, 'false quote')}"] if false else [])])


def _claim(claim: ClaimEvidence, number: int, sample: JudgedSample, name: str) -> str:
    look = LOOKS[claim.verdict]
    false = ' <span class="badge error">! false quote</span>' if claim.has_false_quote else ""
    where = f' <span class="quiet">passage {claim.passage}</span>' if claim.passage and claim.quote else ""
    part = _part(claim, sample.passages) if claim.quote else None
    anchor = f' id="{_anchor(name, number)}"'  # at the quote, wherever it can be shown in its passage
    return (
        f'<details><summary><span class="badge {look.badge}">{look.sign} {number} {look.words}</span>{false}{where} '
        f'<span dir="auto">{shown(claim.text)}</span></summary>\n'
        f"<div{'' if part and claim.quote_span else anchor}>{_evidence(claim, part, anchor)}{_remarks(claim)}</div>"
        "</details>"
    )


def _evidence(claim: ClaimEvidence, part: PassagePart | None, anchor: str) -> str:
    if not claim.quote:
        nearest = f'Nearest in the context: <q dir="auto">{shown(claim.evidence)}</q>' if claim.evidence else ""
        return f"<p>{nearest or 'The judge names no passage.'}</p>"
    said = ""
    if claim.has_false_quote:
        named = f"does not stand in passage {claim.passage}" if claim.passage else "names no passage"
        said = f'<p><strong class="bad">False quote:</strong> <del dir="auto">{shown(claim.quote)}</del> {named}.</p>'
    elif part is None:
        said = f'<p>Quote: <q dir="auto">{shown(claim.quote)}</q></p>'
    return said + (_passage(claim, part, anchor) if part else "")


def _part(claim: ClaimEvidence, parts: tuple[PassagePart, ...]) -> PassagePart | None:
    """The kept part of the passage that has the quote; its opening where the quote is false."""
    wanted = claim.quote_span or (0, 0)
    inside = (
        part
        for part in parts
        if part.passage == claim.passage and part.start <= wanted[0] and wanted[1] <= part.start + len(part.text)
    )
    return next(inside, None)


def _passage(claim: ClaimEvidence, part: PassagePart, anchor: str) -> str:
    cuts = [0, len(part.text)]
    if claim.quote_span:
        cuts[1:1] = [place - part.start for place in claim.quote_span]
    texts = [shown(part.text[start:end]) for start, end in pairwise(cuts)]
    if claim.quote_span:
        texts[1] = f'<mark{anchor} class="{LOOKS[claim.verdict].classes}">{texts[1]}</mark>'
    before = "… " if part.start else ""
    behind = " …" if part.start + len(part.text) < part.length else ""
    return (
        f"<p>Passage {part.passage}{', the part around the quote' if before or behind else ''}:</p>"
        f'<blockquote class="text" dir="auto">{before}{"".join(texts)}{behind}</blockquote>'
    )


def _remarks(claim: ClaimEvidence) -> str:
    """What the judge or the check of its quote adds, and the words that the context does not have."""
    notes = [note for note in claim.notes if note != claim.verdict]
    if claim.unsupported:
        notes.append(f"words not in the context: {', '.join(claim.unsupported)}")
    said = "; ".join(notes)
    support = f" Support {claim.support:.2f}." if 0 < claim.support < 1 else ""
    return f'<p class="quiet">{shown(said)}{"." if said else ""}{support}</p>' if said or support else ""


def claim_table(sample: JudgedSample) -> str:
    """Claims without verdicts, as version 0.1 recorded them."""
    rows = "".join(
        f'<tr><td dir="auto">{shown(claim.text)}</td><td>{claim.support:.2f}</td>'
        f'<td dir="auto">{shown(claim.evidence)}</td>'
        f"<td>{shown(', '.join([*claim.unsupported, *claim.notes]))}</td></tr>"
        for claim in sample.claims
    )
    if not rows:
        return ""
    names = ("claim", "support", "nearest in the context", "not found")
    heads = "".join(f'<th scope="col">{name}</th>' for name in names)
    table = f'<table class="claims"><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>'
    return f'<details><summary>Claims and evidence</summary><div class="scroll">{table}</div></details>'
