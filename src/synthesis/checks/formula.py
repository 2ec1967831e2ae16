"""The formulas of a table: what they may say, and what they mean.

    support: outermost(agency.positive + agency.reflection)
    pass: score >= 1 or (support and not negative)

A formula is written like an expression of Python and means a small part of it: names, numbers, texts, comparisons,
`and`, `or`, `not`, `+`, `-`, `A if B else C`, and the operators of `operators.py`. `agency.positive` are the hits of a
signal, `before.quiet` is the step `quiet` one turn earlier, and a bare name is a step, a constant or a fact. A step may
use only steps above it, and nothing repeats, so that a table cannot loop and takes time in proportion to the text.

A formula is read once and becomes a tree, `("call", "outermost", [("hits", "agency.positive")])`. Two interpreters run
it: the functions that `function_of` makes of it, which are the reference, and the kernel (`native/src/formulas.rs`).
"""

import ast
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from synthesis.checks.exchange import Exchange
from synthesis.checks.facts import FACTS
from synthesis.checks.operators import (
    ANY,
    HITS,
    MAPPING,
    NAMES,
    NUMBER,
    OPERATORS,
    TEXT,
    TRUTH,
    WORDS,
    Operator,
)
from synthesis.errors import did_you_mean

BEFORE, NONE, OMITTED = "before", "none", "omitted"
_SIGNS: dict[type[ast.cmpop], str] = {
    ast.GtE: ">=",
    ast.Gt: ">",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Eq: "==",
    ast.NotEq: "!=",
}
_COMPARED: dict[str, Callable[[Any, Any], Any]] = {
    ">=": operator.ge,
    ">": operator.gt,
    "<": operator.lt,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
}
_LISTS = {HITS, WORDS, NAMES}
_TRUTHS = {"true": True, "false": False}
LONGEST = 500  # characters of a formula


class FormulaError(ValueError):
    """A formula that cannot be read; `at` is the character where it goes wrong, from 0."""

    def __init__(self, message: str, at: int = 0, hint: str | None = None) -> None:
        super().__init__(message)
        self.at = at
        self.hint = hint


Tree = tuple[Any, ...]  # what a formula says, its parts being trees again
Function = Callable[["Frame"], Any]


class Formula(NamedTuple):
    """A formula as a tree and as a function of a frame, its kind, and the names that it uses."""

    source: str
    kind: str
    tree: Tree
    of: Function
    uses: frozenset[str] = frozenset()
    signals: frozenset[str] = frozenset()


class Frame:
    """The steps of one exchange, each computed when it is first asked for."""

    __slots__ = ("exchange", "shared", "steps", "values")

    def __init__(self, exchange: Any, steps: "Mapping[str, Formula]", shared: "Frame | None" = None) -> None:
        self.exchange = exchange
        self.steps = steps
        self.shared = shared
        self.values: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name in self.values:
            return self.values[name]
        found = self.values[name] = self.steps[name].of(self)
        return found


class Scope(NamedTuple):
    """What a formula may name."""

    signals: Mapping[str, Any]
    steps: Mapping[str, str]  # kind by name, of the steps above
    constants: Mapping[str, Any]
    carried: Mapping[str, str] = {}  # kinds of the steps that `before` can ask for
    shared: Mapping[str, str] = {}  # of the table that all others can use
    facts: bool = True
    elsewhere: Mapping[str, str] = {}  # names that exist but not here, and why


class _Part(NamedTuple):
    """A part of a formula: its kind and its tree."""

    kind: str
    tree: Tree


