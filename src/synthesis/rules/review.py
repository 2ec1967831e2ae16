"""A sheet on which a speaker reviews the rules of a language: what each finds in texts, what it leaves out, why.

The sheet is Markdown that people edit and commit. It is written again over its own answers: a tick stays as long as the
rule is as it was when it was ticked, a note stays until somebody takes it away. What was written about rules that the
new sheet is not about is kept at its end.
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

TITLE = "# Review of the rules: "
_AROUND = 60  # characters to either side of the words that are found
_TICKED, _OPEN = "- [x] right", "- [ ] right"
_NOTE = "- note:"
_HEAD = regex(r"^## (\S+) <!-- (\w+) -->", re.MULTILINE)
_NOTED = regex(rf"^{_NOTE}(.*?)(?=\n[ \t]*\n|\Z)", re.MULTILINE | re.DOTALL)  # up to an empty line
_LIST = regex("<([^<>]+)>")
_MARKUP = regex(r"([\\`*_\[\]<>#|~])")
_HOW_TO = """\
Do the words of a rule say what its reason claims? Are the lines under *finds* meant so? Do those under *leaves out*
deserve to be left out? If all is well, put an x into the box: `- [x] right`. Otherwise write behind `note:` what is
wrong. Both stay when the sheet is written again; a tick goes if its rule has changed since."""


class Excerpt(NamedTuple):
    """A piece of a text, with the words that a rule finds in it, or would find but for an exception."""

    before: str
    words: str
    after: str

    def __str__(self) -> str:
        before, words, after = map(_escaped, self)
        return f"{before}**{words}**{after}"


class Seen(NamedTuple):
    """What a rule does on some texts."""

    finds: list[Excerpt]
    leaves_out: list[Excerpt]


class Answer(NamedTuple):
    """What a speaker wrote on a sheet about a rule."""

    mark: str = ""  # of the rule as it was then
    ticked: bool = False
    note: str = ""

    def is_right(self, mark: str) -> bool:
        return self.ticked and self.mark == mark


_NONE = Answer()


class Counts(NamedTuple):
    rules: int
    right: int
    noted: int

    def __str__(self) -> str:
        open_ = self.rules - self.right - self.noted
        return f"{self.rules} rules: {self.right} right, {self.noted} with a note, {open_} open"


def mark_of(rule: Rule, pack: Pack) -> str:
    """Changes when what the rule finds does: the rule, its slots and lists, or its guards."""
    guards = [pack.guards[name] for name in rule.guards]
    patterns = [*rule.patterns, *(rule.sentence.patterns if rule.sentence else ())]
    patterns += [each for guard in (*guards, rule.exception) if guard for each in guard.patterns]
    lists: dict[str, tuple[str, ...]] = {}
    while patterns:
        for name in _LIST.findall(patterns.pop()):
            if name in pack.lists and name not in lists:
                lists[name] = pack.lists[name]
                patterns += lists[name]
    content = msgspec.json.encode((deciding_part(rule), guards, lists), order="deterministic")
    return hashlib.sha256(content).hexdigest()[:10]


def answers_on(sheet: str) -> dict[str, Answer]:
    """The answers by rule; a sheet that somebody wrote by hand without marks has none."""
    found: dict[str, Answer] = {}
    heads = list(_HEAD.finditer(sheet))
    ends = [*(head.start() for head in heads[1:]), len(sheet)][: len(heads)]
    for head, end in zip(heads, ends, strict=True):
        part = sheet[head.end() : end]
        note = _NOTED.search(part)
        ticked = re.search(r"^- \[[xX]\] right", part, re.MULTILINE) is not None
        found[head[1]] = Answer(head[2], ticked, " ".join(note[1].split()) if note else "")
    return found


def seen_in(rules: RuleSet, own: Sequence[Rule], texts: Mapping[str, Sequence[str]], most: int) -> dict[str, Seen]:
    """What each rule finds in texts by side, and what only its exceptions keep out; the same for the same texts."""
    found = {rule.id: Seen([], []) for rule in own}
    unguarded = rules.arranged(_unguarded, "unguarded")
    for side, of_side in texts.items():
        declared = Detected(own[0].language, "declared")
        messages = [Message(text, side, language=declared) for text in dict.fromkeys(of_side)]
        for with_guards, without in zip(rules.read(messages), unguarded.read(messages), strict=True):
            counted = {hit.rule.id for hit in with_guards.hits}
            for hit in with_guards.hits:
                if hit.rule.id in found:
                    found[hit.rule.id].finds.append(_excerpt(with_guards.original, hit.start, hit.end))
            for hit in without.hits:
                if hit.rule.id in found and hit.rule.id not in counted:
                    found[hit.rule.id].leaves_out.append(_excerpt(without.original, hit.start, hit.end))
    half = most // 2
    return {name: Seen(_some(seen.finds, most - half), _some(seen.leaves_out, half)) for name, seen in found.items()}


def _unguarded(pack: Pack) -> Pack:
    rules = (msgspec.structs.replace(rule, guards=(), exception=None) for rule in pack.rules)
    return msgspec.structs.replace(pack, rules=tuple(rules))


def _excerpt(text: str, start: int, end: int) -> Excerpt:
    before, after = text[max(0, start - _AROUND) : start], text[end : end + _AROUND]
    before = ("…" if start > _AROUND else "") + before
    after += "…" if end + _AROUND < len(text) else ""
    return Excerpt(before, text[start:end], after)


def _some(excerpts: list[Excerpt], most: int) -> list[Excerpt]:
    """Some of them, spread over all, each wording once before any comes twice."""
    by_words: dict[str, list[Excerpt]] = {}
    for excerpt in excerpts:
        by_words.setdefault(excerpt.words.lower(), []).append(excerpt)
    rounds = max(map(len, by_words.values()), default=0)
    return [own[turn] for turn in range(rounds) for own in by_words.values() if turn < len(own)][:most]


def sheet(
    own: Sequence[Rule], pack: Pack, signals: Mapping[str, Signal], seen: Mapping[str, Seen], old: Mapping[str, Answer]
) -> str:
    """The sheet for some rules of a pack, with the answers of the old one."""
    parts = [f"{TITLE}{pack.language}", "", _HOW_TO, "", f"{counted(own, pack, old)}.", ""]
    for rule in own:
        parts += [*_answered(rule.id, mark_of(rule, pack), old.get(rule.id, _NONE)), ""]
        parts += [*_told(rule, signals[rule.signal], rule.language), *_lines(seen[rule.id], rule), ""]
    parts += _of_others({name: answer for name, answer in old.items() if name not in seen})
    return "\n".join(parts)


def _of_others(old: Mapping[str, Answer]) -> Iterator[str]:
    """What was written about rules that this sheet is not about."""
    for name, answer in old.items():
        if answer.ticked or answer.note:
            yield f"## {name} <!-- {answer.mark} -->\n\n{_TICKED if answer.ticked else _OPEN}"
            yield f"{_NOTE} {answer.note}".rstrip()
            yield "\nNot among the rules of this sheet; what was written about it is kept.\n"


def counted(own: Sequence[Rule], pack: Pack, answers: Mapping[str, Answer]) -> Counts:
    """How far a review is."""
    given = [(answers.get(rule.id, _NONE), mark_of(rule, pack)) for rule in own]
    right = sum(answer.is_right(mark) and not answer.note for answer, mark in given)
    return Counts(len(own), right, sum(bool(answer.note) for answer, _ in given))


def _answered(rule_id: str, mark: str, answer: Answer) -> Iterator[str]:
    changed = " (the rule has changed since it was ticked)" if answer.ticked and not answer.is_right(mark) else ""
    yield f"## {rule_id} <!-- {mark} -->"
    yield ""
    yield f"{_TICKED if answer.is_right(mark) else _OPEN}{changed}"
    yield f"{_NOTE} {answer.note}".rstrip()


def _told(rule: Rule, signal: Signal, language: str) -> Iterator[str]:
    """Why it is there and what it looks for, in the words of the pack."""
    speaker = "person" if signal.where == "user" else "assistant"
    yield f"{signal.title[:1].upper()}{signal.title[1:]}, in what the {speaker} says."
    yield f"**Why:** {_escaped(rule.text('why', language))} **Instead:** {_escaped(rule.text('instead', language))}"
    yield ""
    for wording in rule.wordings:
        yield f"    {safe(wording.said)}"
        if wording.proof:
            yield f"        {safe(wording.proof)}"
    if not rule.wordings:
        yield f"    {safe(rule.label)}"


def _lines(seen: Seen, rule: Rule) -> Iterator[str]:
    for title, excerpts, examples in (("finds", seen.finds, rule.match), ("leaves out", seen.leaves_out, rule.miss)):
        if excerpts:
            yield f"\n*{title}*\n"
            yield from (f"- {excerpt}" for excerpt in excerpts)
        else:
            yield f"\n*{title}*: nothing in these texts; its examples:\n"
            yield from (f"- {_escaped(example)}" for example in examples)


def _escaped(text: str) -> str:
    return _MARKUP.sub(r"\\\1", safe(text))
