"""What a pattern may say, what it finds, and that it can never take more than linear time."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synthesis.rules.matcher import Matcher, WordPrefilter
from synthesis.rules.pattern import checked, prepare
from synthesis.rules.schema import Rule
from synthesis.rules.syntax import PatternError, WordLists
from synthesis.rules.text import Text, language_of

EN = language_of("en")
LISTS = WordLists({"feeling": ["sad", "really sad", "lonel(y|ier)"], "loop": ["<loop>"]})


def found(pattern: str, text: str, language: str = "en") -> list[str]:
    prepared = Text(text, language_of(language))
    rule = Rule(id="t.t.t", language=language, group="g", why={}, instead={}, patterns=(pattern,))
    ready = {pattern: prepare(pattern, language_of(language), LISTS)}
    hits = Matcher([rule], {}, ready, spaced=language_of(language).spaced).scan([prepared])[0]
    return [hit.words for hit in hits]


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("you should", "YOU should. I say you\nshould", ["YOU should", "you\nshould"]),
        ("you'll", "You’ll see", ["You’ll"]),
        ("er", "Her father; er, what", ["er"]),
        ("would you (like|want)", "would you want or would you liken", ["would you want"]),
        ("so (very )?sad", "so sad, so very sad", ["so sad", "so very sad"]),
        ("i .{0,10}promise", "I do promise. I. Promise", ["I do promise"]),
        ("i .{0,3}promise", "I really do promise", []),
        ("devastat\\w{0,3}", "devastating devastatingly devastat", ["devastating", "devastat"]),
        ("feel <feeling>", "feel really sad, feel lonelier", ["feel really sad", "feel lonelier"]),
        ("why\\?", "Why? why not", ["Why?"]),
        ("[abc]at", "bat cat rat", ["bat", "cat"]),
        ("promise", "I *prom*ise", ["prom*ise"]),
    ],
)
def test_patterns_find_words(pattern: str, text: str, expected: list[str]) -> None:
    assert found(pattern, text) == expected


def test_japanese_and_hindi_words_are_found_inside_their_script() -> None:
    assert found("大丈夫", "きっと大丈夫です", "ja") == ["大丈夫"]
    assert found("दुख", "दुख है दुखी नहीं", "hi") == ["दुख"]


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("a*", "unbounded repetition"),
        ("(ab)+", "unbounded repetition"),
        ("a{2,}", "needs both bounds"),
        ("a{0,9999}", "stay within"),
        ("a(?=b)", "look-around"),
        ("(?<!a)b", "look-around"),
        ("(a)\\1", "back-references"),
        ("(a", "unbalanced '('"),
        ("a)", "unbalanced ')'"),
        ("[a", "unbalanced '['"),
        ("^a", "'^' is not supported"),
        ("a??", "repetition of a repetition"),
        ("{2}", "nothing to repeat"),
        ("(a|b)?", "can match the empty text"),
        ("<nothing>", "there is no list"),
        ("<loop>", "contains itself"),
        ("\\q", "unknown escape"),
        (".{0,60}a.{0,60}b.{0,60}c.{0,60}d", "steps at one place"),
    ],
)
def test_what_cannot_be_linear_or_is_malformed_is_refused_with_a_reason(pattern: str, reason: str) -> None:
    with pytest.raises(PatternError, match=re.escape(reason)):
        checked(pattern, LISTS)


words = st.sampled_from(["i", "you", "should", "really", "promise", "not", "the", "what", "fine", "be", "a"])
sentences = st.lists(words, max_size=25).map(" ".join)
PATTERNS = [
    "you (really |not )?(should|promise)",
    "(i|you) .{0,12}promise",
    ".{0,6} fine",
    "\\w{1,6} should be",
    "(what|the) (a )?(you|i)",
    "be (a )?fine",
    "(really ){1,3}not",
]


def plainly(source: str, text: str) -> list[tuple[int, int]]:
    """What `re` finds without any preparation, not inside words and with gaps as short as can be."""
    boundary = r"(?:(?<!\w)|(?!\w))"
    tight = re.sub(r"(\.\{\d+,\d+\})", r"\1?", source)
    return [match.span() for match in re.finditer(f"{boundary}(?:{tight}){boundary}", text)]


@given(sentences, st.sampled_from(PATTERNS))
def test_looking_for_words_first_finds_what_a_plain_search_finds(text: str, source: str) -> None:
    prepared = Text(text, EN)
    ready = {source: prepare(source, EN, WordLists())}
    rule = Rule(id="t.t.t", language="en", group="g", why={}, instead={}, patterns=(source,))
    [hits] = Matcher([rule], {}, ready).scan([prepared])
    assert [(hit.start, hit.end) for hit in hits] == [prepared.span(*span) for span in plainly(source, prepared.normal)]


@given(st.sampled_from(PATTERNS), sentences)
def test_every_match_has_all_required_words(source: str, text: str) -> None:
    prefilter = WordPrefilter([prepare(source, EN, WordLists()).required_words])
    if plainly(source, text):
        assert prefilter.possible(text) == 1


@pytest.mark.parametrize(
    ("source", "required"),
    [
        ("you (should|must)", [("you must", "you should"), ("must", "should")]),
        ("devastat\\w{0,3}", [("dev*",)]),
        ("(alone|\\?)", [("?", "alone")]),
        ("i .{0,10} promise", [("promise",), ("i",)]),
        ("\\w{1,20}", []),
        ("i .{0,10}promise", [("i",)]),
    ],
)
def test_required_words_are_whole_words_of_every_match(source: str, required: list[tuple[str, ...]]) -> None:
    found = prepare(source, EN, WordLists()).required_words
    assert sorted(found) == sorted(required)


def test_many_texts_are_scanned_as_each_would_be_alone() -> None:
    texts = [Text(text, EN) for text in ("you should. not you", "", "should you", "You should, you should")]
    source = "you should"
    rule = Rule(id="t.t.t", language="en", group="g", why={}, instead={}, patterns=(source,))
    matcher = Matcher([rule], {}, {source: prepare(source, EN, WordLists())})
    assert matcher.scan(texts) == [hits for text in texts for hits in matcher.scan([text])]
    assert [len(hits) for hits in matcher.scan(texts)] == [1, 0, 0, 2]
