"""The errors that Synthesis raises.

    SynthesisError                 message, place, hint
    |-- InputError                 invalid input
    |   |-- CaseError              a case file; holds all of its problems
    |   |-- SchemaError            the JSON Schema for cases
    |   |-- RuleError              a rule pack
    |   |-- WeightsError           the weights of the learned reader
    |   |-- SettingsError          synthesis.toml or [tool.synthesis]
    |   |-- OptionError            an option or argument
    |   |-- TestSetError           a test set, answers, contexts, labels or logs for the judge
    |   |-- RunFolderError         a judged run's folder: foreign, damaged, locked, another judge
    |   `-- HistoryError           a history: missing, newer, unreachable
    |       |-- NotInHistoryError  it has no such run
    |       `-- DamagedRunError    what it holds is not what was saved
    |-- OutputError                a result could not be written
    |-- MissingExtraError          an optional part is not installed
    |-- SimilarityError            an embedding adapter returned no valid similarity
    `-- JudgeError                 a judge could not give a verdict on one sample
        `-- LanguageError          because of the sample's language

The library raises; only the command line prints and exits.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

EXCERPT_WIDTH = 80
SHOWN_PROBLEMS = 100
ALIKE = 5  # problems in the same words that are shown one by one; more of them are one, with a count
SCHEMA = "schema violation"  # a kind of problem
NO_CHECKS = "names no checks"  # a kind of problem: a case must name checks, a row of a log need not
RETURNS = "conversation returns"  # after rows of others
_UNLIKE_A_CASE = {SCHEMA, NO_CHECKS}
_CASE_HINT = "`synthesis schema case` prints what a case must look like."
_LOG_HINT = (
    "Conversations that name no checks are read as a log by `synthesis eval {file} --checks all`, with `--map "
    "user=NAME,assistant=NAME` if their fields have other names."
)


@dataclass(frozen=True, slots=True)
class Place:
    """Where in the user's files the problem is; lines and columns count from 1."""

    file: str
    line: int | None = None
    column: int | None = None
    excerpt: str | None = None

    def __str__(self) -> str:
        return ":".join(str(part) for part in (self.file, self.line, self.column) if part is not None)


