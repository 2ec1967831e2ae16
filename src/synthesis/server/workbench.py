"""What all routes share: the rules in force, the kernel, the words for what it finds, limits and counts."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import msgspec
from starlette.requests import Request

from synthesis.checks.registry import checks, get_check
from synthesis.glossary import glossary_of
from synthesis.model import Case, CaseResult, case_outcome
from synthesis.model.result import merged_findings
from synthesis.report.glossary import Glossary
from synthesis.rules.ruleset import RuleSet
from synthesis.runner.kernel import Kernel
from synthesis.server.jobs import JobQueue, JobStore
from synthesis.server.judging.store import JudgeFolder
from synthesis.server.judging.work import work as work_on_judging
from synthesis.server.limits import Slots, in_thread
from synthesis.server.loading import loaded_rules
from synthesis.server.metrics import Metrics
from synthesis.server.rulebook import Rulebook
from synthesis.server.settings import ServerSettings
from synthesis.server.shelf import Shelf
from synthesis.server.uploads.store import UploadFolder
from synthesis.server.uploads.work import work as work_on_uploads

if TYPE_CHECKING:
    from synthesis.history.store import History

T = TypeVar("T")
THREE = ("agency_language", "unverifiable_reassurance", "topic_pivot")
SHORT = 4_000  # characters; what is longer is evaluated beside other requests
THREADS = 2


class Workbench:
    """One per process, at `request.app.state.workbench`."""

    def __init__(self, settings: ServerSettings, metrics: Metrics) -> None:
        self.settings = settings
        self.metrics = metrics
        self.slots = Slots(settings.concurrency, "evaluations")
        self.followers = Slots(settings.concurrency, "followers of uploads")
        self.threads = ThreadPoolExecutor(THREADS, "evaluation")
        self.uploads = JobQueue(settings.uploads, "uploaded files that wait or are worked on", work_on_uploads)
        self.judging = JobQueue(settings.uploads, "judged runs that wait or are worked on", work_on_judging)
        self.shelf = Shelf(settings.history)

    @cached_property
    def rules(self) -> RuleSet:
        return loaded_rules(self.settings.folders, self.settings.disabled)

    @cached_property
    def kernel(self) -> Kernel:
        return Kernel(self.rules, keep_text=False)

    @cached_property
    def glossary(self) -> Glossary:
        return glossary_of(self.rules)

    @cached_property
    def rulebook(self) -> Rulebook:
        return Rulebook(self.rules)

    @cached_property
    def is_ready(self) -> bool:
        """Whether the rules are read; the first evaluation in a language is slow, so it is done here for English."""
        for asked in (THREE, tuple(checks())):
            self.evaluate(Case("", asked, "I feel awful.", "That sounds hard."))
        return True

    async def verdict(self, case: Case) -> CaseResult:
        """The result of one case; 429 or 408 where it cannot be had."""
        with self.slots.one():
            return await self.result(case)

    async def result(self, case: Case) -> CaseResult:
        """The same for whoever has a place already."""
        if len(case.user) + len(case.assistant) + sum(len(turn.content) for turn in case.messages) <= SHORT:
            result = self.evaluate(case)
        else:
            result = await in_thread(self.threads, self.settings.timeout, lambda: self.evaluate(case))
        self.metrics.count_case(result.outcome)
        return result

    def evaluate(self, case: Case) -> CaseResult:
        """The kernel's result. It prepares anew for each set of checks, so it is asked for one of two sets only."""
        asked = case.checks
        known = THREE if set(asked) <= set(THREE) else tuple(checks())
        result = self.kernel.evaluate([msgspec.structs.replace(case, checks=known)])[0]
        return result if asked == known else _only(result, asked)

    @cached_property
    def upload_store(self) -> JobStore[UploadFolder]:
        return JobStore(Path(self.settings.folder), UploadFolder)

    @cached_property
    def judge_store(self) -> JobStore[JudgeFolder]:
        return JobStore(Path(self.settings.folder), JudgeFolder)

    async def from_history(self, ask: "Callable[[History], T]") -> T:
        """What the history answers, asked beside other requests; 404 while there is none."""
        return await in_thread(self.threads, self.settings.timeout, lambda: ask(self.shelf.opened()))

    def close(self) -> None:
        self.uploads.close()
        self.judging.close()
        self.shelf.close()
        self.threads.shutdown(wait=False, cancel_futures=True)


def workbench_of(request: Request) -> Workbench:
    found: Workbench = request.app.state.workbench
    return found


def known_checks(names: Sequence[str]) -> tuple[str, ...]:
    """The checks of these names, each once; all three of the default where none is named."""
    return tuple(dict.fromkeys(get_check(name).name for name in names)) or THREE


def _only(result: CaseResult, names: Sequence[str]) -> CaseResult:
    """A result as if only these checks had been asked for."""
    kept = {name: result.checks[name] for name in names}
    return msgspec.structs.replace(
        result,
        checks=kept,
        outcome=case_outcome(kept),
        findings=merged_findings(kept.values()),
        label_comparison={name: label for name, label in result.label_comparison.items() if name in kept},
    )
