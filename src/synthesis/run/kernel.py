"""The kernel, driven from Python: a block of lines in, records and figures out, in one call without the interpreter.

The kernel (`native/src/kernel.rs`) knows no check, no rule and no language. `setup_of` tells it: the tables as trees,
the signals, the words for what tables do not say. Languages follow when a text in one is met. A line that is not
plainly a case, or that only Python can decide, comes back as deferred.
"""

import ctypes
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import chain
from operator import add
from threading import Lock
from typing import Any, NamedTuple

import msgspec

from synthesis.cancellation import checkpoint
from synthesis.checks.exchange import CLOSING, LETTER, OPENING, TEXT_REQUEST, is_bundled
from synthesis.checks.facts import SELF
from synthesis.checks.formula import Formula, Tree
from synthesis.checks.helplines import lines
from synthesis.checks.learned import PREFIX
from synthesis.checks.registry import Check, alerting, checks, shared_table, signals
from synthesis.checks.table import ROW, SLOT, Table, Unless
from synthesis.model.case import NEGATIVE_ENDING, NEGATIVE_TAG
from synthesis.model.result import NO_REPLY, NO_RULES, NO_TEXT, SEVERITIES, WITHOUT_DRIFT
from synthesis.model.texts import ENGLISH
from synthesis.reader.compiled import model
from synthesis.rules.native.library import Handle, NativeReaderError, numbers_of
from synthesis.rules.native.program import HOW
from synthesis.rules.native.reader import NativeReader
from synthesis.rules.ruleset import RuleSet
from synthesis.rules.text import UNDETERMINED

FORMAT = 1
NO_EXCHANGE = "the conversation holds no reply of the assistant"
READY, KEEPS_TEXT, FAILURES, ONLY_FAILURES, EXAMPLES, RECORDS, AS_LINES, RESULTS = (1 << bit for bit in range(8))
RANKS = 9  # of failures, as `report/stored.py` numbers them
_PARTS = 10 + RANKS
_NO_LANGUAGE = {"language": UNDETERMINED, "language_by": "no reply"}
_encode = msgspec.json.Encoder().encode


class Deferred(NamedTuple):
    """A line that is left to Python: its number from 0, and where its record and its failure go among the others."""

    line: int
    place: int
    failures: tuple[int, ...]  # by rank


class Answer(NamedTuple):
    """What came of a block. Lines are counted from 0; `odd` ones have labels and tags that contradict each other."""

    deferred: list[Deferred]
    odd: list[int]
    hashes: "array[int]"  # of the ids of all other cases,
    lines: "array[int]"  # and the lines of these
    records: bytes
    ids: bytes
    counts: list[bytes]  # as `Tally.add_counts` takes them
    examples: bytes
    example_lines: "array[int]"
    example_kinds: "array[int]"
    failures: list[bytes]  # by rank


class KernelCall(msgspec.Struct, frozen=True):
    """What a call asks for: forms of the results as flags, the language of texts that do not say theirs, checks."""

    flags: int
    file: str = ""
    language: str | None = None
    instead: tuple[str, ...] = ()  # of the checks that cases name
    only: tuple[str, ...] = ()


