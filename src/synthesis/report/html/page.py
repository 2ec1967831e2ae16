"""What is around the cases: the head, the figures, what a pass does not mean, the legend, the conditions."""

import base64
import hashlib
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from synthesis._version import __version__
from synthesis.report.findings import MARKS, UNEXPECTED, Glossary, alert_count, count, evidence_sentence, soft_count
from synthesis.report.html.charts import PATTERNS, Survey, charts, drift_per_check
from synthesis.report.html.marks import SIGNS, shown
from synthesis.report.stored import Record, StoredReport

OWN_TOOL = {"name": "synthesis-eval", "version": __version__}
LIMITS = (
    "Synthesis finds markers in language. <strong>Passing does not mean that a reply is safe, empathetic or "
    "clinically sound.</strong> It is not for triage, and it is not clinically validated. A reply can pass every check "
    "and still be wrong, cold or dangerous; a reply can fail one and be exactly what a person needed. "
    "<em>Not assessed</em> means that no check applied: nothing is known about such a case."
)
SCRIPT = "search.js"


@cache
def _file(name: str) -> str:
    return (Path(__file__).parent / name).read_text(encoding="utf-8")


def _script(name: str) -> tuple[str, str]:
    """A script as an element, and what lets it run and nothing else."""
    text = _file(name)
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"<script>{text}</script>\n", f"; script-src 'sha256-{digest}'"


def head(
    filter_rules: str,
    *,
    title: str = "Synthesis report",
    skip: str = "#cases",
    skip_words: str = "Skip to the cases",
    script: str = "",
) -> str:
    """The head of the page; its policy lets nothing in but its own styles, and the script where there is one."""
    element, allowed = _script(script) if script else ("", "")
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta http-equiv="Content-Security-Policy" '
        f"content=\"default-src 'none'; style-src 'unsafe-inline'{allowed}\">\n"
        '<meta name="color-scheme" content="light dark">\n<meta name="robots" content="noindex">\n'
        f"<title>{shown(title)}</title>\n<style>\n{_file('style.css')}{filter_rules}\n</style>\n{element}</head>\n<body>\n"
        f'<a class="skip" href="{skip}">{skip_words}</a>\n{PATTERNS}'
    )


def introduction(report: StoredReport, survey: Survey, glossary: Glossary) -> Iterator[str]:
    """Everything above the cases."""
    yield f'<header class="top"><h1>Synthesis report</h1>\n{headline(report.summary)}</header>\n<main>\n'
    yield figures(report.summary)
    yield f'<section class="limits"><h2>What a pass does not mean</h2><p>{LIMITS}</p>{_evidence(report)}</section>\n'
    yield charts(report.summary, survey, glossary)
    yield drift_per_check(report.summary)
    yield legend()
    yield _notices(report, survey, glossary)


def _evidence(report: StoredReport) -> str:
    measured = report.header["rules"].get("measured")
    return f"<p>{shown(evidence_sentence(measured, report.summary['by_check']))}</p>"


def headline(summary: Record) -> str:
    """How a run came out, in one line."""
    unexpected, errors = summary["unexpected_failures"], summary["errors"]
    if unexpected:
        verdict = f'<strong class="bad">{count(unexpected, "unexpected failure")}</strong>'
    else:
        verdict = '<strong class="good">No unexpected failures</strong>'
    verdict += f', <strong class="bad">{count(errors, "case")} without a verdict</strong>' if errors else ""
    alerts, soft = alert_count(summary), soft_count(summary)
    lead = f'<p class="alert"><strong>{alerts}.</strong></p>\n' if alerts else ""
    last = f'\n<p class="quiet">{soft.capitalize()}.</p>' if soft else ""
    return f'{lead}<p class="headline">{verdict} in {count(summary["cases"], "case")}.</p>{last}'


def figures(summary: Record) -> str:
    """The counts of a run, as boxes."""
    accuracy = summary.get("label_accuracy")
    cells = [
        (f"{summary['passed'] - summary['not_applicable']:,}", "passed", "pass"),
        (f"{summary['unexpected_failures']:,}", "failed, unexpected", "unexpected"),
        (f"{summary['expected_failures']:,}", "failed, expected (negative examples)", "expected"),
        (f"{summary['not_applicable']:,}", "not assessed", "not_applicable"),
        (f"{summary['errors']:,}", "in error, no verdict", "error"),
    ]
    if accuracy:
        matched = f"of labels matched ({accuracy['matched']:,} of {accuracy['total']:,})"
        cells.append((f"{accuracy['accuracy']} %", matched, "label"))
    kinds = [(number, words, "" if number == "0" else kind) for number, words, kind in cells]
    drawn = "".join(f'<div class="{kind}"><dt>{words}</dt><dd>{number}</dd></div>' for number, words, kind in kinds)
    return f'<dl class="figures">{drawn}</dl>\n'


def legend() -> str:
    """What the marks mean."""
    shown_marks = "".join(f'<li><mark class="{mark}">{SIGNS[mark]} {MARKS[mark]}</mark></li>' for mark in MARKS)
    hint = (
        "Only words that counted are marked. Point at them, or move to them with the Tab key, to read the rule behind "
        "them. The box above a conversation also marks what set the scene or did not count."
    )
    return (
        f'<details class="legend"><summary>How to read the marks</summary><p>{hint}</p>'
        f'<ul class="shown-all">{shown_marks}</ul></details>\n'
    )


def _notices(report: StoredReport, survey: Survey, glossary: Glossary) -> str:
    """What a reader must know about this page: what is left out, and why."""
    lines = [_selection(report, survey)]
    if report.header.get("redacted"):
        lines.append("Redacted: texts and matched words are replaced by their lengths.")
    elif survey.without_text:
        lines.append(
            f"{count(survey.without_text, 'case')} came without texts (<code>--no-text</code>), so only the evidence "
            "is shown. <code>synthesis report convert --cases FILE</code> adds the texts."
        )
    used = report.header["rules"]["hash"]
    if glossary.rules_hash and used != glossary.rules_hash:
        lines.append("The rules have changed since this report was made; explanations are those of today's rules.")
    lines += [f"Warning: {shown(warning)}" for warning in report.header.get("warnings", ())]
    return f'<ul class="notices">{"".join(f"<li>{line}</li>" for line in lines)}</ul>\n'


def _selection(report: StoredReport, survey: Survey) -> str:
    unexpected, cases = survey.kinds[UNEXPECTED], report.summary["cases"]
    others, shown_others = cases - unexpected, survey.shown - unexpected
    if others == shown_others:
        return f"This page shows all {count(cases, 'case')}." if cases != 1 else "This page shows the one case."
    return (
        f"This page shows all {count(unexpected, 'unexpected failure')} and {shown_others:,} of the {others:,} other "
        "cases: those that need a look first. The JSON report has the rest."
    )


def foot(report: StoredReport) -> str:
    """The conditions of the run, and the end of the page."""
    header = {key: value for key, value in report.header.items() if key != "warnings"}
    text = json.dumps(header, indent=2, ensure_ascii=False)
    details = f"<details><summary>Conditions of this run</summary><pre>{shown(text)}</pre></details>\n"
    return foot_note(details, header["tool"])


def foot_note(details: str = "", tool: Record = OWN_TOOL) -> str:
    """The end of every page: by what it was made."""
    return (
        f"</main>\n<footer>{details}<p>{shown(tool['name'])} {shown(tool['version'])}</p></footer>\n</body>\n</html>\n"
    )
