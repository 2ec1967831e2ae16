"""Quantities are read by value, in each language, and compared by what they say."""

import pytest
from quantity_samples import PAIRS, TEXTS, read, shown

from synthesis.judge.offline.values import relation


def rows(tables):
    return [
        pytest.param(language, *row, id=f"{language}: {' / '.join(row[:-1])}")
        for language in tables
        for row in tables[language]
    ]


@pytest.fixture(autouse=True)
def _icu(request):
    """Thai is divided into words by the extra `segmentation`."""
    if request.node.callspec.params["language"] == "th":
        pytest.importorskip("icu4py")


@pytest.mark.parametrize(("language", "text", "expected"), rows(TEXTS))
def test_a_quantity_is_read_by_value(language, text, expected):
    assert "; ".join(map(shown, read(text, language))) == expected


@pytest.mark.parametrize(("language", "claim", "source", "expected"), rows(PAIRS))
def test_two_quantities_relate_by_what_they_say(language, claim, source, expected):
    assert relation(read(claim, language)[0], read(source, language)[0]) == expected


@pytest.mark.parametrize("language", list(TEXTS))
def test_every_table_has_rows_for_every_language(language):
    assert len(TEXTS[language]) >= 25
    assert len(PAIRS[language]) >= 25
    assert {row[-1] for row in PAIRS[language]} == {"same", "differs", "other"}