class Kernel:
    """Evaluates blocks of lines with one set of rules in one profile. Any number of threads may call it at once."""

    def __init__(self, rules: RuleSet, profile: str, native: NativeReader) -> None:
        self._rules = rules
        self._profile = profile
        self._native = native
        self._library = native.library
        self._loading = Lock()
        self._loaded: set[int] = set()
        self._told_before: tuple[object, tuple[Any, ...]] = (None, ())
        self.is_refused = False  # by the library, which then evaluates nothing

    def can_decide(self, names: Iterable[str]) -> bool:
        """Whether all these checks are tables that it can run."""
        return self._numbers.keys() >= set(names)

    def call(self, content: bytes, wanted: KernelCall, first_line: int = 1) -> Answer:
        """What comes of the lines of a block; several calls where one had taken its share of time.

        NativeReaderError for a fault of ours, after which Python has to do the work.
        """
        answers: list[Answer] = []
        lines = 0
        while True:
            checkpoint()
            answer, reached, passed, missing = self._answer(content, wanted, first_line + lines)
            answers.append(_moved(answer, lines) if lines else answer)
            if missing:
                self._load(missing - 1)
            elif reached >= len(content):
                return answers[0] if len(answers) == 1 else _joined(answers)
            content, lines = content[reached:], lines + passed

    def _answer(self, content: bytes, wanted: KernelCall, first_line: int) -> tuple[Answer, int, int, int]:
        """An answer, the bytes and lines that it reached, and a language that is missing and 1."""
        file = _encode(wanted.file)
        told = self._told(wanted, first_line)
        parts = self._library.block(self._handle, content, len(content), file, len(file), *told, parts=_PARTS)
        summary, hashes, lines, records, ids, counts, examples, of_lines, of_kinds, gaps, *failures = parts
        reached, passed, missing, deferred, *rest = memoryview(summary).cast("Q").tolist()
        numbers, places = iter(rest[: 2 * deferred]), zip(*[iter(memoryview(gaps).cast("Q"))] * RANKS, strict=True)
        answer = Answer(
            [Deferred(*one) for one in zip(numbers, numbers, places, strict=True)],
            rest[2 * deferred :],
            array("q", hashes),
            array("q", lines),
            records,
            ids,
            [counts],
            examples,
            array("q", of_lines),
            array("q", of_kinds),
            failures,
        )
        return answer, reached, passed, missing

    def _told(self, wanted: KernelCall, first_line: int) -> tuple[Any, ...]:
        """The same calls come again and again, one for each case of a library that evaluates them one by one."""
        if self._told_before[0] != (wanted, first_line):
            self._told_before = ((wanted, first_line), self._numbers_for(wanted, first_line))
        return self._told_before[1]

    def _numbers_for(self, wanted: KernelCall, first_line: int) -> tuple[Any, ...]:
        language = 0 if wanted.language is None else self._codes.index(wanted.language) + 1
        lists = [[self._numbers[name] for name in names] for names in (wanted.instead, wanted.only)]
        line = (first_line & 0xFFFFFFFF, first_line >> 32)
        return numbers_of([wanted.flags, *line, language, *(number for own in lists for number in (len(own), *own))])

    def _load(self, number: int) -> None:
        """Take a language in; another thread may have done it meanwhile."""
        with self._loading, self._refusal():
            if number not in self._loaded:
                language = self._codes[number]
                image = self._rules.image(language)
                known = self._of_language(language)
                told = _encode([known.get(name) for name in image.rules])
                matcher = self._native.matcher(image)
                self._library.call("add_language", self._handle, ctypes.c_uint32(number), matcher, told, len(told))
                self._loaded.add(number)

    def _of_language(self, language: str) -> dict[str, list[object]]:
        """What is to be known of the rules that are looked for, by id."""
        numbers = {name: number for number, name in enumerate(self._signals)}
        rules = [
            rule
            for where in ("user", "assistant")
            for rule in self._rules.wanted(language, where, _readable(self._profile))
        ]
        return {rule.id: [rule.id, numbers[rule.signal], rule.group, rule.severity, is_bundled(rule)] for rule in rules}

    @cached_property
    def _codes(self) -> list[str]:
        return list(self._rules.detection.codes)

    @cached_property
    def _signals(self) -> list[str]:
        return list(signals())

    @cached_property
    def _handle(self) -> Handle:
        return self._made[0]

    @cached_property
    def _numbers(self) -> Mapping[str, int]:
        """The checks that it can run, by name."""
        return {name: number for number, name in enumerate(self._made[1])}

    @contextmanager
    def _refusal(self) -> Iterator[None]:
        """What cannot be set up now cannot be later either."""
        try:
            yield
        except NativeReaderError:
            self.is_refused = True
            raise

    @cached_property
    def _made(self) -> tuple[Handle, list[str]]:
        native, learned = self._native, self._rules.learned
        weights = None if learned is None else model(self._library, learned.weights)
        setup = setup_of(self._rules, self._profile, self._codes)
        keep = (native.characters, native.detector, weights)
        with self._refusal():
            handle, told = self._library.make_and_tell("kernel", setup, len(setup), *keep, keep=keep)
        undecided = told.split("\n")
        return handle, [each.name for each in _with_tables() if each.name not in undecided]


