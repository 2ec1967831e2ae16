"""What a run of `synthesis eval` is asked to do: options, settings and defaults weighed against each other."""

import glob
from pathlib import Path
from typing import Any

import msgspec

from synthesis import bundled
from synthesis.cases.blocks import MOST_LINE
from synthesis.cases.logs.options import RowOptions
from synthesis.checks.registry import get_check
from synthesis.cli.rows import row_options
from synthesis.cli.tables import TableOptions
from synthesis.engines.crews import EngineChoice
from synthesis.errors import OptionError, did_you_mean
from synthesis.rules.language import primary
from synthesis.rules.ruleset import bundled_languages as rules_languages
from synthesis.runner.filters import Filters
from synthesis.runner.stream import available_cores
from synthesis.settings import Settings

DEFAULT_CASES = "data/evals.jsonl"
DEFAULT_SCHEMA = "schemas/eval_case.schema.json"
DEFAULT_OUT = "out/report.json"
BUNDLED = "bundled:all"
PROFILES = ("default", "audit")


class Request(msgspec.Struct, frozen=True):
    """Everything a run depends on, options and settings already weighed against each other."""

    cases: tuple[Path, ...]
    schema: Path
    out: Path
    fail_on: int
    filters: Filters
    folders: tuple[str, ...]
    disabled: tuple[str, ...]
    profile: str
    keep_text: bool
    settings_files: tuple[str, ...]
    language: str | None = None
    results: Path | None = None
    failures_only: bool = False
    workers: int = 1
    most_line: int = MOST_LINE
    rows: RowOptions = RowOptions()
    table: TableOptions = TableOptions()
    engine: EngineChoice = EngineChoice()

    @classmethod
    def of(cls, options: dict[str, Any], settings: Settings) -> "Request":
        """Options override settings, settings override defaults; lists of rules add up."""
        values = settings.values
        rows = row_options(options, values)
        return cls(
            cases=tuple(_case_files(options["cases"] or values.get("cases") or ())),
            schema=Path(options["schema"] or values.get("schema") or _present(DEFAULT_SCHEMA, bundled.CASE_SCHEMA)),
            out=Path(options["out"] or values.get("out") or DEFAULT_OUT),
            fail_on=_not_negative(_first(options["fail_on"], values.get("fail-on"), 0)),
            filters=Filters(
                tags=options["tags"],
                ids=options["ids"],
                checks=_known(options["only"]),
                instead=rows.checks,
                sample=options["sample"],
                seed=options["seed"],
                limit=options["limit"],
            ),
            folders=(*values.get("rules", ()), *options["folders"]),
            disabled=(*values.get("disable", ()), *options["disable"]),
            profile=_profile(options["profile"] or values.get("profile") or "default"),
            keep_text=not _first(options["no_text"], values.get("no-text"), False),
            settings_files=settings.files,
            language=_language(options["lang"] or values.get("lang")),
            results=Path(options["results"]) if options["results"] else None,
            failures_only=options["failures_only"],
            workers=options["workers"] or available_cores(),
            most_line=options["max_line"],
            rows=rows,
            table=TableOptions.of(options),
            engine=EngineChoice(options["engine"], options["ray_address"], options["master"]),
        )


def shown_path(path: Path) -> str:
    """A path as a reader of the report can use it; the bundled files lie elsewhere on every machine."""
    if path.is_absolute() and path.is_relative_to(bundled.ROOT):
        return f"bundled:{path.relative_to(bundled.ROOT).as_posix()}"
    return path.relative_to(Path.cwd()).as_posix() if path.is_relative_to(Path.cwd()) else path.as_posix()


def _case_files(given: tuple[str, ...] | list[str]) -> list[Path]:
    if "" in given:
        raise OptionError("--cases is empty", hint="Give a file, a folder, or leave the option out.")
    if not given:
        return [_present(DEFAULT_CASES, bundled.CASES)]
    return [path for name in given for path in _expanded(name)]


def _expanded(name: str) -> list[Path]:
    """A file, all case files of a folder, or `bundled:all`."""
    if name == BUNDLED:
        return sorted(bundled.CASES.parent.glob("evals*.jsonl"))
    path = Path(name)
    if glob.has_magic(name) and not path.exists():
        return _matching(name)
    if not path.is_dir():
        return [path]
    files = sorted(path.glob("*.jsonl"))
    if not files:
        raise OptionError(f"the folder {name} holds no .jsonl files", hint="Give a case file, or a folder with some.")
    return files


def _matching(pattern: str) -> list[Path]:
    """The files that a pattern such as logs/*.jsonl stands for, where no shell has put them in its place."""
    files = sorted(Path(found) for found in glob.glob(pattern, recursive=True) if Path(found).is_file())
    if not files:
        raise OptionError(f"no file matches {pattern}", hint="Check the pattern.")
    return files


def _language(code: str | None) -> str | None:
    """The language for cases that do not say theirs; one without rules is a mistake, not a silent pass."""
    if code in {None, "auto"}:
        return None
    known = rules_languages()
    short = primary(str(code))
    if short not in known:
        raise OptionError(f"there are no rules for the language '{code}'", hint=did_you_mean(short, known))
    return short


def _present(local: str, otherwise: Path) -> Path:
    return Path(local) if Path(local).is_file() else otherwise


def _not_negative(number: int) -> int:
    if number < 0:
        raise OptionError(f"fail-on must not be negative, but is {number}", hint="0 allows no unexpected failure.")
    return number


def _profile(name: str) -> str:
    if name not in PROFILES:
        raise OptionError(f"there is no profile '{name}'", hint=did_you_mean(name, PROFILES))
    return name


def _known(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(get_check(name).name for name in names)


def _first(*values: Any) -> Any:
    return next(value for value in values if value is not None)
