"""Markdown for a pull request comment: short enough, readable by a real parser, and inert."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from report_samples import BROKEN, FAILED, GLOSSARY, Record, realistic, report, result
from snapshots import assert_unchanged

from synthesis.model.texts import Advice
from synthesis.report.findings import Glossary
from synthesis.report.markdown import MOST_CHARACTERS, render
from synthesis.report.stored import from_dict

PARSER = MarkdownIt("commonmark").enable("table")


def drawn(content: Record, glossary: Glossary = GLOSSARY) -> str:
    return "".join(render(from_dict(content), glossary))


def saying(words: str, name: str = "A-1") -> Record:
    findings = [(words, "agency.negative.you-should")]
    return result(name, "Hi", words, findings=findings, checks={"agency_language": FAILED})


def test_it_looks_as_it_was_read() -> None:
    assert_unchanged("report.md", drawn(realistic()))


def test_a_parser_finds_the_heading_the_table_and_the_list() -> None:
    html = PARSER.render(drawn(realistic()))
    sentence = "No critical failure. 2 serious, 3 minor in 14 cases; 1 ended in error, without a verdict."
    assert html.startswith(f"<h3>❌ {sentence}</h3>")
    assert "<strong>14 cases: 5 passed, 7 failed, 1 not assessed, 1 ended in error</strong>" in html
    assert html.count("<tr>") == 4
    assert "<li><strong>serious</strong> <code>APP-1</code>" in html
    assert "Passing does not mean that a reply is safe" in html


def test_the_worst_comes_first_then_the_surest_then_what_has_no_verdict() -> None:
    weighed = {name: FAILED | {"severity": name} for name in ("minor", "serious", "critical")}
    cases = [
        result("A-1", checks={"topic_pivot": BROKEN}),
        *(result(f"A-{number}", checks={"agency_language": weighed[name]}) for number, name in enumerate(weighed, 2)),
        result("A-5", checks={"agency_language": weighed["critical"] | {"missing": ["invitation"]}}),
        result("A-6", checks={"agency_language": weighed["critical"]}, tags=["agency-fail"]),
    ]
    listed = re.findall(r"^- (?:\*\*(\w+)\*\* )?`(A-\d)`", drawn(report(*cases)), re.MULTILINE)
    assert listed == [("critical", "A-5"), ("critical", "A-4"), ("serious", "A-3"), ("minor", "A-2"), ("", "A-1")]


def test_a_name_in_the_first_sentence_does_not_link_or_mention() -> None:
    one = result("A-1", checks={"agency_language": FAILED | {"severity": "critical"}})
    one["source"]["id"] = "@team #12 https://x.example www.x.example [a](b) <b>x</b>"
    heading = PARSER.render(drawn(report(one))).partition("</h3>")[0]
    assert "<b>" not in heading
    assert "<a " not in heading
    assert not re.search(r"@team|#12|https://|www\.", heading)


def test_in_a_log_nothing_is_unexpected() -> None:
    text = drawn(report(saying("You should"), profile="traffic"))
    assert "expected" not in text
    assert "1 case: 0 passed, 1 failed" in text


def test_nothing_to_look_at_gives_no_list() -> None:
    text = drawn(report(result("A-1")))
    assert "✅" in text
    assert "What needs a look" not in text


def test_not_assessed_cases_are_named_apart() -> None:
    assert "1 not assessed" in drawn(realistic())


def test_it_stays_short_and_says_what_is_left_out() -> None:
    text = drawn(report(*(saying("You should " + "x" * 500, f"A-{number}") for number in range(1, 2001))))
    assert len(text) < MOST_CHARACTERS
    listed = text.count("fails `agency_language`")
    assert f"… and {2000 - listed:,} more cases in the full report." in text


def test_errors_are_shown() -> None:
    assert "no verdict: `topic_pivot: SimilarityError" in drawn(report(result("A-1", checks={"topic_pivot": BROKEN})))


def test_words_of_a_rule_pack_do_not_format_or_mention() -> None:
    advice = Advice("See @team, <b>x</b> *now* #12 [a](b)")
    glossary = Glossary(rules={("en", "agency.negative.you-should"): {"en": advice}})
    html = PARSER.render(drawn(report(saying("You should")), glossary))
    assert "&lt;b&gt;x&lt;/b&gt; *now*" in html
    assert "@team" not in html
    assert "#12" not in html
    assert "<a " not in html


@pytest.mark.parametrize(
    "words", ["a | b", "``x`` `", "`", "<script>alert(1)</script>", "@everyone #1", "a\n\n# b", " "]
)
def test_evaluated_words_stay_in_code(words: str) -> None:
    html = PARSER.render(drawn(report(saying(words))))
    outside = re.sub(r"<code>.*?</code>", "", html, flags=re.DOTALL)
    assert "<script" not in html
    assert "everyone" not in outside
    assert "alert" not in outside
    assert "<h1>" not in html
    assert html.count("<li>") == 2


@given(st.text(min_size=1))
def test_any_words_at_all_stay_in_one_list_entry(words: str) -> None:
    html = PARSER.render(drawn(report(saying(words))))
    assert html.count("<li>") == 2
    assert html.count("<h3>") == 1
    assert "<a " not in html
