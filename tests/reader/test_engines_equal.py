"""Every engine of the learned reader gives the same integers, and the contributions of words are the whole score."""

import random
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reader_samples import LARGE, ODD, engines, real, small, toy

from synthesis.errors import OptionError
from synthesis.reader.compiled import BATCH, CompiledEngine
from synthesis.reader.engines import ENGINES, engine
from synthesis.reader.reference import Contribution, Engine
from synthesis.rules.native.library import NativeReaderError

LANGUAGES = {
    "en": "I can't sleep, and I don't know what to do any more. It's been 3 weeks!",
    "fr": "Je n’arrive plus à dormir, et ça fait 12 jours… Qu'est-ce que je dois faire ?",
    "es": "¿Qué puedo hacer? Mañana será otro día, pero hoy no puedo más: ¡ayúdame!",
    "it": "Perché non mi ascolta nessuno? È già la terza volta, cioè più di 100 messaggi.",
    "pt": "Não sei o que fazer; a situação já não é fácil às 23h.",
    "hi": "मुझे नींद नहीं आती। मैं क्या करूँ? १२ दिन हो गए॥",
    "ja": "もう３週間も眠れません。どうしたらいいですか？ カタカナ、ﾊﾝｶｸ。",
    "zh": "我已经三个星期睡不着了，怎么办？ 𠀀𠀁",
}
MIXED = [
    "",
    " \n\u3000",
    "...",
    "x",
    "한국어 ᄀᄁ",
    "Ａｂｃ１２３！",
    "e\u0301a\u00adb\u200bc",
    "\ud800\udfff",
    "\x00\x7f÷ª",
    "ȺȾİ",
]
LONG = ["word " * 700, "我们" * 900, "a" * 5000, "1" * 3000 + "x" * 25, "a1." * 171, "a1." * 170 + "ab", "!" * 641]
TEXTS = [*LANGUAGES.values(), *MIXED, *LONG]
PLAIN = "abc you I'm don't 12. "
RARE = (
    "\u200b\u00ad\ufeff\u0301\u3099\ud800\udfff ÀİΣσſßǅﬁ¼²٣०一日本語한ᄀ\u2028\u3000Ａ５！～’ʼ…।÷\u1680\x00\x85ꙁꯀⰀ𠀀😀"
)
any_text = st.text(st.sampled_from(PLAIN + RARE) | st.characters(), max_size=120)

GOLDEN_TEXTS = ["I can't sleep, it's been 3 weeks!", "我睡不着 ok", "e\u0301\ud800"]
GOLDEN = [
    (
        *(-846298542824, 405643778992, -268868005520, 68720182120),
        *(452416775104, 6327753096, -173428208696, -458829862912),
    ),
    (-571922263535, -120116203742, -253081004237, -69275457986),
    (
        *(6439747584, -162956722176, -332626821120, -161895038976),
        *(428574081024, -57577078784, 242137841664, -202050912256),
    ),
]
GOLDEN_CONTRIBUTIONS = [
    Contribution(0, 1, 32116051240),
    Contribution(2, 7, -93048776800),
    Contribution(8, 13, 191006073840),
    Contribution(13, 14, 211256156520),
    Contribution(15, 19, -375804439152),
    Contribution(20, 24, 31743552144),
    Contribution(25, 26, 79817127528),
    Contribution(27, 32, 46768294320),
    Contribution(32, 33, 281789739352),
]


@cache
def engines_of(weights_of: object) -> list[Engine]:
    return engines(weights_of())  # type: ignore[operator]


def compared(some: list[Engine], texts: list[str]) -> None:
    """Both sides of every text, and what each token adds to one of the scores."""
    reference, *others = some
    for side, segments in (("user", (0, 2)), ("assistant", (1,))):
        scores = reference.scores(texts, [side] * len(texts))
        assert all(other.scores(texts, [side] * len(texts)) == scores for other in others)
        for number, text in enumerate(texts):
            segment, heads = segments[number % len(segments)], len(scores[number]) // len(segments)
            head = number % heads
            parts = reference.contributions(text, segment, head)
            assert all(other.contributions(text, segment, head) == parts for other in others)
            assert sum(part.amount for part in parts) == scores[number][segments.index(segment) * heads + head]


@pytest.mark.parametrize("weights_of", [small, real])
def test_on_all_languages_and_on_odd_and_long_texts(weights_of: object) -> None:
    compared(engines_of(weights_of), TEXTS if weights_of is small else [*LANGUAGES.values(), *MIXED])


@settings(deadline=None, max_examples=150)
@given(st.lists(any_text, min_size=1, max_size=3))
def test_on_any_text(texts: list[str]) -> None:
    compared(engines_of(small), texts)


