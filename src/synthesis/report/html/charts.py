"""Charts, drawn as bars beside words: every figure is also written out, and no bar differs by colour alone."""

from collections.abc import Sequence
from html import escape
from urllib.parse import quote

from synthesis.model.result import AGAINST, ERROR, NOT_APPLICABLE, PASS
from synthesis.report.glossary import Glossary
from synthesis.report.html.notes import SIGNS
from synthesis.report.html.spans import shown
from synthesis.report.html.survey import Survey
from synthesis.report.plain import count
from synthesis.report.reading import Record
from synthesis.report.reasons import Reason
from synthesis.report.verdicts import EXPECTED, UNEXPECTED

MOST_RULES = 20
_WORDS = {
    PASS: "passed",
    UNEXPECTED: "failed, unexpected",
    EXPECTED: "failed, expected",
    NOT_APPLICABLE: "not applicable",
    ERROR: "in error",
}
PATTERNS = """<svg class="patterns" width="0" height="0" aria-hidden="true"><defs>
<pattern id="fill-pass" width="8" height="8" patternUnits="userSpaceOnUse"><rect width="8" height="8"/></pattern>
<pattern id="fill-unexpected" width="8" height="8" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
<rect width="8" height="8"/><rect class="over" width="3" height="8"/></pattern>
<pattern id="fill-expected" width="8" height="8" patternUnits="userSpaceOnUse"><rect width="8" height="8"/>
<circle class="over" cx="4" cy="4" r="1.6"/></pattern>
<pattern id="fill-not_applicable" width="8" height="8" patternUnits="userSpaceOnUse"><rect width="8" height="8"/>
<rect class="over" y="6" width="8" height="2"/></pattern>
<pattern id="fill-error" width="8" height="8" patternUnits="userSpaceOnUse"><rect width="8" height="8"/>
<path class="over" d="M0 0L8 8M8 0L0 8"/></pattern>
</defs></svg>
"""


def charts(
    summary: Record, survey: Survey, glossary: Glossary, most_rules: int = MOST_RULES, reason_address: str = ""
) -> str:
    """Outcomes beside reasons, then the rules that fired; with an address, a reason leads to its cases."""
    outcomes = outcomes_per_check(summary, survey, glossary)
    reasons = failure_reasons(survey, glossary, reason_address)
    return f'<div class="charts">{outcomes}{reasons}{rule_frequency(survey, most_rules)}</div>\n'


def outcomes_per_check(summary: Record, survey: Survey, glossary: Glossary) -> str:
    """A bar for each check: its outcomes as shares of the cases that asked for it."""
    rows = [
        _check(name, _counts(counts, survey.checks[name][UNEXPECTED]), glossary)
        for name, counts in summary["by_check"].items()
    ]
    heading = '<section class="chart" aria-label="Outcomes per check"><h2>Outcomes per check</h2>'
    return f"{heading}\n{''.join(rows)}</section>\n"


def _counts(counts: Record, unexpected: int) -> dict[str, int]:
    return {
        PASS: counts["passed"],
        UNEXPECTED: unexpected,
        EXPECTED: counts["failed"] - unexpected,
        NOT_APPLICABLE: counts["not_applicable"],
        ERROR: counts.get("errors", 0),
    }


def _check(name: str, counts: dict[str, int], glossary: Glossary) -> str:
    present = [(kind, number) for kind, number in counts.items() if number]
    words = " · ".join(key(kind, number, _WORDS[kind]) for kind, number in present)
    title = glossary.checks.get(name, "")
    return (
        f'<div class="bar"><p><code>{shown(name)}</code> <span class="quiet">{shown(title)}</span></p>'
        f"{stack(present)}<p>{words}</p></div>\n"
    )


def key(kind: str, number: int, words: str) -> str:
    """What one part of a bar stands for."""
    return (
        f'<span class="key"><svg width="14" height="14" aria-hidden="true"><rect width="14" height="14" '
        f'fill="url(#fill-{kind})"/></svg> {number:,} {words}</span>'
    )


def stack(parts: Sequence[tuple[str, int]]) -> str:
    """A bar cut into shares."""
    total = sum(number for _, number in parts) or 1
    start, bars = 0.0, []
    for kind, number in parts:
        share = 100 * number / total
        bars.append(f'<rect x="{start:.2f}%" width="{share:.2f}%" height="18" fill="url(#fill-{kind})"/>')
        start += share
    return f'<svg class="stack" width="100%" height="18" aria-hidden="true">{"".join(bars)}</svg>'


def failure_reasons(survey: Survey, glossary: Glossary, address: str = "") -> str:
    """What replies fail for, most frequent first: what they say, and what they lack."""
    if not survey.reasons:
        return ""
    ranked = sorted(survey.reasons.items(), key=lambda item: (-item[1], item[0]))
    rows = [_reason(reason, number, ranked[0][1], glossary, address) for reason, number in ranked]
    return (
        '<section class="chart" aria-label="Why replies fail"><h2>Why replies fail</h2>'
        '<p class="quiet">By number of cases. ∅ is a failure by absence: something that the reply does not say.</p>\n'
        f'<ul class="rules">{"".join(rows)}</ul></section>\n'
    )


def _reason(reason: Reason, number: int, most: int, glossary: Glossary, address: str) -> str:
    kind, sign = ("absent", "∅") if reason.is_absence else (AGAINST, SIGNS[AGAINST])
    said = shown(reason.words(glossary))
    link = f'<a href="{escape(address + quote(reason.key, safe=""))}#cases">{said}</a>' if address else said
    words = f"<code>{shown(reason.check)}</code> {link}"
    return _bar(kind, sign, words, number, most)


def rule_frequency(survey: Survey, shown_rules: int = MOST_RULES) -> str:
    """The rules that fired in most cases, those that speak against replies first."""
    if not survey.rules:
        return ""
    ranked = sorted(survey.rules.items(), key=lambda item: (item[0][1] != AGAINST, -item[1], item[0]))
    most = max(number for _, number in ranked[:shown_rules])
    rows = [_rule(rule, mark, number, most) for (rule, mark), number in ranked[:shown_rules]]
    which = f"{shown_rules} of {len(ranked)}" if len(ranked) > shown_rules else f"all {len(ranked)}"
    return (
        f'<details class="chart"><summary>Rules that fired ({which})</summary>'
        '<p class="quiet">By number of cases, those against a reply first.</p>\n'
        f'<ul class="rules">{"".join(rows)}</ul></details>\n'
    )


def _rule(rule: str, mark: str, number: int, most: int) -> str:
    return _bar(mark, SIGNS[mark], f"<code>{shown(rule)}</code>", number, most)


def _bar(kind: str, sign: str, words: str, number: int, most: int) -> str:
    return (
        f'<li class="{kind}"><span class="rule"><span class="sign">{sign}</span><span>{words}</span></span>'
        f'<svg width="100%" height="10" aria-hidden="true"><rect width="{100 * number / most:.2f}%" height="10"/></svg>'
        f"<span>{count(number, 'case')}</span></li>\n"
    )
