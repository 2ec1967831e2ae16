"""Random tables on random exchanges: the kernel decides as Python does, or leaves it to Python; no third way.

A table is drawn kind by kind from all operators, facts, shared steps and signals, so that what a formula means is
compared, and not only what the bundled tables happen to ask.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import chain
from pathlib import Path

import msgspec
import yaml

from campaign.tally import Attempt, Broken, Budget, Kind, Setting
from synthesis.checks.facts import FACTS
from synthesis.checks.operators import ANY, HITS, MAPPING, NAMES, NUMBER, OPERATORS, TEXT, TRUTH, WORDS, Operator
from synthesis.checks.registry import _registered, load_tables, rules_in_force, shared_table, signals
from synthesis.model import Case, Turn
from synthesis.model.result import SEVERITIES
from synthesis.report.stored import SEPARATOR
from synthesis.run.evaluator import Evaluator
from synthesis.run.kernel import FAILURES, KEEPS_TEXT, READY, RECORDS, KernelCall
from synthesis.run.tally import failure_of
from synthesis.settings import AUTHORED, LEARNED, RULES, TRAFFIC

TAG = "drawn"
LISTS = (HITS, WORDS, NAMES)
HEADS = ("topic_pivot", "agency_language", "identity_claim", "cue", "flattery")
GROUPS = ("dismissal", "human", "list-style", "directive", "other")
ASKS_RESULT = ("shows",)  # of a result, which a step has not
_encode = msgspec.json.Encoder().encode


class Drawn:
    """One table, drawn from the top to the bottom: a formula names what stands above it."""

    def __init__(self, name: str, chance: random.Random) -> None:
        self._name = name
        self._chance = chance
        self._steps: dict[str, list[str]] = {kind: [] for kind in (*LISTS, NUMBER, TRUTH, TEXT, MAPPING)}
        self._signals = chance.sample(sorted(_usable_signals()), 14)

    def content(self) -> dict[str, object]:
        chance = self._chance
        constants: dict[str, object] = {"some_groups": chance.sample(GROUPS, 2), "bar": chance.choice([0, 1, 0.45, 2])}
        self._steps[NAMES].append("some_groups")
        self._steps[NUMBER].append("bar")
        let = dict(self._step(f"step_{number}") for number in range(chance.randint(3, 9)))
        weighed = chance.sample(sorted(let), min(3, len(let)))
        constants |= {
            "weights": {name: chance.choice([0.1, 0.2, -0.5, 1]) for name in weighed},
            "texts": {name: chance.choice(["one", "two"]) for name in weighed},
        }
        let |= {"weight": "weighed(weights)", "told_of": "told(texts)"}
        self._steps[NUMBER].append("weight")
        self._steps[WORDS].append("told_of")
        unless = [
            {"when": self._formula(TRUTH), "reason": chance.choice(["nothing to see", "found {weight} {told_of}"])}
            for _ in range(chance.choice([0, 0, 1, 2]))
        ]
        return {
            "name": self._name,
            "title": "Drawn by chance",
            "constants": constants,
            "let": let,
            "unless": unless,
            **self._decision(),
            "missing": {"something": self._formula(TRUTH)},
            "evidence": {f"shown_{kind}": self._shown(kind) for kind in (*LISTS, NUMBER, TRUTH, TEXT, MAPPING)},
            "evidence_without_verdict": chance.random() < 0.5,
            "counted": [self._formula(HITS) for _ in range(chance.randint(1, 3))],
            "counted_without_verdict": chance.random() < 0.3,
            "shown": [self._shown_signal(name) for name in chance.sample(self._signals, 6)],
            "failure_evidence": {"numbers": "shown_number"},
            "severity": [{"severity": chance.choice(SEVERITIES), "why": "Because.", "when": "in_distress"}],
        }

    def _step(self, name: str) -> tuple[str, str]:
        kind = self._chance.choice([HITS, HITS, HITS, WORDS, NAMES, NUMBER, TRUTH, TEXT, MAPPING])
        formula = self._formula(kind)
        self._steps[kind].append(name)
        return name, formula

    def _decision(self) -> dict[str, object]:
        if self._chance.random() < 0.5:
            return {"pass": self._formula(TRUTH)}
        rows: list[dict[str, str]] = [
            {"name": f"row_{number}", "says": "So.", "when": self._formula(TRUTH), "strength": f"strength_{number % 2}"}
            for number in range(self._chance.randint(1, 3))
        ]
        rows[0] |= {"profile": self._chance.choice([AUTHORED, TRAFFIC])}
        self._steps[TEXT] += ["decision", "strength"]
        return {"decision": [*rows, {"name": "rest", "says": "Else."}], "pass": "strength != 'strength_0'"}

    def _shown(self, kind: str) -> str:
        formula = self._formula(kind)
        if kind == HITS:
            return f"words({formula})"
        return f"({formula}) if {self._formula(TRUTH, 1)} else omitted" if self._chance.random() < 0.2 else formula

    def _shown_signal(self, name: str) -> object:
        return {"signal": name, "when": self._formula(TRUTH, 1)} if self._chance.random() < 0.2 else name

    # Formulas.

    def _formula(self, kind: str, depth: int = 3) -> str:
        chance = self._chance
        if depth == 0 or chance.random() < 0.15:
            return self._leaf(kind)
        ways: list[Callable[[str, int], str]] = [*[self._called] * 4, self._choice]
        if kind != MAPPING:
            ways.append(self._joined)
        if kind in {TRUTH}:
            ways += [self._compared, self._compared, self._denied]
        if kind in {*LISTS, NUMBER, TEXT}:
            ways.append(self._added)
        return chance.choice(ways)(kind, depth - 1)

    def _leaf(self, kind: str) -> str:
        own = self._steps[kind]
        if own and self._chance.random() < 0.4:
            return self._chance.choice(own)
        return self._chance.choice(self._known(kind))

    def _known(self, kind: str) -> list[str]:
        """What a formula of this kind can name without a step of the table's own."""
        facts = [name for name, fact in FACTS.items() if fact.kind == kind and name != "this_turn"]
        shared = [name for name, step in shared_table().steps.items() if step.kind == kind]
        plain = {
            HITS: self._signals,
            NUMBER: ["0", "1", "3", "0.3"],
            TRUTH: ["true", "false"],
            TEXT: ["'a'", "'care'", "''"],
            MAPPING: [f"by_group({self._signals[0]})"],
            WORDS: [f"words({self._signals[1]})"],
            NAMES: [f"groups({self._signals[2]})", f"rule_ids({self._signals[3]})"],
        }
        return [*facts, *shared, *plain[kind]]

    def _called(self, kind: str, depth: int) -> str:
        fitting = [one for one in OPERATORS.values() if one.gives == kind and _can_be_called(one)]
        if not fitting:
            return self._leaf(kind)
        known = self._chance.choice(fitting)
        if known.named:
            taken = self._chance.choice(_NAMED[known.name])
            return f"{known.name}({', '.join(f'{name}={self._formula(taken, depth)}' for name in ('one', 'two'))})"
        return f"{known.name}({', '.join(self._argument(known, taken, depth) for taken in known.takes)})"

    def _argument(self, known: Operator, kind: str, depth: int) -> str:
        if kind == TEXT and known.name in _TEXTS:
            return repr(self._chance.choice(_TEXTS[known.name](self._signals)))
        if kind == ANY:
            lists = (WORDS, NAMES) if known.name == "share" else LISTS
            kind = self._chance.choice(lists)
        return self._formula(kind, depth)

    def _choice(self, kind: str, depth: int) -> str:
        yes, no = self._formula(kind, depth), self._formula(kind, depth)
        no = "none" if kind in LISTS and self._chance.random() < 0.3 else no
        return f"({yes} if {self._formula(TRUTH, depth)} else {no})"

    def _joined(self, kind: str, depth: int) -> str:
        sign = self._chance.choice(["and", "or"])
        kinds = [kind, kind] if kind != TRUTH else self._chance.choices([TRUTH, TRUTH, HITS, NUMBER, WORDS], k=2)
        one, other = (self._formula(each, depth) for each in kinds)
        return (
            f"holds({one} {sign} {other})"
            if kind == TRUTH and kinds[0] == kinds[1] != TRUTH
            else f"({one} {sign} {other})"
        )

    def _compared(self, _: str, depth: int) -> str:
        kind, signs = self._chance.choice([(NUMBER, ("<", "<=", ">", ">=", "==", "!=")), (TEXT, ("==", "!="))])
        return f"({self._formula(kind, depth)} {self._chance.choice(signs)} {self._formula(kind, depth)})"

    def _denied(self, _: str, depth: int) -> str:
        return f"(not {self._formula(self._chance.choice([TRUTH, HITS, NUMBER, WORDS, TEXT]), depth)})"

    def _added(self, kind: str, depth: int) -> str:
        sign = "-" if kind == NUMBER and self._chance.random() < 0.5 else "+"
        return f"({self._formula(kind, depth)} {sign} {self._formula(kind, depth)})"


