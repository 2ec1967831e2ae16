"""Random rules against the loader's promise: a pattern is refused with its place, or takes linear time on any text."""

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from campaign.forked import in_child
from campaign.spelling import repeated, spelled
from campaign.tally import Attempt, Broken, Budget, Kind, Setting
from synthesis.checks.registry import signals
from synthesis.errors import RuleError
from synthesis.rules.analysis import cost
from synthesis.rules.loader import load_pack
from synthesis.rules.matcher import Matcher
from synthesis.rules.pattern import prepare as prepare_pattern
from synthesis.rules.syntax import WordLists, parse
from synthesis.rules.text import Text, language_of

SIZES = (2_000, 20_000)
MOST_STEPS = 100_000  # the loader's promise, written out: read from the loader, a raised bound would raise this one too
SECONDS_A_STEP = 100e-9  # of processor time; measured 18 to 70 ns, and a matcher takes no more steps than its cost
ALLOWED_ANYHOW = 2.0  # seconds for the larger text, so that a busy machine fails nothing
STEEPEST = 20.0  # times the time for ten times the text
TOO_SHORT = 0.05  # seconds
LIMIT = 30
KNOWN = [  # patterns that got past the loader once, or broke it
    "x(?:" + "|".join(f"{'a' * n}|{'a' * n}!" for n in range(1, 26)) + "){0,13}y",
    "zq|(?:(?:(?:a ){200}){200}){200}b",
    "a.{0,200}b.{0,200}c",
    "a{0,²}b",
    "[z-a]b",
    "(?:" * 400 + "a" + ")" * 400,
    "(?:a?){0,200}b",
    "(?:a|aa){0,100}b",
    "(?:a{0,20}){0,20}b",
    r"(?:\w{1,30} ){0,30}end",
    r"(?:\w| ){0,200}(?:\w| ){0,200}z",
    "(?:a|b|ab){1,100}c",
    "[^z]{0,200}[^y]{0,200}x",
    "(?:.{0,50}a){0,4}b",
]
PACK = "language: en\nname: Random\nversion: '1'\nlicence: MIT\n"
RULE = "rules:\n  - id: agency.negative.random\n    group: other\n    why: x\n    instead: y\n    pattern: "


def random_pattern(chance: random.Random, depth: int = 3) -> str:
    """A pattern out of the language's own parts, and now and then a stray character."""
    kinds = ["text", "text", "class", "gap", "edge"] + ["choice", "repeat", "sequence", "optional"] * (depth > 0)
    match chance.choice(kinds):
        case "text":
            return chance.choice(["a", "b", "ab", "aa", "a ", "you", "é", " ", "'", "²", ".", "-", "aab"])
        case "class":
            return chance.choice(["[ab]", "[a-f]", "[^a]", r"\w", r"\d", r"\s", "[z-a]", "[]", "[-a]", "[a"])
        case "gap":
            return f".{{{chance.choice(['0,5', '0,40', '1,200', '0,200', '3'])}}}"
        case "edge":
            return r"\b"
        case "choice":
            options = [random_pattern(chance, depth - 1) for _ in range(chance.randint(2, 6))]
            return f"(?:{'|'.join(options)})"
        case "repeat":
            low, high = sorted((chance.choice([0, 0, 1, 2]), chance.choice([1, 2, 5, 13, 40, 200])))
            return f"(?:{random_pattern(chance, depth - 1)}){{{low},{high}}}"
        case "optional":
            return f"(?:{random_pattern(chance, depth - 1)})?"
        case _:
            return "".join(random_pattern(chance, depth - 1) for _ in range(chance.randint(2, 4)))


@contextmanager
def prepare(setting: Setting) -> Iterator[Attempt]:  # noqa: ARG001
    def attempt(chance: random.Random, number: int, folder: Path) -> None:
        drawn = random_pattern(chance)
        if chance.random() < 0.5:
            drawn = f"{random_pattern(chance, 2)}{drawn}{random_pattern(chance, 2)}"
        source = KNOWN[number] if number < len(KNOWN) else drawn
        pack = folder / "en"
        pack.mkdir()
        (pack / "pack.yaml").write_text(PACK, encoding="utf-8")
        (pack / "rules.yaml").write_text(RULE + "'" + source.replace("'", "''") + "'\n", encoding="utf-8")
        texts_seed = chance.random()
        try:
            in_child(lambda: _expect_promise(pack, source, random.Random(texts_seed)), LIMIT)
        except Broken as broken:
            raise Broken(f"{broken}: {source[:100]!r}") from None

    yield attempt


def _expect_promise(folder: Path, source: str, chance: random.Random) -> None:
    try:
        pack = load_pack(folder, signals())
    except RuleError as error:
        if not error.place or not error.place.line:
            raise Broken(f"refused without a line: {error}") from None
        return
    # Prepared here and not by way of a RuleSet, which would leave every random pack in the user's cache.
    language = language_of("en")
    prepared = {source: prepare_pattern(source, language, WordLists())}
    matcher = Matcher(pack.rules, {}, prepared)
    node = parse(source)
    if (steps := cost(node)) > MOST_STEPS:
        raise Broken(f"accepted, though it can take {steps:,} steps at one place")
    a_character = steps * SECONDS_A_STEP
    for longest in (False, True):
        unit = spelled(node, chance, longest=longest)[:5000]
        # Cut short and with an end that cannot match: a search that backtracks must try everything.
        for text in (unit, unit[:-1] or unit, unit + "#", unit[: len(unit) // 2] or unit):
            _expect_linear(matcher, text, a_character)


def _expect_linear(matcher: Matcher, unit: str, a_character: float) -> None:
    small, large = (_seconds(matcher, repeated(unit, size)) for size in SIZES)
    if large > max(ALLOWED_ANYHOW, SIZES[1] * a_character):
        raise Broken(f"{large:.1f} s for {SIZES[1]:,} characters of {unit[:30]!r}")
    if small > TOO_SHORT and large / small > STEEPEST:
        raise Broken(f"{large / small:.0f} times the time for ten times the text of {unit[:30]!r}")


def _seconds(matcher: Matcher, text: str) -> float:
    began = time.process_time()
    matcher.scan([Text(text, language_of("en"))])
    return time.process_time() - began


KIND = Kind(
    "random-rules",
    "random patterns: refused with their place, or linear on their own words",
    prepare,
    quick=Budget(1000, 160),
    full=Budget(20_000, 3600),
)
