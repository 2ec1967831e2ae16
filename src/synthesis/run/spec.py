"""What a run is: one frozen object for the command line, the server, the engines and the library.

A new option is a field here and an option of the command. Whether an unfinished table may be resumed follows from the
fields: each one is a condition unless it is marked with `NO_EFFECT`.
"""

import hashlib
import os
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import msgspec

from synthesis.checks.registry import checks, get_check, load_tables, named_checks
from synthesis.errors import OptionError, did_you_mean
from synthesis.io import CASE_SCHEMA
from synthesis.model import CaseResult
from synthesis.model.result import ERROR as ENDED_IN_ERROR
from synthesis.model.result import FAIL, WITHOUT_DRIFT
from synthesis.read.cases import CaseValidator
from synthesis.read.inputs import Input, shown_path
from synthesis.read.lines import MOST_LINE
from synthesis.read.rows import KEEP_AS_ERROR, STOP, LogOptions
from synthesis.report.stored import results_suffix
from synthesis.rules.ruleset import bundled_languages
from synthesis.rules.text import primary
from synthesis.run.engines import ENGINES, LOCAL
from synthesis.run.limits import Limits
from synthesis.settings import FORMER_PROFILES, LEARNED, PROFILES, READERS

# A field that changes where or how a run happens, but no verdict in a table; or whose effect is hashed by itself.
NO_EFFECT = "no effect on the verdicts in a table"