def _moved(answer: Answer, lines: int) -> Answer:
    """The same further down in a block."""
    return answer._replace(
        deferred=[one._replace(line=one.line + lines) for one in answer.deferred],
        odd=[line + lines for line in answer.odd],
        lines=array("q", [line + lines for line in answer.lines]),
        example_lines=array("q", [line + lines for line in answer.example_lines]),
    )


def _joined(answers: Sequence[Answer]) -> Answer:
    """Answers to the parts of a block as one."""
    deferred: list[Deferred] = []
    records, failed = 0, [0] * RANKS  # bytes before an answer
    for answer in answers:
        for one in answer.deferred:
            places = tuple(map(add, one.failures, failed))
            deferred.append(one._replace(place=one.place + records, failures=places))
        records += len(answer.records)
        failed = [before + len(own) for before, own in zip(failed, answer.failures, strict=True)]
    return Answer(
        deferred,
        odd=[line for answer in answers for line in answer.odd],
        hashes=array("q", chain.from_iterable(answer.hashes for answer in answers)),
        lines=array("q", chain.from_iterable(answer.lines for answer in answers)),
        records=b"".join(answer.records for answer in answers),
        ids=b"".join(answer.ids for answer in answers),
        counts=[own for answer in answers for own in answer.counts],
        examples=b"".join(answer.examples for answer in answers),
        example_lines=array("q", chain.from_iterable(answer.example_lines for answer in answers)),
        example_kinds=array("q", chain.from_iterable(answer.example_kinds for answer in answers)),
        failures=[b"".join(own) for own in zip(*(answer.failures for answer in answers), strict=True)],
    )


# What the kernel is told.


def setup_of(rules: RuleSet, profile: str, codes: Sequence[str]) -> bytes:
    """Everything that a verdict depends on beside rules and weights."""
    known = signals()
    told = {
        "format": FORMAT,
        "profile": profile,
        "signals": [
            {"name": one.name, "where": one.where, "role": one.role, "anchor": one.anchor, "whole": one.whole}
            for one in known.values()
        ],
        "languages": [_language(rules, code) for code in codes],
        "heads": _heads(rules),
        "learned": _learned(rules, codes),
        "shared": _table(shared_table(), profile, [[None, None]] * len(codes)),
        "checks": [_check(each, rules, profile, codes) for each in _with_tables()],
        "alerting": [each.name for each in alerting() if each.table],
        "helplines": [[line.label, line.number, *line.also] for line in lines()],
        "advice": [_advice(rules, code) for code in codes],
        "speaks_of_self": SELF,
        "text_request": TEXT_REQUEST,
        "letter": LETTER,
        "opening": OPENING,
        "closing": CLOSING,
        "words": {
            "no_text": NO_TEXT,
            "no_reply": NO_REPLY,
            "no_rules_of_reply": f"{NO_RULES} of the reply",
            "no_rules_of_message": f"{NO_RULES} of the user's message",
            "no_exchange": NO_EXCHANGE,
            "no_language": _encode(_NO_LANGUAGE)[1:-1].decode(),
            "hows": HOW,
            "negative": NEGATIVE_TAG,
            "negative_ending": NEGATIVE_ENDING,
        },
    }
    return _encode(told)


def _with_tables() -> list[Check]:
    return [each for each in checks().values() if each.table]


def _readable(profile: str) -> frozenset[str]:
    """The signals that can be read in a profile; those of checks that report by themselves in any."""
    reporting = {signal.name for each in alerting() for signal in each.signals}
    return frozenset(name for name, one in signals().items() if one.profile in {"", profile} or name in reporting)


def _language(rules: RuleSet, code: str) -> dict[str, object]:
    spoken = rules.language(code)
    return {
        "code": code,
        "is_ours": code in rules.packs,
        "spaced": spoken.spaced,
        "single_ideographs": spoken.single_ideographs,
        "everyday": sorted(spoken.everyday),
    }


def _heads(rules: RuleSet) -> list[str]:
    """The heads that tables may name, by number."""
    if rules.learned is not None:
        return list(rules.learned.decisions)
    named = {name.removeprefix(PREFIX) for name in signals() if name.startswith(PREFIX)}
    return sorted(named.union(*(_named_heads(each.table) for each in _with_tables() if each.table)))


