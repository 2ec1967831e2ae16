"""A judged run as one page: rates with intervals, distributions, axes against each other, stability, failures."""

from collections import Counter
from collections.abc import Iterator

import msgspec

from synthesis.report.html.page import foot_note, head
from synthesis.report.html.spans import shown
from synthesis.report.judged.run import (
    Agreement,
    AxisFigures,
    JudgedRun,
    Mean,
    Rate,
    RunFigures,
    axis_title,
    is_offline,
    last_figures,
    stability,
)
from synthesis.report.judged.samples import MOST_SAMPLES, cost, samples
from synthesis.report.plain import count

_LIMITS = (
    "A judge's score is an opinion with a number on it. <strong>It is only as good as its agreement with "
    "people</strong>, which <code>synthesis judge calibrate</code> measures. Only the context that was given counts: "
    "an answer can be faithful to a context that is wrong."
)
SCORES = (1, 2, 3, 4, 5)
_LOW, _HIGH = (1, 2), (4, 5)
_SHADES = 4
_FREQUENT = 5
# (high on the second axis, high on the first): what such an answer is.
_CORNERS = {
    (True, False): "persuasive but wrong",
    (True, True): "right and helpful",
    (False, False): "wrong and useless",
    (False, True): "accurate but useless",
}
Cells = Counter[tuple[int, int]]  # (score down, score across)


def render(run: JudgedRun) -> Iterator[str]:
    """The page, piece by piece."""
    yield head("", title=f"Judged run: {run.name}", skip="#samples", skip_words="Skip to the samples")
    yield f'<header class="top"><h1>Judged run: {shown(run.name)}</h1></header>\n<main>\n'
    yield from body(run)
    yield foot_note()


def body(run: JudgedRun) -> Iterator[str]:
    """What the page says of the run, for a page of one's own."""
    figures = last_figures(run)
    yield _headline(run, figures)
    yield _figures(run, figures)
    yield f'<section class="limits"><h2>What a score does not mean</h2><p>{_LIMITS}</p></section>\n'
    yield f'<div class="charts">{"".join(_distribution(axis, figures.empty_answers) for axis in figures.axes)}</div>\n'
    yield from (piece for piece in (_matrix(run), _stability(run), _analysis(figures), _errors(run)) if piece)
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


def _distribution(axis: AxisFigures, empty: int) -> str:
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
    insights = figures.insights
    said = (
        ("Strengths", insights.system_strength),
        ("Weaknesses", insights.system_weakness),
        ("What to do", insights.recommendation),
    )
    lines = "".join(f"<li><b>{title}:</b> {shown(text)}</li>" for title, text in said if text)
    kinds = "".join(_kinds(axis) for axis in figures.axes)
    body = f"<ul>{lines}</ul>{kinds}{_empty(figures)}{_claims(figures)}"
    return f'<section class="chart"><h2>Failure analysis</h2>{body}</section>\n' if lines else ""


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


def _matrix(run: JudgedRun) -> str:
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
