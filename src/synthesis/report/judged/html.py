"""A judged run as one page: rates with intervals, distributions, failures, and samples with their evidence."""

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import msgspec

from synthesis.report.findings import count
from synthesis.report.html.marks import Piece, Span, pieces, shown
from synthesis.report.html.page import foot_note, head
from synthesis.report.judged.run import (
    Agreement,
    AxisFigures,
    ClaimEvidence,
    JudgedRun,
    JudgedSample,
    Mean,
    PassagePart,
    Rate,
    RunFigures,
    axis_title,
    is_offline,
    last_figures,
    stability,
)

SCORES = (1, 2, 3, 4, 5)
_LOW, _HIGH = (1, 2), (4, 5)
_SHADES = 4
# (high on the second axis, high on the first): what such an answer is.
_CORNERS = {
    (True, False): "persuasive but wrong",
    (True, True): "right and helpful",
    (False, False): "wrong and useless",
    (False, True): "accurate but useless",
}
Cells = Counter[tuple[int, int]]  # (score down, score across)


def distribution(axis: AxisFigures, empty: int) -> str:
    """How often each score was given on one axis; an empty answer scores 1."""
    most = max([axis.count(score) for score in SCORES] + [1])
    rows = "".join(
        f'<li class="{"for" if score >= axis.passes_at else "against"}"><span class="rule"><span class="sign">'
        f"{'+' if score >= axis.passes_at else '−'}</span>score {score}</span>"
        f'<svg width="100%" height="10" aria-hidden="true">'
        f'<rect width="{100 * axis.count(score) / most:.2f}%" height="10"/></svg>'
        f"<span>{count(axis.count(score), 'sample')}{f', {empty} empty' if empty and score == 1 else ''}</span></li>\n"
        for score in reversed(SCORES)
    )
    return f'<section class="chart"><h2>{shown(axis.title.capitalize())}</h2><ul class="rules">{rows}</ul></section>\n'


def matrix(run: JudgedRun) -> str:
    """Two axes against each other: an answer can be persuasive but wrong, or accurate but useless."""
    if len(run.axes) < 2:
        return ""
    (across, _), (down, _) = run.axes[:2]
    vertical = axis_title(run.judge, down)
    verdicts = [sample.judge_verdict for sample in run.last.records if not sample.is_empty]
    cells = Counter((said[down].score, said[across].score) for said in verdicts)
    heads = "".join(f'<th scope="col">{score}</th>' for score in SCORES)
    rows = "".join(_row(cells, score) for score in reversed(SCORES))
    return (
        f'<section class="chart"><h2>{shown(vertical.capitalize())} against {shown(across)}</h2>'
        f'<p class="quiet">Samples by their two scores: {shown(down)} from bottom to top, {shown(across)} from left to '
        f'right{_left_out(run)}.</p><div class="matrix-part"><div class="scroll"><table class="matrix">'
        f"<thead><tr><td></td>{heads}</tr></thead>"
        f"<tbody>{rows}</tbody></table></div>{_corners(cells, down, across)}</div></section>\n"
    )


def _left_out(run: JudgedRun) -> str:
    empty = sum(sample.is_empty for sample in run.last.records)
    return f", without {count(empty, 'empty answer')}" if empty else ""


def _row(cells: Cells, score: int) -> str:
    drawn = "".join(_cell(cells, score, column) for column in SCORES)
    return f'<tr><th scope="row">{score}</th>{drawn}</tr>'


def _cell(cells: Cells, row: int, column: int) -> str:
    """A number, with a shade by its share of the fullest cell."""
    number = cells[row, column]
    shade = f" shade{-(-_SHADES * number // max(cells.values()))}" if number else ""
    corner = " corner" if row != 3 and column != 3 else ""
    return f'<td class="cell{shade}{corner}">{number or ""}</td>'