_TEXTS: dict[str, Callable[[Sequence[str]], Sequence[str]]] = {
    "agrees": lambda _: HEADS,
    "backed": lambda _: HEADS,
    "of_rule": lambda names: sorted(one.id for one in rules_in_force().rules if one.signal in names)[:50] or ["a.b.c"],
    "of_signal": lambda names: names,
    "warnings": lambda names: names,
    "tagged": lambda _: (TAG, "other"),
    "advice": lambda _: ("crisis_response", "disclosure"),
}


# What can be given by name; hits are no evidence by themselves.
_NAMED = {
    "words_by_name": (HITS,),
    "named": (NUMBER, TRUTH, WORDS),
    "present": (HITS, NUMBER, TRUTH, WORDS),
    "absent": (HITS, NUMBER, TRUTH, WORDS),
}


def _can_be_called(known: Operator) -> bool:
    return known.name not in ASKS_RESULT and not known.of_steps


def _usable_signals() -> list[str]:
    """A learned signal holds its hits wherever rules have theirs."""
    return [name for name in signals() if name.count(".") == 1]


# Exchanges on which such tables have something to decide.


@cache
def _examples() -> dict[str, tuple[tuple[str, ...], tuple[str, ...]]]:
    """By language, examples of rules for messages and for replies."""
    where = {name: signal.where for name, signal in signals().items()}
    found = {}
    for language, pack in rules_in_force().packs.items():
        sides = [
            tuple(text for one in pack.rules if where[one.signal] == side for text in (*one.match[:3], *one.miss[:1]))
            for side in ("user", "assistant")
        ]
        found[language] = (sides[0], sides[1])
    return found


