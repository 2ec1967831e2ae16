"""pytest: case files as tests, and a fixture whose failures show the words, the rule and the better way.

Loaded by pytest in every project that has Synthesis installed, so nothing heavy is imported before it is needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from synthesis.printable import safe
from synthesis.settings import AUTHORED, DEFAULT_CHECKS, FORMER_PROFILES, LEARNED, PROFILES, READERS, TRAFFIC

if TYPE_CHECKING:
    from synthesis.model import Case
    from synthesis.verdict import ReplyEvaluator, Verdict

ENDING = ".synthesis.jsonl"
MARKER = "synthesis"
_ENGINE = pytest.StashKey["PluginEngine"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini("synthesis_cases", "Case files or folders of them, apart from *.synthesis.jsonl.", "paths", [])
    parser.addini("synthesis_rules", "Folders with rule packs on top of the bundled ones.", "paths", [])
    parser.addini(
        "synthesis_profile",
        "authored or traffic. Default: case files authored, fixture traffic.",
        default="",
    )
    parser.addini(
        "synthesis_reader", "learned or rules: rules and the learned reader, or rules alone.", default=LEARNED
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", f"{MARKER}: a check of a case, by Synthesis")
    config.stash[_ENGINE] = PluginEngine(config)
    if config.args_source is not pytest.Config.ArgsSource.ARGS:
        config.args += [str(path) for path in _named(config) if not _is_within(path, config)]


def _named(config: pytest.Config) -> list[Path]:
    """The paths of `synthesis_cases`, each of which must be there."""
    paths: list[Path] = config.getini("synthesis_cases")
    for path in paths:
        if not path.exists():
            raise pytest.UsageError(f"synthesis_cases: there is no {path}")
    return paths


def _is_within(path: Path, config: pytest.Config) -> bool:
    """Whether pytest collects a path anyway."""
    starts = [(config.invocation_params.dir / arg).resolve() for arg in config.args]
    return any(path.resolve().is_relative_to(start) for start in starts)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> PytestCaseFile | None:
    named: list[Path] = parent.config.getini("synthesis_cases")
    is_named = file_path.suffix == ".jsonl" and any(file_path.is_relative_to(path) for path in named)
    if not (is_named or file_path.name.endswith(ENDING)):
        return None
    found: PytestCaseFile = PytestCaseFile.from_parent(parent, path=file_path)
    return found


@pytest.fixture(scope="session")
def synthesis(pytestconfig: pytest.Config) -> Checker:
    """Checks replies: `synthesis.check(user, assistant).assert_passes()`."""
    return Checker(pytestconfig.stash[_ENGINE])


class PluginEngine:
    """Evaluates with the rules of the project; made when the first case needs it."""

    def __init__(self, config: pytest.Config) -> None:
        self._folders = [str(path) for path in config.getini("synthesis_rules")]
        named = config.getini("synthesis_profile")
        self._profile = FORMER_PROFILES.get(named, named)
        if self._profile not in ("", *PROFILES):
            raise pytest.UsageError(f"synthesis_profile must be one of {', '.join(PROFILES)}, not '{self._profile}'")
        self._reader = config.getini("synthesis_reader") or LEARNED
        if self._reader not in READERS:
            raise pytest.UsageError(f"synthesis_reader must be one of {', '.join(READERS)}, not '{self._reader}'")

    def verdict(self, case: Case, default: str, profile: str | None = None) -> Verdict:
        """The verdict on a case by its own profile, else that of the project, else the default one."""
        return self._replies(profile or self._profile or default).case(case)

    @cache  # noqa: B019  one engine lives as long as the run
    def _replies(self, profile: str) -> ReplyEvaluator:
        from synthesis.checks.registry import rules_in_force
        from synthesis.verdict import ReplyEvaluator

        return ReplyEvaluator("all", profile=profile, rules=rules_in_force(self._folders, reader=self._reader))


class PytestCaseFile(pytest.File):
    """A case file: one test per case and check."""

    def collect(self) -> Iterator[CaseItem]:
        from synthesis import load_cases
        from synthesis.errors import SynthesisError

        try:
            cases = load_cases(self.path)
        except SynthesisError as error:
            raise self.CollectError(safe(str(error), keep_lines=True)) from None
        for case in cases:
            for name in case.checks:
                yield CaseItem.from_parent(self, name=safe(f"{case.id}[{name}]"), case=case, check=name)


class CaseFailedError(Exception):
    """A check of a case has another outcome than expected; the message says why."""


class CaseItem(pytest.Item):
    """One check of one case; `-k` knows it by id, check and tags, `-m` by the marker `synthesis`.

    A labelled check passes when the verdict is the label. Without a label the reply must pass, and a negative example
    that fails is an expected failure.
    """

    def __init__(self, *, case: Case, check: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._case = case
        self._check = check
        self.add_marker(MARKER)
        self.extra_keyword_matches.update((case.id, check, *case.tags))

    def runtest(self) -> None:
        import msgspec

        engine = self.config.stash[_ENGINE]
        verdict = engine.verdict(msgspec.structs.replace(self._case, checks=(self._check,)), AUTHORED)
        check = verdict.checks[self._check]
        label = (self._case.expected or {}).get(self._check)
        if check.error is not None:
            raise CaseFailedError(f"{self._check} gave no verdict: {safe(check.error)}")
        if not check.applicable and label is not False:
            pytest.skip(safe(f"not applicable: {check.reason}"))
        if check.passed and label is False:
            raise CaseFailedError(
                f"{self._check} no longer catches this reply, which is labelled to fail:\n" + self._conversation
            )
        if not check.passed and label is not False:
            if label is None and self._case.is_negative_example:
                pytest.xfail("negative example")
            raise CaseFailedError(f"{verdict}\n{self._conversation}")

    @property
    def _conversation(self) -> str:
        return "\n".join(f"  user: {user!r}\n  assistant: {reply!r}" for user, reply in self._case.exchanges)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        from synthesis.errors import SynthesisError

        if isinstance(excinfo.value, (CaseFailedError, SynthesisError)):
            return safe(str(excinfo.value), keep_lines=True)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, self._case.source.line - 1 if self._case.source else None, self.name


class Checker:
    """What the fixture `synthesis` gives to a test."""

    def __init__(self, engine: PluginEngine) -> None:
        self._engine = engine

    def check(
        self,
        user: str,
        assistant: str | None,
        checks: str | Iterable[str] = DEFAULT_CHECKS,
        lang: str | None = None,
        profile: str | None = None,
    ) -> Verdict:
        """Evaluate one reply to one message, as `synthesis.evaluate` does: by default in the profile `traffic`."""
        from synthesis.checks.registry import asked_checks
        from synthesis.model import Case
        from synthesis.run.spec import known_profile

        case = Case("", asked_checks(checks), user, assistant or "", lang=lang)
        return self._engine.verdict(case, TRAFFIC, profile and known_profile(profile))