def _corners(cells: Cells, down: str, across: str) -> str:
    """The four corners, each two scores wide, named and counted."""
    names = _CORNERS if (across, down) == ("faithfulness", "completeness") else {}
    lines = []
    for (high_down, high_across), name in _CORNERS.items():
        rows, columns = (_HIGH if high else _LOW for high in (high_down, high_across))
        number = sum(cells[row, column] for row in rows for column in columns)
        place = f"{'top' if high_down else 'bottom'} {'right' if high_across else 'left'}"
        levels = f"{'high' if high_down else 'low'} {shown(down)}, {'high' if high_across else 'low'} {shown(across)}"
        title = f"{name.capitalize()} ({place})" if names else place.capitalize()
        lines.append(f"<div><dt>{title}</dt><dd>{count(number, 'sample')}: {levels}</dd></div>")
    return f'<dl class="corners">{"".join(lines)}</dl>'


# The claims of an answer: marked where they stand, and each with the passage opened at its quote.


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


# Judged samples one by one: question, answer, scores with reasons, and the evidence for each claim.


MOST_SAMPLES = 500


def samples(run: JudgedRun) -> Iterator[str]:
    """Those of the last iteration, the ones that did not pass first."""
    passed = [sample for sample in run.last.records if sample.passed]
    chosen = [*run.failed(), *passed][:MOST_SAMPLES]
    said = _selection(len(chosen), len(run.last.records))
    yield f'<section id="samples"><h2>Samples</h2><p class="quiet">{said}</p>\n'
    yield from (_sample(sample, f"s{n}-", run.judge) for n, sample in enumerate(chosen, 1) if not sample.is_empty)
    empty = [(n, sample) for n, sample in enumerate(chosen, 1) if sample.is_empty]
    if empty:
        yield f"<h2>{count(len(empty), 'empty answer')}</h2>"
        yield '<p class="quiet">Nothing was said, so nothing was judged: 1 on every axis, and no contradiction.</p>\n'
    yield from (_sample(sample, f"s{n}-", run.judge) for n, sample in empty)
    yield "</section>\n"


def _selection(chosen: int, judged: int) -> str:
    kept = f"all {count(judged, 'judged sample')}" if chosen == judged else f"{chosen:,} of {judged:,} judged samples"
    return f"This page shows {kept}, those that did not pass first, empty answers last."


def _sample(sample: JudgedSample, name: str, judge: str) -> str:
    kind, word = ("pass", "passed") if sample.passed else ("unexpected", "not passed")
    stale = " (stale: question, context or answer changed since)" if sample.stale else ""
    flags = "".join(f'<span class="badge error">{shown(flag)}</span>' for flag in sample.flags)
    return (
        f'<article class="case"><header><h3>{shown(sample.query_log_id)}</h3> '
        f'<span class="badge {kind}">{word}{stale}</span>{flags}</header>\n'
        f"{sample_texts(sample, name)}{claims(sample, name)}<ul>{sample_verdicts(sample, judge)}</ul></article>\n"
    )


def sample_texts(sample: JudgedSample, name: str = "") -> str:
    """Question and answer, where the run has kept them; with a `name`, the answer's claims are marked.

    The name tells the anchors of a sample from those of others on the page.
    """
    question = "" if sample.question is None else _text("user", "Question", shown(sample.question))
    if sample.system_answer is None:
        return question
    answer = marked_answer(sample, name) if name else shown(sample.system_answer)
    return question + _text("assistant", "Answer", answer if answer.strip() else '<em class="quiet">(empty)</em>')


def claims(sample: JudgedSample, name: str) -> str:
    """The evidence for each claim; as a table without verdicts for runs of version 0.1."""
    return claim_list(sample, name) if any(claim.verdict for claim in sample.claims) else claim_table(sample)


def _text(side: str, title: str, drawn: str) -> str:
    return f'<div class="turn {side}"><h4>{title}</h4><div class="text" dir="auto">{drawn}</div></div>\n'


def sample_verdicts(sample: JudgedSample, judge: str = "") -> str:
    """The score on each axis, with the reason where it was kept."""
    said = ((axis_title(judge, axis), verdict) for axis, verdict in sample.judge_verdict.items())
    return "".join(f"<li><b>{shown(title)} {v.score}</b> {shown(v.reasoning)}</li>" for title, v in said)


