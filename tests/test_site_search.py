"""A search of the documentation for a word of the field finds the page about it (the real search: tests/browser)."""

import sys
from pathlib import Path

import pytest
from site_search import FIRST, QUERIES, SearchIndex, Section, sections

ROOT = Path(__file__).parent.parent
sys.path.append(str(ROOT / "docs"))

import site_pages  # noqa: E402


@pytest.fixture(scope="module")
def index() -> SearchIndex:
    return SearchIndex(
        [
            section
            for source, page in site_pages.pages().items()
            for section in sections((ROOT / source).read_text(encoding="utf-8"), page, site_pages.search_boost(page))
        ]
    )


@pytest.mark.parametrize(("query", "page"), QUERIES.items(), ids=QUERIES)
def test_the_page_about_it_is_among_the_first_three(index: SearchIndex, query: str, page: str) -> None:
    assert page in index.pages(query)[:FIRST]


def test_every_query_names_a_page_that_exists() -> None:
    assert set(QUERIES.values()) <= set(site_pages.pages().values())


def test_a_word_of_a_title_outweighs_the_same_word_in_a_text() -> None:
    found = SearchIndex([Section("a", "Logs", "privacy privacy privacy"), Section("b", "Privacy", "logs")])
    assert found.pages("privacy") == ["b", "a"]


def test_a_word_stands_for_all_words_that_begin_with_it() -> None:
    found = SearchIndex([Section("a", "Hotlines", ""), Section("b", "The hot line", "")])
    assert found.pages("hotline") == ["a"]


def test_pages_that_only_mention_things_come_last() -> None:
    assert site_pages.search_boost("changelog.md") < site_pages.search_boost("privacy.md")
    found = SearchIndex([Section("changelog", "Privacy", "", boost=0.1), Section("privacy", "Privacy", "")])
    assert found.pages("privacy") == ["privacy", "changelog"]
