"""Judged samples one by one: question, answer, scores with reasons, and the evidence for each claim."""

from collections.abc import Iterator

from synthesis.report.html.spans import shown
from synthesis.report.judged.claims import claim_list, claim_table, marked_answer
from synthesis.report.judged.run import JudgedRun, JudgedSample, axis_title
from synthesis.report.plain import count

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
