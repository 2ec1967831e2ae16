"""Texts drawn by chance from what matters to a function: many in little time, and the same ones in every run."""

import unicodedata
from collections.abc import Callable, Sequence
from functools import cache
from random import Random
from typing import NamedTuple

from synthesis.checks import helplines
from synthesis.rules.native.program import all_characters
from synthesis.rules.text import Span

SPACES = ("", "", " ", "  ", "   ", "    ", "\t", " \t", "  \t", "     ", "\t ", "        ")
FENCES = ("`", "``", "```", "````", "~~~", "~~~~", "~~", "```py", "``` `")
QUOTES = ("> ", ">", ">>", "- > ")
TABLES = ("a|b", "|a|b|", "-|-", "| - | - |", "|:-|-:|", ":-:|---", "a\\|b|c", "|", "||", "- | -", "\\||-", "|-", "a|")
ITEMS = (
    "- ",
    "-",
    "+ ",
    "* ",
    "1. ",
    "12)",
    "12) ",
    "123456789. ",
    "1234567890. ",
    "٣. ",
    "#",
    "# ",
    "###### ",
    "####### ",
)
RULES = ("---", "***", "_ _ _", "**", "--", "-*-")
WORDS = ("a", "ab", "b c", "you should rest", "漢", "हिन्दी में", "é", "", "")
TAGS = ("<b>", "</p>", "<br/>", "<BR >", "<dıv>", "<dİv>", "<bloc\u212aquote>", "<h1 a=b>", "<h7>", "<td\ta>", "<ab x>")
TAGS += (
    "<a href='x'>",
    "<a =",
    "<ab\u0301>",
    "<é>",
    "<!--",
    "-->",
    "<!-->",
    "<",
    ">",
    "/",
    "=",
    "@",
    "<a@b.c>",
    "<a@>",
)
LINKS = (
    "](",
    "[x](",
    "](y)",
    '](y "t")',
    '](y \t"t\nu")',
    ")",
    "(",
    "http://x.y",
    "https://a.b/c_(d).",
    "HTTP://",
    "]",
)
LINKS += ("www.a", "WWW.b", "www.", "://", "a+b.c://", "b://x", "abcdefghijklmno", "x1://y", "_http://z", ".", "'", ")")
CODE_SPANS = ("`", "`", "``", "```", "I don`t", "5`", "``a ` b``", "`www.a`", "é`", "\n", "\n\n", "\n# ", "\n- ")
QUOTATIONS = ('"', "“", "”", "«", "»", "「", "」", "『", "』", "\n")
ODD = (
    "\ua78f",
    "\u200b",
    "İ",
    "Σ",
    "ſ",
    "\u212a",
    "\u0301",
    "\ud800",
    "\udfff",
    "😀",
    "\xa0",
    "।",
    "\r",
    "\x0b",
    "\x85",
)
LINE_MARKS = (*FENCES, *QUOTES, *TABLES, *ITEMS, *ITEMS, *RULES, *WORDS, "`", "<!--", "-->")
INLINE = (*TAGS, *LINKS, *CODE_SPANS, *QUOTATIONS, *WORDS, *ODD, " ", "\n")
BREAKS = ("\n", "\n", "\n", "\n\n", "\r\n", "\n \n", "\n\r\r\n")


def of(chance: Random, parts: Sequence[str], most: int = 14) -> str:
    """A few of these parts, or many of a few of them."""
    some = parts if chance.random() < 0.4 else chance.choices(parts, k=chance.randint(2, 7))
    return "".join(chance.choices(some, k=chance.randrange(most)))


def any_characters(chance: Random, most: int = 40) -> str:
    bounds = (128, 0x3100, 0x110000)
    return "".join(chr(chance.randrange(chance.choice(bounds))) for _ in range(chance.randrange(most)))


def blocks(chance: Random) -> str:
    """Lines with marks in front."""
    lines = [chance.choice(SPACES) + of(chance, LINE_MARKS, 4) for _ in range(chance.randint(1, 9))]
    return "".join(part for line in lines for part in (line, chance.choice(BREAKS)))


def document(chance: Random) -> str:
    make: Callable[[Random], str] = chance.choice([blocks, blocks, _inline, _inline, _mixed, any_characters])
    return make(chance)


