"""The compiled reader finds what Python's finds: the same rules, wordings, places and sentences, in every language."""

import json
import random
from collections.abc import Iterator
from functools import cache
from itertools import pairwise

import pytest
from both_readers import BothReaders, OwnRules, message, needs_library, rule
from drawn_patterns import drawn_patterns
from hypothesis import given, settings
from hypothesis import strategies as st

from campaign.spelling import spelled
from synthesis.checks import rules_in_force
from synthesis.io import CASES
from synthesis.rules.analysis import MOST_STEPS, cost
from synthesis.rules.detection import Detected
from synthesis.rules.reading import Message
from synthesis.rules.ruleset import bundled_languages
from synthesis.rules.schema import GuardRule, SentenceRule
from synthesis.rules.syntax import PatternError, WordLists, parse

pytestmark = needs_library
RULES = rules_in_force()
LANGUAGES = bundled_languages()
RARE = "\u200b\u00ad\ufeff\u0301\u3099\ud800\udfff ÀİΣσſßǅﬁ¼²٣०一\u2028\u3000"
RARE += "Ａ５！～「」『』“”‘’´`„«»…—–‐•·・、。।？！¿¡\x00\x1c\x85"
PLAIN = "abc you should I'm \"'()*_~#-.,:;!?\n\t 1) 2. a.m. e.g. Dr. i "


@cache
def both() -> BothReaders:
    return BothReaders(rules_in_force())


@pytest.fixture(scope="module", autouse=True)
def _readers_go_with_their_module() -> Iterator[None]:
    """What Python reads all languages with weighs more than 100 MB."""
    yield
    both.cache_clear()


