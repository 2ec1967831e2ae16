"""A judged run as one page: rates with intervals, distributions, axes against each other, stability, failures."""

from collections import Counter
from collections.abc import Iterator

from synthesis.report.html.page import foot_note, head
from synthesis.report.html.spans import shown
from synthesis.report.judged.run import Figures, JudgedRun, axis_figures, cost, failed
from synthesis.report.plain import count

SCORES = (1, 2, 3, 4, 5)
MOST_SAMPLES = 500
_LIMITS = (
    "A judge's score is an opinion with a number on it. <strong>It is only as good as its agreement with "
    "people</strong>, which <code>synthesis judge calibrate</code> measures. Only the context that was given counts: "
    "an answer can be faithful to a context that is wrong."
)


def render(run: JudgedRun) -> Iterator[str]:
    """The page, piece by piece."""
    yield head("", title=f"Judged run: {run.name}", skip="#samples", skip_words="Skip to the samples")
    yield f'<header class="top"><h1>Judged run: {shown(run.name)}</h1>\n{_headline(run)}</header>\n<main>\n'
    yield _figures(run)
    yield f'<section class="limits"><h2>What a score does not mean</h2><p>{_LIMITS}</p></section>\n'
    yield f'<div class="charts">{"".join(_distribution(run, axis, at) for axis, at in run.axes)}</div>\n'
    yield from (piece for piece in (_matrix(run), _stability(run), _analysis(run), _errors(run)) if piece)
    yield from _samples(run)
    yield foot_note()


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
    return f'<dl class="figures">{drawn}</dl>\n'


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


def _matrix(run: JudgedRun) -> str:
    """The first two axes against each other: persuasive but wrong, accurate but useless."""
    if len(run.axes) < 2:
        return ""
    (across, _), (down, _) = run.axes[:2]
    cells = Counter((r["judgeVerdict"][down]["score"], r["judgeVerdict"][across]["score"]) for r in run.last.records)
    header = "".join(f'<th scope="col">{score}</th>' for score in SCORES)
    rows = "".join(f'<tr><th scope="row">{row}</th>{_cells(cells, row)}</tr>' for row in reversed(SCORES))
    title = f"{shown(down.capitalize())} (down) against {shown(across)} (across)"
    return (
        f'<section class="chart"><h2>{title}</h2>'
        f'<table class="matrix"><thead><tr><td></td>{header}</tr></thead><tbody>{rows}</tbody></table>'
        f'<p class="quiet">Top left: high {shown(down)}, low {shown(across)}. Bottom right: the reverse.</p>'
        "</section>\n"
    )


def _cells(cells: Counter[tuple[int, int]], row: int) -> str:
    return "".join(f"<td>{cells[row, column] or ''}</td>" for column in SCORES)


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
    return f'<section class="chart"><h2>Failure analysis</h2><ul>{lines}</ul></section>\n' if lines else ""


def _errors(run: JudgedRun) -> str:
    if not run.last.errors:
        return ""
    lines = "".join(
        f"<li><code>{shown(error['queryLogId'])}</code> {shown(error['reason'])}</li>"
        for error in run.last.errors[:MOST_SAMPLES]
    )
    return f'<section class="chart"><h2>Could not be judged</h2><ul>{lines}</ul></section>\n'


def _samples(run: JudgedRun) -> Iterator[str]:
    lowest = failed(run)
    passed = [record for record in run.last.records if record["passed"]]
    chosen = [*lowest, *passed][:MOST_SAMPLES]
    said = _selection(len(chosen), len(run.last.records))
    yield f'<section id="samples"><h2>Samples</h2><p class="quiet">{said}</p>\n'
    yield from (_sample(run, record) for record in chosen)
    yield "</section>\n"


def _selection(chosen: int, judged: int) -> str:
    kept = f"all {count(judged, 'judged sample')}" if chosen == judged else f"{chosen:,} of {judged:,} judged samples"
    return f"This page shows {kept}, those that did not pass first."


def _sample(run: JudgedRun, record: Figures) -> str:
    kind, word = ("pass", "passed") if record["passed"] else ("unexpected", "not passed")
    said = [(axis, record["judgeVerdict"][axis]) for axis, _ in run.axes]
    verdicts = "".join(f"<li><b>{shown(axis)} {v['score']}</b> {shown(v['reasoning'])}</li>" for axis, v in said)
    stale = " (stale: question, context or answer changed since)" if record.get("stale") else ""
    flags = "".join(f'<span class="badge error">{shown(flag)}</span>' for flag in record.get("flags", ()))
    return (
        f'<article class="case"><header><h3>{shown(record["queryLogId"])}</h3> '
        f'<span class="badge {kind}">{word}{stale}</span>{flags}</header>\n'
        f"{_text('user', 'Question', record['question'])}{_text('assistant', 'Answer', record['systemAnswer'])}"
        f"<ul>{verdicts}</ul>{_claims(record)}</article>\n"
    )


def _text(side: str, title: str, text: str) -> str:
    return f'<div class="turn {side}"><h4>{title}</h4><div class="text" dir="auto">{shown(text)}</div></div>\n'


def _claims(record: Figures) -> str:
    """What the offline judge found for each claim."""
    claims = record.get("details", {}).get("claims", ())
    rows = "".join(
        f'<tr><td dir="auto">{shown(claim["text"])}</td><td>{claim["support"]:.2f}</td>'
        f'<td dir="auto">{shown(claim["evidence"])}</td>'
        f"<td>{shown(', '.join([*claim['unsupported'], *claim['notes']]))}</td></tr>"
        for claim in claims
    )
    if not rows:
        return ""
    names = ("claim", "support", "nearest in the context", "not found")
    heads = "".join(f'<th scope="col">{name}</th>' for name in names)
    table = f'<table class="claims"><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>'
    return f"<details><summary>Claims</summary>{table}</details>"