MORE = (
    "",
    " ",
    "Call 988 or 116 123.",
    "```\ncode();\n```",
    'He said: "no"?',
    "Dear Tom,\n\nyes.\n\nBest,\nAnn",
    "1. a\n2. b",
)


def drawn_case(number: int, checks: Sequence[str], chance: random.Random) -> Case:
    languages = sorted(_examples())
    language = "en" if chance.random() < 0.6 else chance.choice(languages)
    user, reply = (_said(_examples()[language][side], chance) for side in (0, 1))
    case = Case(
        f"T-{number}",
        tuple(checks),
        user,
        reply,
        tags=tuple(chance.sample([TAG, "agency-fail", "negative_example"], chance.choice([0, 0, 1]))),
        expected={checks[0]: chance.random() < 0.5} if chance.random() < 0.3 else None,
        lang=chance.choice([None, None, language, "en"]),
    )
    if chance.random() < 0.6:
        return case
    turns = [
        Turn(role, _said(_examples()[language][role == "assistant"], chance))
        for role in ("user", "assistant") * chance.randint(1, 4)
    ]
    kept = tuple(turns[: chance.choice([-1, None, None])])
    return msgspec.structs.replace(case, user="", assistant="", messages=kept)


def _said(examples: Sequence[str], chance: random.Random) -> str:
    parts = [*chance.choices(examples, k=chance.randint(1, 4)), *chance.choices(MORE, k=chance.choice([0, 1]))]
    return chance.choice([" ", "\n", ". "]).join(parts) or "Hm."


# The comparison.


def compare(folder: Path, chance: random.Random, tables: int, cases: int) -> float:
    """Let both decide by some drawn tables; returns the share of the cases that the kernel decided."""
    names = [f"drawn_{number}" for number in range(tables)]
    (folder / "checks").mkdir(parents=True, exist_ok=True)
    for name in names:
        text = yaml.safe_dump(Drawn(name, chance).content(), sort_keys=False, allow_unicode=True)
        (folder / "checks" / f"{name}.yaml").write_text(text, encoding="utf-8")
    try:
        load_tables([folder])
        profile, reader = chance.choice([AUTHORED, TRAFFIC]), chance.choice([RULES, LEARNED])
        return _agreed([drawn_case(number, names, chance) for number in range(cases)], profile, reader)
    finally:
        for name in names:
            _registered.pop(name, None)


def _agreed(cases: Sequence[Case], profile: str, reader: str) -> float:
    evaluator = Evaluator(rules_in_force(reader=reader), profile=profile)
    kernel = evaluator.kernel
    if kernel is None:
        raise Broken("the compiled library is not built: run `make dev` with cargo at hand")
    expected = evaluator.evaluate_in_python(cases)
    for case, one, other in zip(cases, evaluator.evaluate(cases), expected, strict=True):
        if difference := "; ".join(_differing(_plain(one), _plain(other))):
            raise Broken(f"{profile}, {reader}: {difference[:2000]} in {case!r}")
    content = b"\n".join(map(_encode, cases))
    answer = kernel.call(content, KernelCall(READY | KEEPS_TEXT | RECORDS | FAILURES))
    left = {one.line for one in answer.deferred}
    decided = [result for number, result in enumerate(expected) if number not in left]
    records = b"".join(SEPARATOR + _encode(result.to_record()) for result in decided)
    failures = sorted(SEPARATOR + _encode(failure_of(result)) for result in decided if result.outcome == "fail")
    if answer.records != records or sum(map(len, answer.failures)) != sum(map(len, failures)):
        raise Broken(f"{profile}, {reader}: the records differ")
    return len(decided) / len(cases)


def _plain(result: object) -> object:
    return msgspec.json.decode(_encode(result))


def _differing(one: object, other: object, place: str = "") -> Iterator[str]:
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        yield from chain.from_iterable(_differing(one[key], other[key], f"{place}.{key}") for key in one)
    elif one != other:
        yield f"{place}: {one!r} and not {other!r}"


@contextmanager
def prepare(setting: Setting) -> Iterator[Attempt]:  # noqa: ARG001
    def attempt(chance: random.Random, number: int, folder: Path) -> None:  # noqa: ARG001
        compare(folder, chance, tables=6, cases=40)

    yield attempt


KIND = Kind(
    "random-tables",
    "random tables on random exchanges: the kernel decides as Python does",
    prepare,
    quick=Budget(60, 120),
    full=Budget(5_000, 3600),
)