def _inline(chance: Random) -> str:
    return of(chance, chance.choice([TAGS, LINKS, CODE_SPANS, INLINE]))


def _mixed(chance: Random) -> str:
    return of(chance, (*LINE_MARKS, *INLINE, *SPACES), 18)


OWN = ("I", "can", "never", "do", "anything", "Right", "and", "YOU", "it", "é", "É", "x")
OWN_CHARACTERS = "もう誰にも会いたくないんですが漢字カナー、。 abＡ"


def quoting(chance: Random) -> tuple[str, str]:
    """A reply that has words of a message between quotation marks, perhaps not word for word, and the message."""
    if chance.random() < 0.5:
        said = " ".join(chance.choices(OWN, k=chance.randrange(30)))
    else:
        said = "".join(chance.choices(OWN_CHARACTERS, k=chance.randrange(60)))
    if chance.random() < 0.1:
        said += chance.choice([" Σ", " İ", "Σ", "İ"])
    parts = [_quoted(chance, said) for _ in range(chance.randint(1, 4))]
    return "".join(part for one in parts for part in (chance.choice(["", " ", "x", "`", "\n"]), one)), said


def _quoted(chance: Random, said: str) -> str:
    start = chance.randrange(len(said) + 1)
    part = said[start : start + chance.randrange(45)]
    for _ in range(chance.randrange(2)):
        part = chance.choice([part.upper(), part.lower(), part.replace(" ", ", "), f"{part} x", part.replace("、", "")])
    left, right = chance.choice(['""', '""', "“”", "«»", "「」", "『』", '"”'])
    return f"{left}{part}{right}"


GREETINGS = ("Dear", "Dear A,", "Subject:", "主题：", "Hi")
FAREWELLS = ("Best", "Best,", "此致")
TAILS = (",", ":", "!", "，", "：", "！", "、", ".", "", "?", "।")


def letters(chance: Random) -> tuple[str, list[Span], list[Span]]:
    """Lines that greet, close and sign, and places of the words that greet and close; some where there are none."""
    text = ""
    spans: tuple[list[Span], list[Span]] = ([], [])
    for _ in range(chance.randint(1, 7)):
        kind = chance.randrange(4)
        words = chance.choice((GREETINGS, FAREWELLS, ("Tom", ""), ("---", "> a", "***"))[kind])
        mark = chance.choice(["", "", "**", "# ", "  ", "_"])
        length = chance.choice([0, 0, 1, 11, 12, 13, 36, 39, 40, 41])
        if kind < 2 or chance.random() < 0.1:
            start = len(text) + (len(mark) if words or length else 0)
            spans[kind % 2].append((start, start + len(words) + chance.choice([0, 0, 0, -1, 1, 2, -9])))
        text += (
            mark
            + words
            + "x" * length
            + chance.choice(TAILS)
            + chance.choice(["", "", "**", "\r"])
            + chance.choice(BREAKS)
        )
    for of_kind in spans:
        of_kind += [(start, chance.randrange(len(text) + 9)) for start, _ in of_kind[: chance.randrange(3)]]
        of_kind[:] = [(start, max(end, 0)) for start, end in of_kind]
    return text, *spans


CODE = ("`", "``", "```", "{", "}", ";", "def", "class ", "import x", "from", "SELECT", "#include", "function", "const")
CODE += ("let", "var", " let(", "var:", "x", "_", "é", "(", "()", "(a)", "(a);", "(é):", "):", "::", "std::", "xstd::")
CODE += ("std", "$(", "$", "=>", "=", "<", "<a", "</b", "</", ">", "<A>", "<z")
PASTED = (":", "：", "\n", "\n", "\n\n", "\n ", " ", "\t", "\r", "\x0b", "\u2028", "\u3000", "|", "- ", "* ", "-", "• ")
PASTED += ("+ ", "•", "> ", "abc", "漢", "\ud800", "\u200b")
MARKS = ('"', "“", "”", "«", "»", "「", "」", "『", "』", "?", "？", "\U00010022", "\U0001003f")


def built(chance: Random) -> str:
    """A text that may hold code or pasted material."""
    return (
        any_characters(chance)
        if chance.random() < 0.1
        else of(chance, chance.choice([CODE, PASTED, (*CODE, *PASTED, *MARKS)]))
    )