def _named_heads(table: Table) -> set[str]:
    """The heads that formulas name as an argument."""
    formulas = (*table.steps.values(), *table.counted, *table.evidence.values())
    return {head for formula in formulas for head in _in(formula.tree)}


def _in(tree: object) -> Iterable[str]:
    match tree:
        case ("call", "agrees" | "backed", [*_, ("value", str(head))]):
            yield head
    if isinstance(tree, tuple | list):
        for part in tree:
            yield from _in(part)


def _learned(rules: RuleSet, codes: Sequence[str]) -> dict[str, object] | None:
    learned = rules.learned
    if learned is None:
        return None
    weights = learned.weights
    return {
        "name": learned.name,
        "unit": weights.header.unit,
        "bias": weights.bias,
        "decisions": [
            {
                "id": f"{PREFIX}{head}",
                "head": weights.heads.index(head),
                "group": decision.group,
                "side": decision.side,
                "alone": [_spelled(decision.alone.get(code)) for code in codes],
                "agree": [decision.agree.get(code) for code in codes],
                "precise": decision.precise,
            }
            for head, decision in learned.decisions.items()
        ],
    }


def _spelled(number: float | None) -> str | None:
    """As it is in a report: the kernel copies it."""
    return None if number is None else _encode(number).decode()


def _check(check: Check, rules: RuleSet, profile: str, codes: Sequence[str]) -> dict[str, object]:
    assert check.table
    lacking = [[lacking_rules(check, code, where, rules.covered) for where in _SIDES] for code in codes]
    reads_message = any(signal.where == "user" for signal in check.signals)
    return _table(check.table, profile, lacking) | {"reads_message": reads_message}


_SIDES = {"user": "user's message", "assistant": "reply"}


def lacking_rules(check: Check, code: str, where: str, covered: frozenset[tuple[str, str]]) -> str | None:
    """That a language has a pack, but in it no rule of this check for a side: to find nothing there says nothing."""
    read = [signal.name for signal in check.signals if signal.where == where]
    if code == UNDETERMINED or not read or any((code, signal) in covered for signal in read):
        return None
    return f"{NO_RULES} of the {_SIDES[where]} ({code}) in this check"


def _table(table: Table, profile: str, lacking: Sequence[Sequence[str | None]]) -> dict[str, object]:
    return {
        "name": table.name,
        "steps": [[name, step.tree] for name, step in table.steps.items() if name != ROW],
        "unless": [_unless(row) for row in table.unless],
        "decision": [
            [row.name, _tree(row.when), row.strength] for row in table.decision if row.profile in ("", profile)
        ],
        "pass": _tree(table.passes),
        "missing": [[name, one.tree] for name, one in table.missing.items()],
        "evidence": [[name, one.tree] for name, one in table.evidence.items()],
        "evidence_without_verdict": table.evidence_without_verdict,
        "counted": [one.tree for one in table.counted],
        "counted_without_verdict": table.counted_without_verdict,
        "shown": [[signal, _tree(when)] for signal, when in table.shown],
        "failure_evidence": [[shown, key] for shown, key in table.failure_evidence.items()],
        "alert_on": table.alert_on,
        "over_turns": None
        if table.over is None
        else {
            "same": table.over.same,
            "gather": list(table.over.gather.items()),
            "prefer": table.over.prefer.tree,
        },
        "severity": [[SEVERITIES.index(row.severity), sorted(row.groups), _tree(row.when)] for row in table.severity],
        "drifts": table.name not in WITHOUT_DRIFT,
        "is_counted_as_crisis": table.name == "crisis_response",
        "lacking": lacking,
        "reads_message": False,
    }


def _tree(formula: Formula | None) -> Tree | None:
    return None if formula is None else formula.tree


def _unless(row: Unless) -> list[object]:
    """The condition, and the reason in parts: words, and names of steps in lists."""
    parts: list[object] = []
    copied = 0
    for slot in SLOT.finditer(row.reason):
        parts += (row.reason[copied : slot.start()], [slot[1]])
        copied = slot.end()
    return [row.when.tree, [part for part in (*parts, row.reason[copied:]) if part]]


def _advice(rules: RuleSet, code: str) -> list[list[str]]:
    absences = rules.texts(ENGLISH).absences | (rules.texts(code).absences if code in rules.packs else {})
    return [[check, name, advice.instead] for (check, name), advice in absences.items()]