@pytest.mark.parametrize("sizes", [{}, ODD, LARGE], ids=["small", "odd", "large"])
@pytest.mark.parametrize("extreme", [False, True])
def test_on_weights_of_other_sizes_and_at_the_ends_of_their_ranges(sizes: dict[str, int], extreme: bool) -> None:
    texts = ["It's 3.", ""] if sizes is LARGE else [LANGUAGES["en"], LANGUAGES["ja"], "a", "", *LONG]
    compared(engines(toy(3, extreme=extreme, **sizes)), texts)


def test_what_is_kept_from_text_to_text_changes_nothing() -> None:
    """More words than the compiled engine keeps rows of, in texts that share some of them."""
    chance = random.Random(5)
    words = ["".join(chance.choices("abcdefgh", k=chance.randint(1, 15))) for _ in range(12_000)]
    drawn = [chance.choices(words[: 10 ** chance.randint(1, 4)], k=30) for _ in range(500)]
    texts = [" ".join(some) for some in drawn]
    reference, *others = engines_of(small)
    scores = reference.scores(texts, ["assistant"] * len(texts))
    assert all(other.scores(texts, ["assistant"] * len(texts)) == scores for other in others)
    for other in others:
        assert [other.scores([text], ["assistant"])[0] for text in texts] == scores


def test_threads_may_share_an_engine() -> None:
    texts = [f"{word} {number % 7}" for number, word in enumerate(LONG[2][:40] + LANGUAGES["en"] * 4)]
    reference, *others = engines_of(small)
    scores = reference.scores(texts, ["user"] * len(texts))
    with ThreadPoolExecutor(4) as pool:
        for other in others:
            found = pool.map(lambda _, one=other: one.scores(texts, ["user"] * len(texts)), range(40))
            assert all(one == scores for one in found)


def test_golden_integers() -> None:
    """Written down once: another machine, Python or library must give the same."""
    for one in engines_of(small):
        assert one.scores(GOLDEN_TEXTS, ["user", "assistant", "user"]) == GOLDEN, one.name
        assert one.contributions(GOLDEN_TEXTS[0], 0, 1) == GOLDEN_CONTRIBUTIONS, one.name


def test_sides_may_be_mixed_and_batches_are_long() -> None:
    texts = [f"text {number}" for number in range(BATCH + 3)]
    sides = ["user" if number % 3 else "assistant" for number in range(len(texts))]
    reference, *others = engines_of(small)
    scores = reference.scores(texts, sides)
    assert [len(some) for some in scores[:3]] == [4, 8, 8]
    assert all(other.scores(texts, sides) == scores for other in others)
    assert all(one.scores([], []) == [] for one in engines_of(small))


def test_what_there_is_not_is_refused() -> None:
    for one in engines_of(small):
        with pytest.raises(OptionError, match="no side 'system'"):
            one.scores(["x"], ["system"])
        with pytest.raises(ValueError, match="shorter"):
            one.scores(["x", "y"], ["user"])
        for segment, head in ((3, 0), (0, 4), (-1, 0)):
            with pytest.raises(OptionError, match=r"there is no (segment|head)"):
                one.contributions("x", segment, head)


def test_an_engine_is_chosen_by_name() -> None:
    assert engine(small(), "python").name == "python"
    assert engine(small()).name == next(name for name in ENGINES if name in {one.name for one in engines_of(small)})
    with pytest.raises(OptionError, match="no engine 'rust'"):
        engine(small(), "rust")


def test_an_engine_that_is_missing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("synthesis.reader.engines.library", lambda: None)
    assert engine(small()).name != "compiled"
    with pytest.raises(OptionError, match="'compiled' is not here"):
        engine(small(), "compiled")


def test_a_fault_of_the_library_is_a_warning_and_python_does_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = [one for one in engines(small()) if isinstance(one, CompiledEngine)]
    if not compiled:
        pytest.skip("the library is not here")

    def fails(*_: object) -> bytes:
        raise NativeReaderError("a fault")

    reference = engine(small(), "python")
    monkeypatch.setattr(compiled[0]._library, "answer", fails)
    with pytest.warns(UserWarning, match="a fault; Python scores 1 texts"):
        assert compiled[0].scores(["x y"], ["user"]) == reference.scores(["x y"], ["user"])
    with pytest.warns(UserWarning, match="a fault; Python says"):
        assert compiled[0].contributions("x y", 1, 1) == reference.contributions("x y", 1, 1)


def test_a_model_that_the_library_refuses_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(*_: object) -> CompiledEngine:
        raise NativeReaderError("refused")

    monkeypatch.setattr("synthesis.reader.engines.library", object)
    monkeypatch.setattr("synthesis.reader.engines.CompiledEngine", refuses)
    with pytest.warns(UserWarning, match="refused; another engine"):
        assert engine(small()).name != "compiled"