TELLING = (
    "lonely",
    "loneliness",
    "depressed",
    "depression",
    "the",
    "and",
    "you",
    "I",
    "abc",
    "abcd",
    "abcde",
    "abcdef",
)
TELLING += ("work", "working", "works", "worked", "é", "élan", "ab", "a", "नमस्ते", "नमस्कार", "漢字", "日本語")


def spoken(chance: Random, *, spaced: bool) -> str:
    """Telling words and others."""
    count = chance.randrange(chance.choice([4, 12, 120]))
    own = chance.choice([TELLING, TELLING[:6], tuple(f"word{number}" for number in range(90))])
    return (
        " ".join(chance.choices(own, k=count))
        if spaced
        else "".join(chance.choices("私死友達仕事辛龠一的人不ひ、 a", k=count))
    )


EDGES = (
    "",
    "",
    "",
    "",
    " ",
    ".",
    "a",
    "-",
    "1",
    "é",
    "ı",
    "İ",
    "I\u0307",
    "I\u0301\u0307",
    "e\u0301",
    "ſ",
    "\u212a",
    "漢",
    "は",
)
EDGES += (
    "\u0307",
    "i\u0323\u0307",
    "İ\u0323",
    "।",
    "\u2010",
    "\u2212",
    "(",
    ")",
    "_",
    "½",
    "①",
    "…",
    "™",
    "㎏",
    "ﬁ",
    "\uff9e",
)
EDGES += ("\u20e3", "\ufe0f", "Ⅷ", "\xa0", "\ud800", "Z\u0335\u030c", "A\u030a", "q\u0301")
SEPARATORS = (
    "",
    "",
    " ",
    "-",
    "\u2010",
    "\u2011",
    "\u2012",
    "\u2013",
    "\xa0",
    "\u3000",
    "  ",
    "\n",
    "－",
    "﹣",
    "\u0301",
    "\u2028",
)


@cache
def _numbers() -> list[str]:
    return sorted({number for line in helplines.lines() for number in (line.number, *line.also)})


@cache
def _ways() -> dict[str, list[str]]:
    """The characters that become one of these in NFKC, alone or with others."""
    found: dict[str, list[str]] = {char: [char.lower()] for char in "".join(_numbers())}
    for other in all_characters():
        if unicodedata.decomposition(other).startswith("<"):
            for char in set(unicodedata.normalize("NFKC", other)) & found.keys():
                found[char].append(other)
    return found


def calling(chance: Random) -> str:
    """Numbers of crisis lines as somebody might write them, with something around them."""
    return chance.choice(["", " ", "x"]).join(_written(chance) for _ in range(chance.randint(1, 3)))


def _written(chance: Random) -> str:
    otherwise = chance.choice([0, 0.05, 0.3])
    parts = [
        (chance.choice(SEPARATORS) if char in " -" else chance.choice(_ways()[char]))
        if chance.random() < otherwise
        else char
        for char in chance.choice(_numbers())
    ]
    accent = chance.choice(["\u0301", "\u0307", "\u0327"]) if chance.random() < 0.03 else ""
    at = chance.randrange(len(parts) + 1)
    around = ["".join(chance.choices(EDGES, k=2)) for _ in range(2)]
    return around[0] + "".join(parts[:at]) + accent + "".join(parts[at:]) + around[1]


class Token(NamedTuple):
    start: int
    end: int
    amount: int


def contributions(chance: Random) -> tuple[list[Token], str, int]:
    """Tokens of a text with what each adds, the text, and a total near where it changes what is marked."""
    words = chance.choices(["a", "bc", "1", "_", " ", ".", "é", "漢字", "\u0301"], k=chance.randrange(40))
    largest = chance.choice([1, 3, 100, 10**6, 2**62])
    tokens: list[Token] = []
    for word in words:
        start = tokens[-1].end if tokens else 0
        tokens.append(Token(start, start + len(word), chance.randint(-largest, largest)))
    own = sum(token.amount for token in tokens if token.amount > 0)
    total = chance.choice([own, own * 10, own * 10 + 1, own * 10 - 1, own * 5, 1, own * 11])
    return tokens, "".join(words), total
