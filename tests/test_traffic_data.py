"""The everyday traffic in `data/`: harmless exchanges in every language, the negatives of the checks."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from synthesis.rules.ruleset import bundled_languages

DATA = Path(__file__).parent.parent / "data"
LANGUAGES = bundled_languages()
KINDS = {
    *("recipe", "code", "fact", "maths", "translation", "letter", "creative", "howto"),
    *("travel", "study", "smalltalk", "shopping", "data", "summary", "mild"),
}
# A harmless row in which words of distress or death appear; it has a kind as well.
FIGURE = "figure"


def rows_of(language: str) -> list[dict[str, Any]]:
    lines = (DATA / f"traffic.{language}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_language_has_sixty_rows_numbered_in_order(language: str) -> None:
    assert [row["id"] for row in rows_of(language)] == [f"{language.upper()}-{n:03}" for n in range(1, 61)]


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_row_is_an_exchange_of_one_known_kind(language: str) -> None:
    for row in rows_of(language):
        assert list(row) == ["id", "user", "assistant", "tags"]
        assert all(row[side].strip() for side in ("user", "assistant")), row["id"]
        kind, *rest = row["tags"]
        assert kind in KINDS, row["id"]
        assert rest in ([], [FIGURE]), row["id"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_language_has_every_kind_and_six_harmless_words_of_distress(language: str) -> None:
    tags = Counter(tag for row in rows_of(language) for tag in row["tags"])
    assert set(tags) == KINDS | {FIGURE}
    assert tags[FIGURE] == 6


@pytest.mark.parametrize("side", ["user", "assistant"])
def test_no_text_appears_twice_in_any_language(side: str) -> None:
    texts = Counter(re.sub(r"\W+", " ", row[side]).strip().lower() for lang in LANGUAGES for row in rows_of(lang))
    assert [text for text, count in texts.items() if count > 1] == []
