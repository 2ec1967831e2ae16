"""Escapes and markup in texts and rule packs: none of it is alive in the terminal, a page, a table or a log."""

import csv
import html.parser
import io
import json
import random
import re
import unicodedata
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from campaign.lab import EVALUATION, Lab
from campaign.tally import Attempt, Budget, Kind, Setting, expect
from synthesis.io import CASES

ALIVE = "campaign()"  # a script that must never be one
PIECES = [
    "\x1b[2J\x1b]0;title\x07",
    "\x9b31m",
    "\u202e\u2066",
    "\u200b\ufeff",
    "\r\n::error::injected",
    "\n::add-mask::x",
    "::set-output name=a::b",
    f"<script>{ALIVE}</script>",
    f"<img src=x onerror={ALIVE}>",
    f'"><svg onload={ALIVE}>',
    f"</textarea></style></title><script>{ALIVE}</script>",
    f"[click](javascript:{ALIVE})",
    "| a | b |\n| --- | --- |",
    "]]>",
    "<!--",
    "&lt;script&gt;&#60;",
    "=HYPERLINK(1)",
    "@SUM(1)",
    "\x00\x08\x0b",
    "\u2028\u2029",
    "%0A::error::x",
    "`code` **bold** # head",
    "{{7*7}} ${x} %s",
]
FORMATS = ("csv", "github", "html", "junit", "markdown", "sarif")
LINT_EVERY = 40  # it reads all packs, which takes seconds
UNSAFE = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}


def _hostile(chance: random.Random, *words: str) -> str:
    pieces = [*words, *(chance.choice(PIECES) for _ in range(chance.randint(1, 4)))]
    chance.shuffle(pieces)
    return " ".join(pieces)


def _write_cases(chance: random.Random, path: Path) -> None:
    rows = [
        {
            "id": f"T-{number}",
            "user": _hostile(chance, "I lost my job."),
            "assistant": _hostile(chance, "You should just relax.", "Everything will work out, I promise."),
            "checks": ["agency_language", "unverifiable_reassurance", "topic_pivot"],
            "tags": [_hostile(chance)[:60]],
            "notes": _hostile(chance),
        }
        for number in range(4)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def _write_pack(chance: random.Random, folder: Path) -> None:
    """A stranger's pack; JSON strings are YAML strings."""
    folder.mkdir()
    texts = {key: json.dumps(_hostile(chance, "some words here")) for key in ("why", "instead")}
    manifest = "language: en\nname: Other\nversion: '1'\nlicence: MIT\n"
    (folder / "pack.yaml").write_text(manifest)
    rule = f"- id: agency.negative.zz-own\n  group: other\n  why: {texts['why']}\n  instead: {texts['instead']}\n"
    rule += "  pattern: just relax\n  match: [just relax]\n"
    (folder / "rules.yaml").write_text("rules:\n" + "".join(f"  {line}\n" for line in rule.splitlines()))


@contextmanager
def prepare(setting: Setting) -> Iterator[Attempt]:
    with Lab.opened(*EVALUATION) as lab:
        lab.warm("--cases", CASES, "--workers", 1, "--out", setting.folder / "report.json")

        def attempt(chance: random.Random, number: int, folder: Path) -> None:
            _write_cases(chance, folder / "cases.jsonl")
            _write_pack(chance, folder / "pack")
            formats = [part for name in FORMATS for part in ("--format", f"{name}=out.{name}")]
            fixed = ["--workers", 1, "--out", "report.json", "--rules", "pack"]
            _expect_tame(lab, folder, "--cases", "cases.jsonl", *fixed, *formats)
            for name in FORMATS:
                if (folder / f"out.{name}").exists():
                    _FORMATS[name](folder.joinpath(f"out.{name}").read_text(encoding="utf-8"))
            shown = (["rules", "show", "agency.negative.zz-own"], ["rules", "list", "--signal", "agency.negative"])
            _expect_tame(lab, folder, *chance.choice(shown), "--rules", "pack")
            if number % LINT_EVERY == LINT_EVERY - 1:
                _expect_tame(lab, folder, "rules", "lint", "--rules", "pack")
            drawn = ["report", "convert", "report.json", "--rules", "pack", "--out", "-", "--format"]
            _expect_tame(lab, folder, *drawn, chance.choice(["markdown", "github"]))

        yield attempt


def _expect_tame(lab: Lab, folder: Path, *args: object) -> None:
    """What a command prints holds no control character and no line that a CI log would obey."""
    ended = lab.start(folder, *args).wait(240)
    name = " ".join(map(str, args[:2]))
    expect(ended.code in (0, 2, 3), f"{name}: ends with {ended.code}: {ended.text[-200:]!r}")
    raw = [char for char in ended.text if char != "\n" and unicodedata.category(char) in UNSAFE]
    expect(not raw, f"{name}: prints {raw[:4]!r}")
    if args[-1] != "github":
        _no_commands(name, ended.text)


def _no_commands(name: str, text: str) -> None:
    obeyed = [line for line in text.splitlines() if line.startswith("::")]
    expect(not obeyed, f"{name}: prints a line that a CI log obeys: {obeyed[:1]!r}")


class _Page(html.parser.HTMLParser):
    """Fails where hostile text has become an element or an attribute."""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            expect(not name.startswith("on"), f"html: <{tag} {name}=...> is alive")
            expect(not (value or "").startswith("javascript:"), f"html: <{tag} {name}> holds a script")
        expect(tag not in ("svg", "img") or ("src", "x") not in attrs, f"html: <{tag}> is alive")
        self._inside = tag

    def handle_data(self, data: str) -> None:
        inside = getattr(self, "_inside", "")
        expect(inside != "script" or not data.startswith(ALIVE), "html: a script is alive")


def _html(text: str) -> None:
    page = _Page(convert_charrefs=True)
    page.feed(text)


def _markdown(text: str) -> None:
    alive = re.findall(r"<(?:script|img|svg|!--)", re.sub(r"`+[^`]*`+", "", text))
    expect(not alive, f"markdown: {alive[:2]!r} is alive")
    expect("](javascript:" not in text, "markdown: a link to a script")


def _github(text: str) -> None:
    bad = [line for line in text.splitlines() if line and not re.match(r"::(?:error|warning|notice)[ :]", line)]
    expect(not bad, f"github: a line of its own: {bad[:1]!r}")
    expect("::injected" not in [line.partition("::error")[2] for line in text.splitlines()], "github: injected")


def _csv(text: str) -> None:
    formulas = [cell for row in csv.reader(io.StringIO(text)) for cell in row if cell[:1] in ("=", "@")]
    expect(not formulas, f"csv: a cell is a formula: {formulas[:1]!r}")


_FORMATS: dict[str, Callable[[str], object]] = {
    "csv": _csv,
    "github": _github,
    "html": _html,
    "junit": ElementTree.fromstring,
    "markdown": _markdown,
    "sarif": json.loads,
}
KIND = Kind(
    "outputs",
    "escapes, bidi controls, markup and CI commands in texts, tags and rule packs, in every output",
    prepare,
    quick=Budget(120, 120),
    full=Budget(1500, 1800),
)
