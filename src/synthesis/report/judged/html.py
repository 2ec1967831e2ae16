"""A judged run as one page: rates with intervals, distributions, axes against each other, stability, failures."""

from collections.abc import Iterator

import msgspec

from synthesis.report.html.page import foot_note, head
from synthesis.report.html.spans import shown
from synthesis.report.judged.charts import distribution, matrix
from synthesis.report.judged.figures import Agreement, AxisFigures, Mean, Rate, RunFigures, last_figures, stability
from synthesis.report.judged.run import JudgedRun, is_offline
from synthesis.report.judged.samples import MOST_SAMPLES, cost, samples
from synthesis.report.plain import count

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
