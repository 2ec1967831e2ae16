"""What all routes of one process share: rules, evaluator, glossary, job queue, history, limits and counts."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, lru_cache
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, TypeVar

import msgspec
from starlette.requests import Request

from synthesis.checks.explained import Explanation
from synthesis.checks.registry import asked_checks
from synthesis.errors import NotInHistoryError
from synthesis.glossary import glossary_of
from synthesis.history import open_history
from synthesis.model import Case, CaseResult
from synthesis.report.findings import Glossary
from synthesis.rules.ruleset import RuleSet
from synthesis.run.evaluator import Evaluator, with_checks
from synthesis.server.http import Slots, in_thread
from synthesis.server.jobs import JobQueue, JobStore, JudgeJob, Upload
from synthesis.server.metrics import Metrics
from synthesis.server.rulebook import Rulebook, loaded_rules
from synthesis.server.security import ServerSettings
from synthesis.settings import LEARNED, TRAFFIC

if TYPE_CHECKING:
    from synthesis.history.store import History

T = TypeVar("T")
SHORT = 4_000  # characters; a longer text is evaluated in a thread, so that other requests do not wait for it
THREADS = 2  # the interpreter runs one at a time; the second keeps a query of the history from waiting for a long text


class HistoryHandle:
    """Opens the history on first use and keeps it open. Only saving creates one: looking at pages writes nothing."""

    def __init__(self, place: str | None) -> None:
        self._place = place
        self._lock = Lock()
        self._history: History | None = None

    def open(self, *, create: bool = False) -> "History":
        """The history; NotInHistoryError if there is none, MissingExtraError without the extra."""
        with self._lock:
            if self._history is None:
                self._history = open_history(self._place, create=create)
            return self._history

    def open_if_present(self) -> "History | None":
        try:
            return self.open()
        except NotInHistoryError:
            return None

    def close(self) -> None:
        if self._history is not None:
            self._history.close()


class ServerState:
    """One per process; routes get it by `server_state(request)`."""

    def __init__(self, settings: ServerSettings, metrics: Metrics) -> None:
        self.settings = settings
        self.metrics = metrics
        self.slots = Slots(settings.concurrency, "evaluations")
        self.followers = Slots(settings.concurrency, "clients following a job")
        self.threads = ThreadPoolExecutor(THREADS, "evaluation")
        self.jobs = JobQueue(settings.jobs)
        self.history = HistoryHandle(settings.history)

    @cached_property
    def rules(self) -> RuleSet:
        return self.rules_for(self.settings.reader)

    def rules_for(self, reader: str) -> RuleSet:
        """The rules of this server with the reader that a run names."""
        return loaded_rules(self.settings.folders, self.settings.disabled, reader)

    @cached_property
    def evaluator(self) -> Evaluator:
        return Evaluator(self.rules, profile=TRAFFIC, keep_text=False)

    @cached_property
    def glossary(self) -> Glossary:
        return glossary_of(self.rules_for(LEARNED))  # saved runs of another reader are shown, too

    @cached_property
    def rulebook(self) -> Rulebook:
        return Rulebook(self.rules)

    @cached_property
    def is_ready(self) -> bool:
        """Loads the rules. The first evaluation in a language is slow, so English has its first one here."""
        self.evaluate(Case("", asked_checks(), "I feel awful.", "That sounds hard."))
        return True

    async def verdict(self, case: Case) -> CaseResult:
        """The result of one case; 429 if the server is busy, 408 if it takes too long."""
        with self.slots.one():
            return await self.result(case)

    async def result(self, case: Case) -> CaseResult:
        """The same for a caller that holds a slot already."""
        if len(case.user) + len(case.assistant) + sum(len(turn.content) for turn in case.messages) <= SHORT:
            result = self.evaluate(case)
        else:
            result = await self.in_thread(lambda: self.evaluate(case))
        self.metrics.count_case(result.outcome)
        return result

    def evaluate(self, case: Case) -> CaseResult:
        """The result of one case.

        The evaluator prepares its patterns once per set of checks, and clients could ask for any set. So it runs all,
        and the checks that were not asked for are dropped.
        """
        asked, known = case.checks, known_checks()
        result = self.evaluator.evaluate([msgspec.structs.replace(case, checks=known)])[0]
        return result if asked == known else with_checks(result, asked)

    def explain(
        self, case: Case, profile: str = TRAFFIC, reader: str | None = None
    ) -> dict[str, tuple[Explanation, ...]]:
        """The steps by which each check decided; only for the rules of this server."""
        rules = self.rules if reader is None else self.rules_for(reader)
        own = profile == self.evaluator.profile and rules is self.rules
        return (self.evaluator if own else Evaluator(rules, profile=profile)).explain(case)

    @cached_property
    def uploads(self) -> JobStore[Upload]:
        return JobStore(Path(self.settings.folder), Upload)

    @cached_property
    def judged(self) -> JobStore[JudgeJob]:
        return JobStore(Path(self.settings.folder), JudgeJob)

    async def in_thread(self, work: "Callable[[], T]") -> T:
        """Run work that would block the event loop; 408 if it takes too long."""
        return await in_thread(self.threads, self.settings.timeout, work)

    async def from_history(self, ask: "Callable[[History], T]") -> T:
        """Ask the history in a thread; 404 if there is none."""
        return await self.in_thread(lambda: ask(self.history.open()))

    async def from_history_if_any(self, ask: "Callable[[History], T]") -> T | None:
        """Ask the history in a thread; None if nothing has been saved yet."""

        def look() -> T | None:
            history = self.history.open_if_present()
            return ask(history) if history else None

        return await self.in_thread(look)

    def close(self) -> None:
        self.jobs.close()
        self.history.close()
        self.threads.shutdown(wait=False, cancel_futures=True)


def server_state(request: Request) -> ServerState:
    found: ServerState = request.app.state.server
    return found


@lru_cache(maxsize=256)
def known_checks(names: tuple[str, ...] = ()) -> tuple[str, ...]:
    """The checks of these names, each once; all if none is named. A server knows the same ones as long as it runs."""
    return asked_checks(names)