def formula(source: str, scope: Scope) -> Formula:
    """The formula of a text; FormulaError says what is wrong and where."""
    if len(source) > LONGEST:
        raise FormulaError(f"the formula has more than {LONGEST} characters", hint="Give its parts names of their own.")
    try:
        tree = ast.parse(source.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        at = (getattr(error, "offset", 1) or 1) - 1
        said = f"{error.msg}. " if isinstance(error, SyntaxError) and error.msg != "invalid syntax" else ""
        hint = f"{said}Write it like: score >= 1 or not negative"
        raise FormulaError("this is no formula", at, hint) from None
    reader = _Reader(scope)
    part = reader.read(tree)
    return Formula(
        source, part.kind, part.tree, function_of(part.tree), frozenset(reader.uses), frozenset(reader.signals)
    )


class _Reader:
    """Turns what Python's parser found into a tree of ours, and notes what it uses."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.uses: set[str] = set()
        self.signals: set[str] = set()

    def read(self, node: ast.expr) -> _Part:
        match node:
            case ast.Constant(value=bool() | int() | float() | str() as value):
                kind = TRUTH if isinstance(value, bool) else TEXT if isinstance(value, str) else NUMBER
                return _Part(kind, ("value", value))
            case ast.Name():
                return self._name(node)
            case ast.Attribute(value=ast.Name(id=first)):
                return self._before(node) if first == BEFORE else self._signal(f"{first}.{node.attr}", node)
            case ast.BoolOp():
                return self._logic(node)
            case ast.UnaryOp(op=ast.Not()):
                return _Part(TRUTH, ("not", self.read(node.operand).tree))
            case ast.Compare(ops=[compare], comparators=[right]) if type(compare) in _SIGNS:
                return self._compare(node, compare, right)
            case ast.BinOp(op=ast.Add() | ast.Sub()):
                return self._sum(node)
            case ast.IfExp():
                return self._choice(node)
            case ast.Call(func=ast.Name()):
                return self._call(node)
        raise FormulaError(f"'{ast.unparse(node)}' cannot be said in a formula", node.col_offset)

    def _name(self, node: ast.Name) -> _Part:
        name = node.id
        if name in _TRUTHS:
            return _Part(TRUTH, ("value", _TRUTHS[name]))
        if name in (NONE, OMITTED):
            return _Part(name, (name,))
        if name in self.scope.steps:
            self.uses.add(name)
            return _Part(self.scope.steps[name], ("step", name))
        if name in self.scope.shared:
            self.uses.add(name)
            return _Part(self.scope.shared[name], ("shared", name))
        if name in self.scope.constants:
            self.uses.add(name)
            value = self.scope.constants[name]
            return _Part(kind_of(value), ("value", value))
        if self.scope.facts and name in FACTS:
            return _Part(FACTS[name].kind, ("fact", name))
        if name in self.scope.elsewhere:
            raise FormulaError(f"'{name}' cannot be used here", node.col_offset, self.scope.elsewhere[name])
        known = [*self.scope.steps, *self.scope.shared, *self.scope.constants, *(FACTS if self.scope.facts else ())]
        raise FormulaError(
            f"no step above, constant or fact is called '{name}'", node.col_offset, _suggested(name, known)
        )

    def _signal(self, name: str, node: ast.Attribute) -> _Part:
        if name not in self.scope.signals:
            hint = f"Declare it under `signals`. {_suggested(name, self.scope.signals)}".partition(" Known:")[0]
            raise FormulaError(f"no signal is called '{name}'", node.col_offset, hint)
        self.signals.add(name)
        return _Part(HITS, ("hits", name))

    def _before(self, node: ast.Attribute) -> _Part:
        name = node.attr
        if name not in self.scope.carried:
            hint = (
                _suggested(name, self.scope.carried)
                if self.scope.carried
                else "Only steps that all checks share are carried."
            )
            raise FormulaError(f"'{name}' is not carried from turn to turn", node.col_offset, hint)
        kind = self.scope.carried[name]
        empty: Any = [] if kind in _LISTS else 0 if kind == NUMBER else False
        return _Part(kind, ("before", name, empty))

    def _logic(self, node: ast.BoolOp) -> _Part:
        parts = [self.read(value) for value in node.values]
        kinds = {part.kind for part in parts} - {NONE}
        kind = WORDS if kinds == {WORDS, NAMES} else kinds.pop() if len(kinds) == 1 else TRUTH
        sign = "and" if isinstance(node.op, ast.And) else "or"
        return _Part(kind, (sign, [part.tree for part in parts], kind == TRUTH))

    def _compare(self, node: ast.Compare, compare: ast.cmpop, right: ast.expr) -> _Part:
        one, other = self.read(node.left), self.read(right)
        ordered = not isinstance(compare, (ast.Eq, ast.NotEq))
        kinds = {one.kind, other.kind} - {NONE}
        if len(kinds) > 1 or (ordered and not kinds <= {NUMBER}):
            hint = "count(...) gives their number." if kinds & _LISTS else None
            raise FormulaError(f"{one.kind} cannot be compared with {other.kind} here", node.col_offset, hint)
        return _Part(TRUTH, ("compare", _SIGNS[type(compare)], one.tree, other.tree))

    def _sum(self, node: ast.BinOp) -> _Part:
        one, other = self.read(node.left), self.read(node.right)
        kinds = {one.kind, other.kind} - {NONE}
        kind = kinds.pop() if len(kinds) == 1 else ""
        if kind == NUMBER and isinstance(node.op, ast.Sub):
            return _Part(NUMBER, ("subtract", one.tree, other.tree))
        if kind in {NUMBER, TEXT, *_LISTS} and isinstance(node.op, ast.Add):
            return _Part(kind, ("add", one.tree, other.tree))
        sign = "+" if isinstance(node.op, ast.Add) else "-"
        raise FormulaError(f"{one.kind} {sign} {other.kind} has no meaning", node.col_offset)

    def _choice(self, node: ast.IfExp) -> _Part:
        condition, yes, no = (self.read(part) for part in (node.test, node.body, node.orelse))
        kinds = {yes.kind, no.kind} - {NONE, OMITTED}
        if len(kinds) > 1:
            raise FormulaError(f"one branch gives {yes.kind}, the other {no.kind}", node.col_offset)
        return _Part(kinds.pop() if kinds else NONE, ("if", condition.tree, yes.tree, no.tree))

    def _call(self, node: ast.Call) -> _Part:
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name not in OPERATORS:
            raise FormulaError(f"no operator is called '{name}'", node.col_offset, _suggested(name, OPERATORS))
        known = OPERATORS[name]
        return self._by_name(node, known) if known.named else self._by_place(node, known)

    def _by_place(self, node: ast.Call, known: Operator) -> _Part:
        parts = [self.read(argument) for argument in node.args]
        if node.keywords or len(parts) != len(known.takes):
            raise FormulaError(
                f"{known.name} takes {_listed(known.takes)}", node.col_offset, f"For example: {known.example}"
            )
        for part, wanted, argument in zip(parts, known.takes, node.args, strict=True):
            if wanted != ANY and part.kind not in {wanted, NONE} and {part.kind, wanted} != {WORDS, NAMES}:
                message = f"{known.name} takes {_listed(known.takes)}, and '{ast.unparse(argument)}' is {part.kind}"
                raise FormulaError(message, argument.col_offset, f"For example: {known.example}")
        if known.of_steps:
            self._uses_steps(node)
        return _Part(known.gives, ("call", known.name, [part.tree for part in parts]))

    def _uses_steps(self, node: ast.Call) -> None:
        """The steps that a constant names, each of which has to be above."""
        (argument,) = node.args
        named = self.scope.constants.get(argument.id, {}) if isinstance(argument, ast.Name) else {}
        if not isinstance(named, dict) or not named:
            raise FormulaError("this takes a constant that maps steps to something", node.col_offset)
        for name in named:
            if name not in self.scope.steps:
                hint = _suggested(name, self.scope.steps)
                raise FormulaError(f"no step above is called '{name}'", argument.col_offset, hint)
            self.uses.add(name)

    def _by_name(self, node: ast.Call, known: Operator) -> _Part:
        if node.args or not node.keywords or any(keyword.arg is None for keyword in node.keywords):
            raise FormulaError(
                f"{known.name} takes NAME=STEP, several times", node.col_offset, f"For example: {known.example}"
            )
        parts = [(str(keyword.arg), self.read(keyword.value).tree) for keyword in node.keywords]
        return _Part(known.gives, ("named", known.name, parts))


# A tree as a function of the frame that its steps are in.


def function_of(tree: Tree) -> Function:
    """The function of a tree; parts are made once, and computed when the function is called."""
    return _MAKERS[tree[0]](*tree[1:])


def _value(value: Any) -> Function:
    return lambda _: value


def _step(name: str) -> Function:
    return lambda frame: frame[name]


def _shared_step(name: str) -> Function:
    return lambda frame: frame.shared[name] if frame.shared else frame[name]


def _carried(name: str, empty: Any) -> Function:
    return lambda frame: _before(frame, name, empty)


def _fact(name: str) -> Function:
    of = FACTS[name].of
    return lambda frame: of(frame.exchange)


def _hits(signal: str) -> Function:
    return lambda frame: frame.exchange.hits(signal, anywhere=True)


def _all(parts: Sequence[Tree], as_truth: bool) -> Function:
    first, *rest = map(function_of, parts)

    def both(frame: Frame) -> Any:
        found = first(frame)
        for of in rest:
            if not found:
                return found
            found = of(frame)
        return found

    return (lambda frame: bool(both(frame))) if as_truth else both


def _any(parts: Sequence[Tree], as_truth: bool) -> Function:
    first, *rest = map(function_of, parts)

    def either(frame: Frame) -> Any:
        found = first(frame)
        for of in rest:
            if found:
                return found
            found = of(frame)
        return found

    return (lambda frame: bool(either(frame))) if as_truth else either


def _not(part: Tree) -> Function:
    of = function_of(part)
    return lambda frame: not of(frame)


def _comparison(sign: str, left: Tree, right: Tree) -> Function:
    left_of, right_of, holds = function_of(left), function_of(right), _COMPARED[sign]
    return lambda frame: holds(left_of(frame), right_of(frame))


def _addition(left: Tree, right: Tree) -> Function:
    left_of, right_of = function_of(left), function_of(right)
    return lambda frame: left_of(frame) + right_of(frame)


def _subtraction(left: Tree, right: Tree) -> Function:
    left_of, right_of = function_of(left), function_of(right)
    return lambda frame: left_of(frame) - right_of(frame)


def _conditional(condition: Tree, yes: Tree, no: Tree) -> Function:
    holds, yes_of, no_of = function_of(condition), function_of(yes), function_of(no)
    return lambda frame: yes_of(frame) if holds(frame) else no_of(frame)


def _by_name_call(name: str, parts: Sequence[tuple[str, Tree]]) -> Function:
    call = OPERATORS[name].call
    functions = [(key, function_of(part)) for key, part in parts]
    return lambda frame: call(**{key: of(frame) for key, of in functions})


def _call(name: str, parts: Sequence[Tree]) -> Function:
    return _called(OPERATORS[name], [function_of(part) for part in parts])


_MAKERS: dict[str, Callable[..., Function]] = {
    NONE: lambda: lambda _: [],
    OMITTED: lambda: lambda _: OMITTED,
    "value": _value,
    "step": _step,
    "shared": _shared_step,
    "before": _carried,
    "fact": _fact,
    "hits": _hits,
    "and": _all,
    "or": _any,
    "not": _not,
    "compare": _comparison,
    "add": _addition,
    "subtract": _subtraction,
    "if": _conditional,
    "call": _call,
    "named": _by_name_call,
    "row": lambda: lambda frame: frame["row"].name,
    "strength": lambda: lambda frame: frame["row"].strength,
}


def _called(known: Operator, parts: Sequence[Callable[[Frame], Any]]) -> Callable[[Frame], Any]:
    """The function of a call, without unpacking where one or two arguments are all: there are many calls."""
    call = known.call
    if known.of_steps:
        return lambda frame: call(frame.__getitem__, *[of(frame) for of in parts])
    if known.of_exchange:
        return lambda frame: call(frame.exchange, *[of(frame) for of in parts])
    if len(parts) == 1:
        (only,) = parts
        return lambda frame: call(only(frame))
    return lambda frame: call(*[of(frame) for of in parts])


def _suggested(name: str, known: Iterable[str]) -> str:
    """The nearest name alone, where there is one: the others are many."""
    hint = did_you_mean(name, known)
    return hint.partition(" Known:")[0] if hint.startswith("Did") else hint


def _listed(kinds: Sequence[str]) -> str:
    return " and ".join(kinds) if kinds else "nothing"


def kind_of(value: Any) -> str:
    """The kind of a constant."""
    if isinstance(value, bool):
        return TRUTH
    if isinstance(value, (int, float)):
        return NUMBER
    if isinstance(value, str):
        return TEXT
    return NAMES if isinstance(value, list) else MAPPING


def shared_frame(exchange: Exchange, steps: Mapping[str, Formula]) -> Frame:
    """The steps that all tables share, of one exchange."""
    found = Frame(exchange, steps)
    found.values = exchange.steps  # kept there, and not the frame: a cycle would keep long texts until a collection
    return found


def _before(frame: Frame, name: str, empty: Any) -> Any:
    """The step one turn earlier, followed from the first turn on: a loop, since a conversation may be long."""
    previous: Exchange | None = frame.exchange.previous
    if previous is None:
        return empty
    waiting: list[Frame] = []
    one: Exchange | None = previous
    while one is not None and name not in (known := shared_frame(one, frame.steps)).values:
        waiting.append(known)
        one = one.previous
    for each in reversed(waiting):
        each[name]
    return shared_frame(previous, frame.steps).values[name]
