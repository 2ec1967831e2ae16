"""Judged samples one by one: question, answer, scores with reasons, and the evidence for each claim."""

from collections.abc import Iterator

from synthesis.report.html.spans import shown
from synthesis.report.judged.run import JudgedRun, JudgedSample
from synthesis.report.plain import count

MOST_SAMPLES = 500


def samples(run: JudgedRun) -> Iterator[str]:
    """Those of the last iteration, the ones that did not pass first."""
    passed = [sample for sample in run.last.records if sample.passed]
    chosen = [*run.failed(), *passed][:MOST_SAMPLES]
    said = _selection(len(chosen), len(run.last.records))
    yield f'<section id="samples"><h2>Samples</h2><p class="quiet">{said}</p>\n'
    yield from (_sample(sample) for sample in chosen)
    yield "</section>\n"


def _selection(chosen: int, judged: int) -> str:
    kept = f"all {count(judged, 'judged sample')}" if chosen == judged else f"{chosen:,} of {judged:,} judged samples"
    return f"This page shows {kept}, those that did not pass first."


def _sample(sample: JudgedSample) -> str:
    kind, word = ("pass", "passed") if sample.passed else ("unexpected", "not passed")
    stale = " (stale: question, context or answer changed since)" if sample.stale else ""
    flags = "".join(f'<span class="badge error">{shown(flag)}</span>' for flag in sample.flags)
    return (
        f'<article class="case"><header><h3>{shown(sample.query_log_id)}</h3> '
        f'<span class="badge {kind}">{word}{stale}</span>{flags}</header>\n'
        f"{sample_texts(sample)}<ul>{sample_verdicts(sample)}</ul>{claims(sample)}</article>\n"
    )


def sample_texts(sample: JudgedSample) -> str:
    """Question and answer, where the run has kept them."""
    return _text("user", "Question", sample.question) + _text("assistant", "Answer", sample.system_answer)


def _text(side: str, title: str, text: str | None) -> str:
    if text is None:
        return ""
    return f'<div class="turn {side}"><h4>{title}</h4><div class="text" dir="auto">{shown(text)}</div></div>\n'


def sample_verdicts(sample: JudgedSample) -> str:
    """The score on each axis, with the reason where it was kept."""
    said = sample.judge_verdict.items()
    return "".join(f"<li><b>{shown(axis)} {v.score}</b> {shown(v.reasoning)}</li>" for axis, v in said)


def claims(sample: JudgedSample) -> str:
    """What the offline judge found for each claim."""
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


def cost(run: JudgedRun) -> str:
    """What the run has cost, in words."""
    if run.total_cost is None:
        return "unknown (no price)"
    return f"{run.total_cost:.4f} USD" if run.total_cost else "none"