def cost(run: JudgedRun) -> str:
    """What the run has cost, in words."""
    if run.total_cost is None:
        return "unknown (no price)"
    return f"{run.total_cost:.4f} USD" if run.total_cost else "none"


# A judged run as one page: rates with intervals, distributions, axes against each other, stability, failures.


_LIMITS = (
    "A judge's score is an opinion with a number on it. <strong>It is only as good as its agreement with "
    "people</strong>, which <code>synthesis judge calibrate</code> measures. Only the context that was given counts: "
    "an answer can be faithful to a context that is wrong."
)
_FREQUENT = 5


def render(run: JudgedRun) -> Iterator[str]:
    """The page, piece by piece."""
    yield head("", title=f"Judged run: {run.name}", skip="#samples", skip_words="Skip to the samples")
    yield f'<header class="top"><h1>Judged run: {shown(run.name)}</h1></header>\n<main>\n'
    yield from body(run)
    yield foot_note()


def body(run: JudgedRun) -> Iterator[str]:
    """What the page says about the run, to be put into another page."""
    figures = last_figures(run)
    yield _headline(run, figures)
    yield _figures(run, figures)
    yield f'<section class="limits"><h2>What a score does not mean</h2><p>{_LIMITS}</p></section>\n'
    yield f'<div class="charts">{"".join(distribution(axis, figures.empty_answers) for axis in figures.axes)}</div>\n'
    yield from (piece for piece in (matrix(run), _stability(run), _analysis(figures), _errors(run)) if piece)
    yield from samples(run)


def _headline(run: JudgedRun, figures: RunFigures) -> str:
    rate, verb = figures.totals.overall_pass_rate, "passed"
    if leading := _leading(run, figures):
        rate, verb = leading.rate, f"have {leading.name} of {leading.passes_at} or more"
    colour = "good" if rate.numerator == rate.denominator else "bad"
    passed = f'<strong class="{colour}">{rate.numerator} of {rate.denominator} {shown(verb)}</strong>'
    words = f"judged by {shown(run.judge)}, rubric {shown(run.rubric)}, {count(len(run.iterations), 'iteration')}"
    return f'<p class="headline">{passed}</p><p class="quiet">{words}; the figures are those of the last one.</p>'


def _leading(run: JudgedRun, figures: RunFigures) -> AxisFigures | None:
    """The axis that the offline judge's page leads with: the only one that its agreement with people speaks for."""
    found = (axis for axis in figures.axes if axis.name == "faithfulness" and is_offline(run.judge))
    return next(found, None)


def _figures(run: JudgedRun, figures: RunFigures) -> str:
    totals = figures.totals
    passed = (*_rate(totals.overall_pass_rate, "passed"), "pass")
    cells = [] if _leading(run, figures) else [passed]
    for axis in figures.axes:
        cells += [
            (*_mean(axis.mean, f"mean {axis.title}"), "label"),
            (*_rate(axis.rate, f"with {axis.title} of {axis.passes_at} or more"), "pass"),
        ]
    cells += [
        *([passed] if passed not in cells else []),
        *([(str(figures.empty_answers), "empty answers: 1 on every axis", "error")] if figures.empty_answers else []),
        *_claim_cells(run),
        (str(totals.errors), "could not be judged", "error" if totals.errors else ""),
        (str(totals.not_judged), "not yet judged", ""),
        (str(totals.stale), "stale: changed since", ""),
        (cost(run), "cost", ""),
    ]
    drawn = "".join(
        f'<div class="{kind}"><dt>{shown(words)}</dt><dd>{shown(value)}</dd></div>' for value, words, kind in cells
    )
    return f'<dl class="figures broad">{drawn}</dl>\n'


def _claim_cells(run: JudgedRun) -> list[tuple[str, str, str]]:
    """Unsupported claims and false quotes; none where the judge listed no claims."""
    found = run.last.metrics.get("claims")
    if not found:
        return []
    rates = [
        (msgspec.convert(found["unsupported"], Rate), "of claims not supported"),
        (msgspec.convert(found["falseQuotes"], Rate), "of quotes false"),
    ]
    return [(*_rate(rate, words), "error" if rate.numerator else "") for rate, words in rates]


