"""Charts of a judged run: how often each score was given, and two axes against each other."""

from collections import Counter

from synthesis.report.html.spans import shown
from synthesis.report.judged.figures import AxisFigures
from synthesis.report.judged.run import JudgedRun, axis_title
from synthesis.report.plain import count

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
