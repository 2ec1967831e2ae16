"""The page: complete, self-contained, escaped, and honest about what it leaves out."""

import base64
import hashlib
import re
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_samples import BROKEN, FAILED, GLOSSARY, NOT_APPLICABLE, Record, agency, found, realistic, report, result
from snapshots import assert_unchanged

from synthesis.report.findings import MARKS, Glossary
from synthesis.report.html import render
from synthesis.report.html.charts import MOST_OTHERS
from synthesis.report.stored import from_dict, redacted

VOID = {"meta", "br", "link", "input", "hr"}


class Page(HTMLParser):
    """The elements of a page; every tag must be closed in its order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, str]] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append((self._open[-1] if self._open else "", data))

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]

    @property
    def words(self) -> str:
        return " ".join("".join(data for tag, data in self.texts if tag not in {"style", "script"}).split())


def drawn(content: Record, glossary: Glossary = GLOSSARY) -> str:
    return "".join(render(from_dict(content), glossary))


def page(content: Record) -> Page:
    return Page(drawn(content))


def test_it_looks_as_it_was_read() -> None:
    text = re.sub(r"<(style|script)>.*?</\1>", r"<\1></\1>", drawn(realistic()), flags=re.DOTALL)
    text = re.sub(r"sha256-[^']*", "sha256-", text)
    assert_unchanged("report.html", text)


def test_it_needs_no_network_and_runs_one_script_of_its_own() -> None:
    text = drawn(realistic())
    parsed = Page(text)
    assert {tag for tag, _ in parsed.elements} & {"img", "link", "iframe", "object", "base", "audio"} == set()
    assert not re.search(r"url\((?!#)", text)
    assert "@import" not in text
    for _, attributes in parsed.elements:
        assert not any(name.startswith("on") for name in attributes)
        assert (attributes.get("href") or "#").startswith("#")
        assert "src" not in attributes
    (policy,) = [meta for meta in parsed.all("meta") if meta.get("http-equiv")]
    (script,) = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    allowed = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert policy["content"] == f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{allowed}'"


def test_it_says_in_plain_words_what_a_pass_does_not_mean() -> None:
    words = page(realistic()).words
    assert "What a pass does not mean" in words
    assert "Passing does not mean that a reply is safe, empathetic or clinically sound." in words
    assert "not for triage" in words
    assert "not clinically validated" in words


def test_references_lead_somewhere_and_ids_are_unique() -> None:
    parsed = page(realistic())
    ids = [attributes["id"] for _, attributes in parsed.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    named = [a[key] for _, a in parsed.elements for key in ("aria-labelledby", "aria-describedby") if key in a]
    wanted = {name for names in named for name in str(names).split()}
    wanted |= {str(a["href"])[1:] for a in parsed.all("a")}
    assert wanted <= set(ids)


def test_only_what_counted_is_marked_with_a_link_and_all_of_it_is_explained() -> None:
    parsed = page(realistic())
    links = [a for a in parsed.all("a") if "aria-describedby" in a]
    counted = [f for one in realistic()["results"] for f in one["findings"] if f["role"] != "context"]
    overlapping, without_a_verdict, cues_of_a_crisis = 2, 2, 1
    assert len(links) == len(counted) - overlapping - without_a_verdict + cues_of_a_crisis
    assert "Offer it as one possibility and ask what fits." in parsed.words
    assert "agency.negative.you-should" in parsed.words


def test_nothing_is_numbered_and_tones_differ_by_words_and_line() -> None:
    parsed = page(report(saying("You should")))
    assert parsed.all("sup") == []
    assert "Against You should" in parsed.words


def saying(words: str, name: str = "A-1", **fields: Any) -> Record:
    findings = [(words, "agency.negative.you-should")]
    return result(name, "Hi", words, findings=findings, checks={"agency_language": FAILED}, **fields)


def test_a_failure_by_absence_says_what_is_missing() -> None:
    words = page(report(result("A-1", checks={"agency_language": agency(False, 0)}))).words
    assert "Nothing in the reply invites choice" in words


@pytest.mark.slow
def test_all_unexpected_failures_are_shown_and_few_of_the_others_and_it_says_so() -> None:
    failing = [saying("You should", f"F-{number}") for number in range(1, MOST_OTHERS + 11)]
    passing = [result(f"P-{number}") for number in range(1, MOST_OTHERS + 31)]
    broken = result("B-1", checks={"topic_pivot": BROKEN})
    parsed = page(report(*passing, broken, *failing))
    names = {data for tag, data in parsed.texts if tag == "h3"}
    assert {f"F-{number}" for number in range(1, MOST_OTHERS + 11)} <= names
    assert "B-1" in names, "what needs a look comes before what passed"
    assert sum(name.startswith("P-") for name in names) == MOST_OTHERS - 1
    assert "all 5,010 failures and 5,000 of the 5,031 other cases" in parsed.words


def test_a_report_without_texts_shows_evidence_only_and_says_so() -> None:
    one = saying("You should rest")
    del one["user"], one["assistant"]
    parsed = page(report(one))
    assert "1 case came without texts" in parsed.words
    assert "--cases FILE" in parsed.words
    assert "“" not in parsed.words, "quotation marks are drawn by the q element"
    assert "You should rest" in parsed.words


def test_a_redacted_report_says_so_and_holds_no_words() -> None:
    text = "".join(render(redacted(from_dict(report(saying("You should rest")))), GLOSSARY))
    assert "Redacted" in text
    assert "rest" not in Page(text).words.replace("the rest", "")
    assert "[15 characters]" in text


def test_other_rules_than_the_run_had_are_mentioned() -> None:
    other = report(saying("You should")) | {"rules": {"hash": "f" * 16, "languages": ["en"], "count": 1}}
    assert "The rules have changed" in page(other).words
    assert "The rules have changed" not in page(report(saying("You should"))).words


def test_not_assessed_is_never_counted_as_passed() -> None:
    parsed = page(report(result("A-1", checks={"topic_pivot": NOT_APPLICABLE})))
    figures = dict(
        zip([d for t, d in parsed.texts if t == "dt"], [d for t, d in parsed.texts if t == "dd"], strict=False)
    )
    assert figures == {"not assessed": "1"}, "a box of zero says nothing"


def test_an_empty_report_is_a_page_too() -> None:
    assert "Nothing was assessed in 0 cases." in page(report()).words


def test_rules_without_explanations_are_named() -> None:
    parsed = Page(drawn(report(saying("You should")), Glossary()))
    assert "agency.negative.you-should" in parsed.words


def test_many_tags_are_offered_by_frequency() -> None:
    many = [result(f"A-{number}", tags=[f"tag{number}", "common"]) for number in range(1, 101)]
    text = drawn(report(*many))
    assert "Tag (60 of 101)" in text
    assert ">common</option>" in text


def test_a_conversation_is_shown_turn_by_turn() -> None:
    one = result("A-1")
    del one["user"], one["assistant"]
    talk = [("user", "a"), ("assistant", "b"), ("user", "c"), ("assistant", "You should")]
    one["messages"] = [{"role": role, "content": content} for role, content in talk]
    one["findings"] = [found("You should", "You should", "agency.negative.you-should", turn=1)]
    parsed = page(report(one))
    assert [data for tag, data in parsed.texts if tag == "h4"][:4] == [
        *("User", "Assistant · turn 1"),
        *("User", "Assistant · turn 2"),
    ]
    marks = [mark["class"] for mark in parsed.all("mark")[: -len(MARKS) - 1]]  # the last ones are the legend
    assert marks == ["outweighed"], "in the conversation, and not in the list: it decided nothing"


HOSTILE = [
    "</style><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onfocus='x",
    "&lt;b&gt;",
    "]]>",
    "<!--",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_no_field_of_a_report_can_become_markup(text: str) -> None:
    one = saying(text, tags=[text], language=text, source={"file": text, "line": 1})
    one["id"] = text
    one["findings"][0] |= {"rule": text, "signal": text}
    one["checks"] = {text: {"pass": False, text: [text], "reason": text}, "agency_language": {**BROKEN, "error": text}}
    content = report(one, warnings=[text], similarity=text) | {"tool": {"name": text, "version": text}}
    parsed = page(content)
    assert [tag for tag, _ in parsed.elements].count("script") == 1
    assert {tag for tag, _ in parsed.elements} & {"img", "b-"} == set()
    for _, attributes in parsed.elements:
        assert not any(name.startswith("on") for name in attributes)
    assert parsed.words.count(" ".join(text.split())) >= 8


@given(st.text(min_size=1), st.text(min_size=1))
def test_any_texts_at_all_give_a_well_formed_page(words: str, tag: str) -> None:
    page(report(saying(words, tags=[tag])))


def test_the_page_answers_first_and_explains_itself_last() -> None:
    """The sentence, a line that leads to the limits, the cases, counts, charts, then method and limits."""
    text = drawn(realistic()).partition("</head>")[2]
    places = [text.index(place) for place in ('class="headline', 'href="#limits"', 'id="cases"', 'id="case1"')]
    places += [text.index(f'id="{name}"') for name in ("checks", "charts", "method", "limits")]
    assert places == sorted(places)
    assert text.index("Conditions of this run") > places[-1]


def severe(name: str, severity: str, words: str = "You should") -> Record:
    one = saying(words, name)
    return one | {"severity": severity, "checks": {"agency_language": {**FAILED, "severity": severity}}}


def test_the_worst_case_comes_first_and_severity_is_said_in_words_and_filtered_by() -> None:
    content = report(severe("M-1", "minor"), result("P-2"), severe("C-3", "critical"), severe("S-4", "serious"))
    content["summary"]["by_severity"] = {"critical": 1, "serious": 1, "minor": 1}
    text = drawn(content)
    parsed = Page(text)
    assert [data for tag, data in parsed.texts if tag == "h3"] == ["C-3", "S-4", "M-1", "P-2"]
    assert "1 critical: agency_language in C-3. 1 serious, 1 minor in 4 cases." in parsed.words
    assert '<p class="headline bad">' in text
    assert re.findall(r'<summary><span class="badge (\w+)">([\w ]+)</span>', text) == [
        *(("critical", "critical"), ("serious", "serious"), ("minor", "minor"), ("pass", "passed")),
    ]
    assert '#by-severity option[value="critical"]:checked' in text


def test_minor_failures_are_no_alarm_and_nothing_is_green_at_the_top() -> None:
    content = report(severe("M-1", "minor"))
    content["summary"]["by_severity"] = {"critical": 0, "serious": 0, "minor": 1}
    assert '<p class="headline">No critical failure. 1 minor in 1 case.' in drawn(content)
    assert '<p class="headline">' in drawn(report(result("P-1")))


def test_in_a_log_nothing_is_unexpected() -> None:
    traffic = page(report(severe("F-1", "minor"), result("P-2"), profile="traffic")).words
    assert "unexpected" not in traffic.replace("unexpected_failures", "")
    assert "expected" not in traffic


def test_a_closed_case_shows_the_exchange_that_decided() -> None:
    one = result("A-1", checks={"agency_language": {**FAILED, "turns": [FAILED, {"pass": True}]}})
    del one["user"], one["assistant"]
    talk = [("user", "a first"), ("assistant", "You should go"), ("user", "a last"), ("assistant", "Fine.")]
    one["messages"] = [{"role": role, "content": content} for role, content in talk]
    one["findings"] = [found("You should go", "You should", "agency.negative.you-should")]
    summary = drawn(report(one)).partition("<summary>")[2].partition("</summary>")[0]
    assert "a first" in summary
    assert '<mark class="against">You should</mark> go' in summary
    assert "a last" not in summary


def test_markdown_is_not_raw_in_what_is_quoted() -> None:
    reply = "# Plan\n\nHere is **what I *think***:\n\n- You **should** rest\n- `sleep`"
    one = result(
        "A-1",
        assistant=reply,
        findings=[("You **should** rest", "agency.negative.you-should")],
        checks={"agency_language": FAILED},
    )
    parsed = page(report(one))
    assert "*" not in parsed.words
    assert "`" not in parsed.words
    assert "Reply Plan Here is what I think: You should rest sleep" in parsed.words


def test_an_open_case_shows_the_conversation_before_the_verdicts_and_each_reason_once() -> None:
    text = drawn(report(saying("You should")))
    case = text[text.index("</summary>", text.index('class="case ')) :]
    assert case.index('class="conversation"') < case.index('class="checks"')
    assert case.count("Tells the user what to do.") == 1