class RunSpec(msgspec.Struct, frozen=True, kw_only=True):
    """What to evaluate, how, and where the results go. Options that contradict each other raise OptionError."""

    inputs: Annotated[tuple[Input, ...], NO_EFFECT]  # a table records its inputs file by file
    schema: Annotated[Path, NO_EFFECT] = CASE_SCHEMA  # its content is a condition, see `conditions`
    checks: tuple[str, ...] = ()  # in place of those that the cases name
    columns: dict[str, str] = {}  # field of a case -> its name in the file
    sort: bool = False  # rows by their conversation, before they are joined
    on_bad_row: str | None = None  # None: stop for cases, error for logs
    tags: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    only: tuple[str, ...] = ()  # of the checks that the cases name
    sample: int | None = None
    seed: int = 0
    limit: int | None = None
    profile: str | None = None  # None: authored for cases, traffic for logs and tables
    reader: Annotated[str, NO_EFFECT] = LEARNED  # name and hash of the one in force are a condition
    language: str | None = None  # of cases that do not say theirs; None: detected
    rules: Annotated[tuple[str, ...], NO_EFFECT] = ()  # folders; the hash of all rules in force is a condition
    disabled: Annotated[tuple[str, ...], NO_EFFECT] = ()
    max_line: int = MOST_LINE  # bytes
    out: Annotated[Path | None, NO_EFFECT] = None  # None: results are returned in memory
    results: Annotated[Path | None, NO_EFFECT] = None
    table: Annotated[Path | None, NO_EFFECT] = None
    keep: tuple[str, ...] = ()  # columns of the input that the table keeps
    facts: tuple[str, ...] = ()  # columns of the input that an audit gives figures by
    as_log: bool = False  # a file of cases is read as a log
    fresh: Annotated[bool, NO_EFFECT] = False
    failures_only: bool = False
    keep_results: Annotated[bool, NO_EFFECT] = True  # in memory where there is no file for them; else figures alone
    keep_text: Annotated[bool, NO_EFFECT] = True  # a table never holds the texts
    engine: Annotated[str, NO_EFFECT] = LOCAL
    address: Annotated[str | None, NO_EFFECT] = None  # of a cluster; None: one on this machine
    workers: Annotated[int, NO_EFFECT] = 1
    fail_on: Annotated[int | str, NO_EFFECT] = 0  # as Limits reads it
    fail_on_drift: Annotated[dict[str, float], NO_EFFECT] = {}  # check -> the most that its mean difference may be
    settings: Annotated[tuple[str, ...], NO_EFFECT] = ()  # files that options were read from

    def __post_init__(self) -> None:
        load_tables(self.rules)  # before their names are asked for
        msgspec.structs.force_setattr(self, "checks", named_checks(self.checks))
        for name in self.only:
            get_check(name)
        if self.profile is not None:
            msgspec.structs.force_setattr(self, "profile", known_profile(self.profile))
        known_reader(self.reader)  # OptionError
        if self.engine not in ENGINES:
            raise OptionError(f"there is no engine '{self.engine}'", hint=did_you_mean(self.engine, ENGINES))
        if self.on_bad_row not in (None, STOP, KEEP_AS_ERROR):
            message = f"on-bad-row must be 'stop' or 'error', not '{self.on_bad_row}'"
            raise OptionError(message, hint="Choose one of the two.")
        Limits.of(self.fail_on)  # OptionError
        self._require_checks_that_drift()
        self._require_known_language()
        self._require_outputs_that_agree()
        if self.sort and self.keep:
            hint = "Sort the file itself, or leave out --keep."
            raise OptionError("--keep cannot be combined with --sort, which drops all other columns", hint=hint)

    def _require_checks_that_drift(self) -> None:
        for name, most in self.fail_on_drift.items():
            get_check(name)
            if name in WITHOUT_DRIFT:
                raise OptionError(
                    f"{name} is left out of drift: every turn after a cue is judged by it, so late turns fail more",
                    hint="Name another check.",
                )
            if not -1 <= most <= 1:  # which NaN is not either
                message = f"fail-on-drift of {name} must be a difference of rates, from -1 to 1, not {most}"
                raise OptionError(message, hint=f"{name}=0.1 allows ten points.")

    def _require_known_language(self) -> None:
        """A language without rules is a mistake, not a silent pass."""
        known = bundled_languages()
        short = None if self.language in {None, "auto"} else primary(str(self.language))
        if short is not None and short not in known:
            message = f"there are no rules for the language '{self.language}'"
            raise OptionError(message, hint=did_you_mean(short, known))
        msgspec.structs.force_setattr(self, "language", short)

    def _require_outputs_that_agree(self) -> None:
        if self.results is not None:
            results_suffix(self.results)
            if self.out is None:
                raise OptionError("--results needs a report beside it", hint="Give --out as well.")
        if self.table is None:
            for name in ("keep", "fresh"):
                if getattr(self, name):
                    raise OptionError(f"--{name} needs --out-table", hint="Give --out-table as well.")
        elif self.results is not None:
            raise OptionError("--results cannot be combined with --out-table", hint="Drop one of the two.")

    @property
    def is_mapped(self) -> bool:
        """Whether fields are mapped or checks named: then lines that name no checks are rows of a log."""
        return bool(self.columns or self.checks)

    @property
    def chooses(self) -> bool:
        """Whether some of the wanted cases must be chosen before the run."""
        return self.sample is not None or self.limit is not None

    def log_options(self) -> LogOptions:
        validator = CaseValidator(checks(), self.schema)
        return LogOptions(validator, self.checks, self.columns, self.max_line, self.sort, self.facts)

    def shows(self, result: CaseResult) -> bool:
        """Whether a result is kept; the figures count all of them. An alert is never left out."""
        failed = result.outcome in {FAIL, ENDED_IN_ERROR}
        return not self.failures_only or failed or result.alert is not None

    def conditions(self) -> dict[str, Any]:
        """Every field that the verdicts in a table depend on, and the content of the schema."""
        schema = self.schema.read_bytes() if self.schema.is_file() else b""
        fields = {name: getattr(self, name) for name in _CONDITIONS}
        return {**fields, "schema": hashlib.sha256(schema).hexdigest()}

    def options(self) -> dict[str, Any]:
        """The report's `options`: what was asked for, under the names that reports have always used."""
        filters = {"tags": self.tags, "ids": self.ids, "checks": self.only, "instead": self.checks}
        chosen = {"sample": self.sample, "seed": self.seed, "limit": self.limit}
        read = {"map": self.columns, "sort": self.sort, "on_bad_row": self.on_bad_row}
        rows = {**read, "checks": self.checks, "keep": self.keep}
        drift = {"fail_on_drift": self.fail_on_drift}
        return {
            "schema": shown_path(self.schema),
            "fail_on": self.fail_on,
            **_given(drift),
            "filters": _given({**filters, **chosen}),
            "language": self.language or "auto",
            "failures_only": self.failures_only,
            "rules": list(self.rules),
            "disable": list(self.disabled),
            **_given(rows),
            "settings": [Path(os.path.relpath(file)).as_posix() for file in self.settings],
        }

    def absolute(self) -> "RunSpec":
        """The same run with paths that mean the same in whichever folder a worker was started."""
        return msgspec.structs.replace(
            self,
            schema=self.schema.absolute(),
            rules=tuple(os.path.abspath(folder) for folder in self.rules),
            table=self.table.absolute() if self.table else None,
        )


def known_profile(name: str) -> str:
    """The profile of this name; the names of version 0.1 still mean the same two."""
    current = FORMER_PROFILES.get(name, name)
    if current not in PROFILES:
        raise OptionError(f"there is no profile '{name}'", hint=did_you_mean(name, PROFILES))
    return current


def known_reader(name: str) -> str:
    """The reader of this name: the learned one beside the rules, or rules alone."""
    if name not in READERS:
        raise OptionError(f"there is no reader '{name}'", hint=did_you_mean(name, READERS))
    return name


def _given(options: dict[str, Any]) -> dict[str, Any]:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in options.items() if value}


_CONDITIONS = [
    name
    for name, hint in get_type_hints(RunSpec, include_extras=True).items()
    if NO_EFFECT not in getattr(hint, "__metadata__", ())
]
