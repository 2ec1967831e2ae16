"""A sheet on which a speaker reviews the rules of a language: what each finds in texts, what it leaves out, why.

The sheet is Markdown that people edit and commit. It is written again over its own answers: a tick stays as long as the
rule is as it was when it was ticked, a note stays until somebody takes it away.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from synthesis.lazy import regex
from synthesis.printable import safe
from synthesis.rules.detection import Detected
from synthesis.rules.reading import Message
from synthesis.rules.ruleset import RuleSet
from synthesis.rules.schema import Pack, Rule, Signal, deciding_part

LINES = 20  # of texts, for each rule
_AROUND = 60  # characters to either side of the words that are found
_TICKED, _OPEN = "- [x] right", "- [ ] right"
_NOTE = "- note:"
_HEAD = regex(r"## (\S+) <!-- (\w+) -->")
_MARKUP = regex(r"([\\`*_\[\]<>#|~])")
_HOW_TO = """\
Read each rule like this: do its words say what its reason claims? Are the lines under *finds* meant so? Do those under
*leaves out* deserve to be left out? If all is well, put an x into the box: `- [x] right`. Otherwise write what is wrong behind
`note:`. Both stay when the sheet is written again; a tick goes if its rule has changed since."""


class Excerpt(NamedTuple):
    """A piece of a text, with the words that a rule finds in it, or would find but for an exception."""

    before: str
    words: str
    after: str

    def __str__(self) -> str:
        before, words, after = (_MARKUP.sub(r"\\\1", part) for part in self)
        return f"{before}**{words}**{after}"


class Seen(NamedTuple):
    """What a rule does on some texts."""

    finds: list[Excerpt]
    leaves_out: list[Excerpt]


class Answer(NamedTuple):
    """What a speaker wrote on a sheet about a rule."""

    mark: str  # of the rule as it was then
    ticked: bool
    note: str


class Counts(NamedTuple):
    rules: int
    right: int
    noted: int

    def __str__(self) -> str:
        open_ = self.rules - self.right - self.noted
        return f"{self.rules} rules: {self.right} right, {self.noted} with a note, {open_} open"


def mark_of(rule: Rule) -> str:
    """Changes when what the rule finds does."""
    content = msgspec.json.encode(deciding_part(rule), order="deterministic")
    return hashlib.sha256(content).hexdigest()[:10]


def answers_on(sheet: str) -> dict[str, Answer]:
    """The answers by rule; a sheet that somebody wrote by hand without marks has none."""
    found: dict[str, Answer] = {}
    heads = list(_HEAD.finditer(sheet))
    for head, behind in zip(heads, [*heads[1:], None], strict=True):
        part = sheet[head.end() : behind.start() if behind else len(sheet)]
        note = re.search(rf"^{_NOTE}(.*)$", part, re.MULTILINE)
        ticked = re.search(r"^- \[[xX]\] right", part, re.MULTILINE) is not None
        found[head[1]] = Answer(head[2], ticked, note[1].strip() if note else "")
    return found


def seen_in(rules: RuleSet, own: Sequence[Rule], texts: Mapping[str, Sequence[str]], most: int = LINES) -> dict[str, Seen]:
    """What each rule finds in texts by side, and what only its exceptions keep out; the same for the same texts."""
    if not own:
        return {}
    language = own[0].language
    unguarded = rules.arranged(_unguarded, "unguarded")
    found = {rule.id: Seen([], []) for rule in own}
    for side, of_side in texts.items():
        messages = [Message(text, side, language=Detected(language, "declared")) for text in dict.fromkeys(of_side)]
        for with_guards, without in zip(rules.read(messages), unguarded.read(messages), strict=True):
            counted = {hit.rule.id for hit in with_guards.hits}
            for reading, is_found in ((with_guards, True), (without, False)):
                for hit in reading.hits:
                    if (hit.rule.id in counted) == is_found and hit.rule.id in found:
                        kept = found[hit.rule.id].finds if is_found else found[hit.rule.id].leaves_out
                        kept.append(_excerpt(reading.original, hit.start, hit.end))
    return {name: Seen(_some(seen.finds, most - most // 2), _some(seen.leaves_out, most // 2)) for name, seen in found.items()}


def _unguarded(pack: Pack) -> Pack:
    rules = (msgspec.structs.replace(rule, guards=(), exception=None) for rule in pack.rules)
    return msgspec.structs.replace(pack, rules=tuple(rules))


def _excerpt(text: str, start: int, end: int) -> Excerpt:
    before, after = text[max(0, start - _AROUND) : start], text[end : end + _AROUND]
    before = ("…" if start > _AROUND else "") + before
    after += "…" if end + _AROUND < len(text) else ""
    return Excerpt(*(" ".join(safe(part).split(" ")) for part in (before, text[start:end], after)))


def _some(excerpts: list[Excerpt], most: int) -> list[Excerpt]:
    """Some of them, spread over all, each wording once before any comes twice."""
    by_words: dict[str, list[Excerpt]] = {}
    for excerpt in excerpts:
        by_words.setdefault(excerpt.words.lower(), []).append(excerpt)
    rounds = max(map(len, by_words.values()), default=0)
    return [own[turn] for turn in range(rounds) for own in by_words.values() if turn < len(own)][:most]


def sheet(
    language: str, own: Sequence[Rule], signals: Mapping[str, Signal], seen: Mapping[str, Seen], old: Mapping[str, Answer]
) -> tuple[str, Counts]:
    """The sheet with the answers of the old one, and how far the review is."""
    right = noted = 0
    parts: list[str] = []
    for rule in own:
        mark, answer = mark_of(rule), old.get(rule.id, Answer("", False, ""))
        ticked = answer.ticked and answer.mark == mark
        right, noted = right + (ticked and not answer.note), noted + bool(answer.note)
        changed = " (the rule has changed since it was ticked)" if answer.ticked and not ticked else ""
        head = f"## {rule.id} <!-- {mark} -->\n\n{_TICKED if ticked else _OPEN}{changed}\n{_NOTE} {answer.note}".rstrip()
        parts.append("\n".join([head, "", *_told(rule, signals[rule.signal], language), *_lines(seen[rule.id], rule), ""]))
    counts = Counts(len(own), right, noted)
    return f"# Review of the rules: {language}\n\n{_HOW_TO}\n\n{counts}.\n\n" + "\n".join(parts), counts


def _told(rule: Rule, signal: Signal, language: str) -> Iterator[str]:
    """Why it is there and what it looks for, in the words of the pack."""
    yield f"{signal.title[:1].upper()}{signal.title[1:]}, in what the {'person' if signal.where == 'user' else 'assistant'} says."
    yield f"**Why:** {rule.text('why', language)} **Instead:** {rule.text('instead', language)}"
    yield ""
    yield from (f"    {said}" for said in rule.finds or (rule.label,))


def _lines(seen: Seen, rule: Rule) -> Iterator[str]:
    for title, excerpts, examples in (("finds", seen.finds, rule.match), ("leaves out", seen.leaves_out, rule.miss)):
        yield f"\n*{title}*\n" if excerpts else f"\n*{title}*: nothing in these texts; by its examples\n"
        yield from (f"- {excerpt}" for excerpt in excerpts or ())
        yield from (f"- {escaped}" for escaped in map(_escaped, examples) if not excerpts)