class SynthesisError(Exception):
    """What is wrong, where, and what to do next."""

    def __init__(self, message: str, *, place: Place | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.place = place
        self.hint = hint

    def __str__(self) -> str:
        lines = [f"{self.place}: {self.message}" if self.place else self.message]
        if self.place and self.place.excerpt:
            lines.append(f"    {shorten(self.place.excerpt)}")
        if self.hint:
            lines.append(f"  {self.hint}")
        return "\n".join(lines)


class InputError(SynthesisError):
    """The input is invalid."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with one line of a case file."""

    line: int
    kind: str
    message: str
    case_id: str | None = None
    own_id: str | None = None  # what the row is called in its file, where that is not the id of its case

    def __str__(self) -> str:
        name = self.own_id or self.case_id
        return f"line {self.line}{f' ({name})' if name else ''}: {self.message}"


class CaseError(InputError):
    """All that is wrong with a case file, in line order: the first hundred, then counts by kind.

    Of a log, or of rows that are nothing like cases, what is wrong in the same words with many of them is told once:
    `alike` counts problems by their words, and `seen` says what such rows hold.
    """

    def __init__(
        self,
        problems: Sequence[Problem],
        *,
        file: str,
        total: int | None = None,
        kinds: Counter[str] | None = None,
        alike: Counter[str] | None = None,
        seen: str = "",
        is_log: bool = False,
    ) -> None:
        self.problems = tuple(problems[:SHOWN_PROBLEMS])
        self.total = len(problems) if total is None else total
        self.kinds = Counter(problem.kind for problem in problems) if kinds is None else kinds
        self._alike = alike if alike is not None and (is_log or seen) else Counter()
        noun = "problem" if self.total == 1 else "problems"
        # Each row has each of these problems once, so the most frequent one counts the rows.
        rows = max(self._alike.values(), default=0) if seen and self.kinds.keys() <= _UNLIKE_A_CASE else 0
        self._unlike = rows if rows > ALIKE else 0
        what = f"{self._unlike:,} rows that are nothing like cases" if self._unlike else f"{self.total} {noun}"
        hint = seen if self._unlike else f"{seen}{_hint(self.kinds, file, is_log=is_log)}"
        super().__init__(f"{what}, nothing was evaluated", place=Place(file), hint=hint.strip())

    @property
    def told(self) -> list[tuple[str, int]]:
        """Each problem in words, those that are alike as one, with how many problems that is."""
        if self._unlike:
            first = listed(dict.fromkeys(str(problem.line) for problem in self.problems), self._unlike)
            return [(f"lines {first}: neither a case nor a row of a known shape", self.total)]
        told: dict[str, tuple[str, int]] = {}
        for problem in self.problems:
            number = self._alike[problem.message]
            if number <= ALIKE:
                told[str(problem)] = (str(problem), 1)
            elif problem.message not in told:
                lines = [one.line for one in self.problems if one.message == problem.message]
                where = f"lines {listed(map(str, dict.fromkeys(lines)), number)}"
                told[problem.message] = (f"{where}: {problem.message}", number)
        return list(told.values())

    def __str__(self) -> str:
        lines = [f"{self.place}: {self.message}", *(f"  {words}" for words, _ in self.told)]
        left = self.total - sum(number for _, number in self.told)
        if left > 0:
            lines.append(f"  ... and {left} more. All, by kind:")
            lines.extend(f"    {count} x {kind}" for kind, count in sorted(self.kinds.items()))
        lines.append(f"  {self.hint}")
        return "\n".join(lines)


def _hint(kinds: Counter[str], file: str, *, is_log: bool) -> str:
    if RETURNS in kinds:
        return "The rows of a conversation must be adjacent: --sort groups them first, on disk."
    if is_log:
        return "--on-bad-row error counts such rows as errors, and evaluates the others."
    return f"{_CASE_HINT}\n  {_LOG_HINT.format(file=file)}" if NO_CHECKS in kinds else _CASE_HINT


class SchemaError(InputError):
    """The JSON Schema for cases is unusable."""


class RuleError(InputError):
    """A rule pack is wrong; stops before anything is evaluated."""


class WeightsError(InputError):
    """The weights of the learned reader are missing, damaged, or made for another version."""


class SettingsError(InputError):
    """synthesis.toml or [tool.synthesis] is wrong."""


class OptionError(InputError):
    """An option or argument is invalid, alone or in combination."""


class TestSetError(InputError):
    """A file for the judge half is wrong: test set, answers, contexts, labels, logs."""

    __test__ = False  # pytest would take the name for a test class


class RunFolderError(InputError):
    """A judged run's folder cannot be used: foreign, damaged, in use, or of another judge."""


class HistoryError(InputError):
    """A history of runs cannot be used, or has no such run."""


class NotInHistoryError(HistoryError):
    """A history has no such run or case, or there is no history yet."""


class DamagedRunError(HistoryError):
    """What a history holds is not what was saved: names the run and the column."""


class OutputError(SynthesisError):
    """A result could not be written."""


class MissingExtraError(SynthesisError):
    """An optional part is not installed."""

    def __init__(self, extra: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs the extra '{extra}', which is not installed",
            hint=f"Install it with: pip install 'synthesis-eval[{extra}]'",
        )


class SimilarityError(SynthesisError):
    """An embedding adapter returned something that is not a similarity."""


class JudgeError(SynthesisError):
    """A judge could not give a verdict on one sample; the run continues.

    `kind` sorts such errors in a run's files.
    """

    kind: str | None = None


class LanguageError(JudgeError):
    """The sample is in a language that this judge cannot read."""

    kind = "language"


def shorten(text: str, width: int = EXCERPT_WIDTH) -> str:
    """One line of at most `width` characters, safe to show."""
    line = "".join(char if char.isprintable() else " " for char in text).strip()
    return line if len(line) <= width else line[: width - 1] + "…"


def listed(names: Iterable[str], total: int) -> str:
    """`a, b, c and 27 more`: the first of so many."""
    shown = list(islice(names, ALIKE))
    rest = total - len(shown)
    return ", ".join(shown) + (f" and {rest:,} more" if rest > 0 else "")


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A hint that lists the known words, the nearest first where one is near."""
    import difflib

    names = sorted(known)
    near = [name for name in names if word and name.startswith(word)] or difflib.get_close_matches(word, names, n=1)
    listing = ", ".join(names) or "none"
    return f"Did you mean '{near[0]}'? Known: {listing}." if near else f"Known: {listing}."
