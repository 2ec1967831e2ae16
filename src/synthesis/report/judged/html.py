"""A judged run as one page: rates with intervals, distributions, axes against each other, stability, failures."""

from collections.abc import Iterator

from synthesis.report.html.page import foot_note, head
from synthesis.report.html.spans import shown
from synthesis.report.judged.matrix import SCORES, matrix
from synthesis.report.judged.run import Figures, JudgedRun, axis_figures, cost
from synthesis.report.judged.samples import MOST_SAMPLES, samples
from synthesis.report.plain import count

_LIMITS = (
    "A judge's score is an opinion with a number on it. <strong>It is only as good as its agreement with "
    "people</strong>, which <code>synthesis judge calibrate</code> measures. Only the context that was given counts: "
    "an answer can be faithful to a context that is wrong."
)


def render(run: JudgedRun) -> Iterator[str]:
    """The page, piece by piece."""
    yield head("", title=f"Judged run: {run.name}", skip="#samples", skip_words="Skip to the samples")
    yield f'<header class="top"><h1>Judged run: {shown(run.name)}</h1></header>\n<main>\n'
    yield from body(run)
    yield foot_note()


def body(run: JudgedRun) -> Iterator[str]:
    """What the page says of the run, for a page of one's own."""
    yield _headline(run)
    yield _figures(run)
    yield f'<section class="limits"><h2>What a score does not mean</h2><p>{_LIMITS}</p></section>\n'
    yield f'<div class="charts">{"".join(_distribution(run, axis, at) for axis, at in run.axes)}</div>\n'
    yield from (piece for piece in (matrix(run), _stability(run), _analysis(run), _errors(run)) if piece)
    yield from samples(run)


def _headline(run: JudgedRun) -> str:
    rate = run.last.metrics["overallPassRate"]
    colour = "good" if rate["numerator"] == rate["denominator"] else "bad"
    passed = f'<strong class="{colour}">{rate["numerator"]} of {rate["denominator"]} passed</strong>'
    words = f"judged by {shown(run.judge)}, rubric {shown(run.rubric)}, {count(len(run.iterations), 'iteration')}"
    return f'<p class="headline">{passed}</p><p class="quiet">{words}; the figures are those of the last one.</p>'


def _figures(run: JudgedRun) -> str:
    metrics = run.last.metrics
    cells = [(*_rate(metrics["overallPassRate"], "passed"), "pass")]
    for axis, passes_at in run.axes:
        average, rate, _ = axis_figures(run, axis)
        cells += [
            (*_mean(average, f"mean {axis}"), "label"),
            (*_rate(rate, f"with {axis} of {passes_at} or more"), "pass"),
        ]
    cells += [
        (str(metrics["errors"]), "could not be judged", "error" if metrics["errors"] else ""),
        (str(metrics["notJudged"]), "not yet judged", ""),
        (str(metrics["stale"]), "stale: changed since", ""),
        (cost(run), "cost", ""),
    ]
    drawn = "".join(
        f'<div class="{kind}"><dt>{shown(words)}</dt><dd>{shown(value)}</dd></div>' for value, words, kind in cells
    )
    return f'<dl class="figures broad">{drawn}</dl>\n'


def _rate(figure: Figures, what: str) -> tuple[str, str]:
    """The figure itself, and below it what it counts, its base and its interval."""
    if figure["value"] is None:
        return "none", what
    low, high = (100 * bound for bound in figure["interval"])
    base = f"{figure['numerator']} of {figure['denominator']}"
    return f"{100 * figure['value']:.1f} %", f"{what}: {base}, 95 % interval {low:.1f} to {high:.1f}"


def _mean(figure: Figures, what: str) -> tuple[str, str]:
    if figure["value"] is None:
        return "none", what
    low, high = figure["interval"]
    return f"{figure['value']:.2f}", f"{what}, 95 % interval {low:.2f} to {high:.2f}"


def _distribution(run: JudgedRun, axis: str, passes_at: int) -> str:
    counts = axis_figures(run, axis)[2]
    most = max([counts[f"score{score}"] for score in SCORES] + [1])
    rows = "".join(
        f'<li class="{"for" if score >= passes_at else "against"}"><span class="rule"><span class="sign">'
        f"{'+' if score >= passes_at else '−'}</span>score {score}</span>"
        f'<svg width="100%" height="10" aria-hidden="true">'
        f'<rect width="{100 * counts[f"score{score}"] / most:.2f}%" height="10"/></svg>'
        f"<span>{count(counts[f'score{score}'], 'sample')}</span></li>\n"
        for score in reversed(SCORES)
    )
    return f'<section class="chart"><h2>{shown(axis.capitalize())}</h2><ul class="rules">{rows}</ul></section>\n'


def _stability(run: JudgedRun) -> str:
    final = run.final_metrics
    if not final or len(run.iterations) < 2:
        return ""
    stability = final["stability"]
    flips = ", ".join(f"{shown(name)} {number}" for name, number in stability["flipped"].items())
    passes = ", ".join(
        f"pass^{k} {100 * value:.1f} %" for k, value in stability["passHatK"].items() if value is not None
    )
    alphas = "".join(
        f"<li>Krippendorff's alpha, {shown(axis)}: {_alpha(found)}</li>" for axis, found in final["agreement"].items()
    )
    return (
        f'<section class="chart"><h2>Stability over {len(run.iterations)} iterations</h2><ul>'
        f"<li>across the threshold, of {stability['sampleCount']} samples: {flips}</li>"
        f"<li>{passes}</li>{alphas}</ul></section>\n"
    )


def _alpha(found: Figures) -> str:
    return f"{found['alpha']:.3f}" if found["alpha"] is not None else shown(found.get("reason", "undefined"))


def _analysis(run: JudgedRun) -> str:
    insights = run.last.analysis["insights"]
    titles = (("systemStrength", "Strengths"), ("systemWeakness", "Weaknesses"), ("recommendation", "What to do"))
    lines = "".join(f"<li><b>{title}:</b> {shown(insights[key])}</li>" for key, title in titles if insights.get(key))
    body = f"<ul>{lines}</ul>{''.join(_kinds(run, axis) for axis, _ in run.axes)}"
    return f'<section class="chart"><h2>Failure analysis</h2>{body}</section>\n' if lines else ""


def _kinds(run: JudgedRun, axis: str) -> str:
    """How often each failing score was given, with what the rubric means by it."""
    found = run.last.analysis.get(f"by{axis[0].upper()}{axis[1:]}Reason", {}).values()
    rows = "".join(f"<li>{kind['count']}: {shown(kind['description'])}</li>" for kind in found if kind["count"])
    return f"<h3>Low {shown(axis)}</h3><ul>{rows}</ul>" if rows else ""


def _errors(run: JudgedRun) -> str:
    if not run.last.errors:
        return ""
    lines = "".join(
        f"<li><code>{shown(error['queryLogId'])}</code> {shown(error['reason'])}</li>"
        for error in run.last.errors[:MOST_SAMPLES]
    )
    return f'<section class="chart"><h2>Could not be judged</h2><ul>{lines}</ul></section>\n'