def _rate(rate: Rate, what: str) -> tuple[str, str]:
    """The figure itself, and below it what it counts, its base and its interval."""
    if rate.value is None or rate.interval is None:
        return "none", what
    low, high = (100 * bound for bound in rate.interval)
    base = f"{rate.numerator} of {rate.denominator}"
    return f"{100 * rate.value:.1f} %", f"{what}: {base}, 95 % interval {low:.1f} to {high:.1f}"


def _mean(mean: Mean, what: str) -> tuple[str, str]:
    if mean.value is None:
        return "none", what
    interval = f", 95 % interval {mean.interval[0]:.2f} to {mean.interval[1]:.2f}" if mean.interval else ""
    return f"{mean.value:.2f}", f"{what}{interval}"


def _stability(run: JudgedRun) -> str:
    found = stability(run)
    if found is None:
        return ""
    changes, agreement = found
    flips = ", ".join(f"{shown(name)} {number}" for name, number in changes.flipped.items())
    passes = ", ".join(f"pass^{k} {100 * value:.1f} %" for k, value in changes.pass_hat_k.items() if value is not None)
    alphas = "".join(
        f"<li>Krippendorff's alpha, {shown(axis)}: {_alpha(found)}</li>" for axis, found in agreement.items()
    )
    return (
        f'<section class="chart"><h2>Stability over {len(run.iterations)} iterations</h2><ul>'
        f"<li>across the threshold, of {changes.sample_count} samples: {flips}</li>"
        f"<li>{passes}</li>{alphas}</ul></section>\n"
    )


def _alpha(found: Agreement) -> str:
    return f"{found.alpha:.3f}" if found.alpha is not None else shown(found.reason)


def _analysis(figures: RunFigures) -> str:
    rows = "".join(
        f'<tr><th scope="row">{kind}</th><td>{shown(finding)}</td></tr>' for kind, finding in figures.insights.rows()
    )
    if not rows:
        return ""
    heads = '<tr><th scope="col">Kind</th><th scope="col">Finding</th></tr>'
    table = f'<table class="claims"><thead>{heads}</thead><tbody>{rows}</tbody></table>'
    kinds = "".join(_kinds(axis) for axis in figures.axes)
    body = f'<div class="scroll">{table}</div>{kinds}{_empty(figures)}{_claims(figures)}'
    return f'<section class="chart"><h2>Failure analysis</h2>{body}</section>\n'


def _kinds(axis: AxisFigures) -> str:
    rows = "".join(f"<li>{kind.count}: {shown(kind.description)}</li>" for kind in axis.failures if kind.count)
    return f"<h3>Low {shown(axis.title)}</h3><ul>{rows}</ul>" if rows else ""


def _empty(figures: RunFigures) -> str:
    """Apart from the kinds of failure: who says nothing contradicts nothing."""
    if not figures.empty_answers:
        return ""
    return f"<h3>Empty answers</h3><ul><li>{figures.empty_answers}: nothing was said, so nothing was judged</li></ul>"


def _claims(figures: RunFigures) -> str:
    claims = figures.claims
    if claims is None:
        return ""
    said = (
        f"<li>{claims.supported} of {count(claims.total, 'claim')} supported, {claims.contradicted} contradicted, "
        f"{claims.not_found} not found; {count(claims.false_quotes, 'false quote')}</li>"
    )
    frequent = "".join(
        f"<li>{count(len(claim.query_log_ids), 'answer')}, {shown(claim.verdict)}: "
        f'<q dir="auto">{shown(claim.text)}</q></li>'
        for claim in claims.examples[:_FREQUENT]
    )
    return f"<h3>Claims</h3><ul>{said}{frequent}</ul>"


def _errors(run: JudgedRun) -> str:
    if not run.last.errors:
        return ""
    lines = "".join(
        f"<li><code>{shown(error.query_log_id)}</code> {shown(error.reason)}</li>"
        for error in run.last.errors[:MOST_SAMPLES]
    )
    return f'<section class="chart"><h2>Could not be judged</h2><ul>{lines}</ul></section>\n'
