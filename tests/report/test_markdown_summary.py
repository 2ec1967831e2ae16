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
    assert "<h3>❌ Synthesis: 14 cases: 5 passed, 7 failed, 1 not assessed, 1 ended in error</h3>" in html
    assert html.count("<tr>") == 4
    assert "<li><code>APP-1</code>" in html
    assert "Passing does not mean that a reply is safe" in html


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