@pytest.mark.parametrize("every", [10, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("language", LANGUAGES)
def test_on_examples_of_the_rules(language: str, every: int) -> None:
    rules = RULES.packs[language].rules
    sides = {one.id: RULES._signals[one.signal].where for one in rules}
    examples = [message(text, language, sides[one.id]) for one in rules for text in (*one.match, *one.miss)]
    assert both().hits(examples[::every]) > len(rules) / every


def test_on_the_bundled_cases() -> None:
    files = sorted(CASES.parent.glob("evals*.jsonl"))
    rows = [json.loads(line) for path in files for line in path.read_text(encoding="utf-8").splitlines()]
    texts = [
        Message(row[side], side) for row in rows for side in ("user", "assistant") if isinstance(row.get(side), str)
    ]
    assert both().hits(texts) > len(texts) / 2
    assert len(both().languages([[one.text, other.text] for one, other in pairwise(texts)])) == len(texts) - 1


@pytest.mark.parametrize("language", LANGUAGES)
def test_on_texts_made_from_the_patterns(language: str) -> None:
    chance = random.Random(19)
    pack = RULES.packs[language]
    lists = WordLists(pack.lists)
    trees = [parse(source, lists) for source in chance.sample(sorted(set(pack.patterns())), 250)]
    texts = [made_from(trees, chance) for _ in range(300)]
    assert both().hits([message(text, language, where) for text in texts for where in ("user", "assistant")]) > 300


def made_from(trees: list, chance: random.Random) -> str:  # type: ignore[type-arg]
    """Some wordings in a row, some of them spoiled, with marks that end sentences, quote and list between them."""
    parts: list[str] = []
    for _ in range(chance.randint(1, 5)):
        words = spelled(chance.choice(trees), chance)
        if chance.random() < 0.3 and words:
            place = chance.randrange(len(words))
            words = words[:place] + chance.choice(["", "x", " ", ",", "'", "é", "\u200b", "*"]) + words[place + 1 :]
        words = words.capitalize() if chance.random() < 0.3 else words
        parts.append(f'"{words}"' if chance.random() < 0.1 else words)
        parts.append(
            chance.choice([" ", ". ", "? ", "! ", ", ", "; ", "\n", "\n- ", "... ", "' ", "。", "？", "। ", " not "])
        )
    return "".join(parts)


@settings(deadline=None)
@given(
    st.text(st.sampled_from(PLAIN + RARE) | st.characters(), max_size=120), st.sampled_from(["en", "fr", "hi", "ja"])
)
def test_on_any_text(text: str, language: str) -> None:
    both().read([message(text, language, "user"), message(text[::-1], language), Message(text, "user")])
    both().languages([[text], [text, text[::-1]]])


def test_on_long_lines() -> None:
    chance = random.Random(7)
    examples = [text for one in RULES.packs["en"].rules for text in one.match]
    words = [word for text in examples for word in text.lower().replace(".", " ").split()]
    lines = [" ".join(chance.choices(words, k=600)) for _ in range(6)]
    lines.append(" ".join(text.rstrip(".?!").lower() for text in chance.sample(examples, 120)))
    assert both().hits([message(line) for line in lines]) > 100


def test_sides_and_signals_choose_the_same_rules() -> None:
    texts = ["I want to die. You should just relax. Would you like to talk?"] * 2
    signals = [None, frozenset({"agency.negative"}), frozenset({"crisis.cue", "agency.positive"}), frozenset[str]()]
    english = Detected("en", "declared")
    both().read(
        [Message(text, where, some, english) for text in texts for where in ("user", "assistant") for some in signals]
    )


def test_texts_in_no_known_language_have_no_hits_and_yet_sentences() -> None:
    [reading] = both().read([Message("Ĉu vi ŝatas ĝin? Jes, tre multe.", "user", None, Detected("eo", "declared"))])
    assert (len(reading.hits), len(reading.sentences)) == (0, 2)


def is_accepted(source: str) -> bool:
    try:
        return cost(parse(source)) <= MOST_STEPS
    except PatternError:
        return False


patterns = drawn_patterns("é", "[a-f]", r"\d", "'").filter(is_accepted)
short_texts = st.text("ab! é'5.\n\"", max_size=16) | st.sampled_from(["a" * 14, "ab" * 7, "a " * 7, "aab!" * 4])


@settings(deadline=None, max_examples=60)
@given(
    st.lists(patterns, min_size=1, max_size=4),
    st.lists(short_texts, min_size=1, max_size=6),
    st.sampled_from(["en", "ja"]),
)
def test_random_patterns_match_as_re_does(sources: list[str], texts: list[str], language: str) -> None:
    rules = OwnRules([rule("any", *sources)], language=language)
    BothReaders(rules).read([message(text, language) for text in texts])


@settings(deadline=None, max_examples=30)
@given(st.lists(patterns, min_size=5, max_size=9), st.lists(short_texts, min_size=1, max_size=6), st.booleans())
def test_random_guards_and_sentence_rules(sources: list[str], texts: list[str], quoted: bool) -> None:
    one, two, three, four, *more = sources
    sentence = SentenceRule(
        "question" if quoted else "any", starts=(three,) if quoted else (), has=(four,), lacks=tuple(more[1:])
    )
    rules = OwnRules(
        [
            rule("guarded", one, two, guards=("g",)),
            rule("sentence", sentence=sentence, label="s", exception=GuardRule("u", sentence=(more[0],))),
            rule("listed", list_items=2, label="l", guards=("g",)),
        ],
        {"g": GuardRule("g", before=(two, three, four), after=(more[0],), quoted=quoted)},
    )
    BothReaders(rules).read([message(text) for text in [*texts, *(f"- {text}\n- {text}\n" for text in texts)]])


@pytest.mark.parametrize("source", ["(?:|a|aab){0,2}b?a", "(?:a?b?){1,3}a", "(?:(?:a|){0,2}b){0,2}a", "(?:a{0,2}){2}b"])
def test_repetitions_of_what_can_be_empty(source: str) -> None:
    texts = ["aab", "aaba", "abab", "aabaab b", "baa", "aaab"]
    BothReaders(OwnRules([rule("any", source)], language="ja")).read([message(text, "ja") for text in texts])
