"""The workers of a run: each takes the next sample as soon as it is free, and stores it before the next one."""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence

from synthesis.errors import JudgeError, OutputError, SynthesisError, shorten
from synthesis.judge.calls import CallContext, Calls, RunStopError
from synthesis.judge.clients import Judge
from synthesis.judge.config import EvaluationConfig, Progress
from synthesis.judge.journal.ledger import Work
from synthesis.judge.journal.lines import ErrorLine, VerdictLine, now
from synthesis.judge.journal.progress import JournalFlusher
from synthesis.judge.limits import NoFurtherCallError
from synthesis.judge.model import Rubric, TestCase
from synthesis.judge.records import make_record, verdict_without_judge

INTERRUPTED = "interrupted"
REASON_WIDTH = 300


class Workers:
    """Judges a list of work with a number of calls at a time."""

    def __init__(
        self,
        judge: Judge,
        cases: Sequence[TestCase],
        rubric: Rubric,
        context: CallContext,
        config: EvaluationConfig,
        observer: Callable[[Progress], None] | None,
    ) -> None:
        self._judge = judge
        self._cases = cases
        self._rubric = rubric
        self._context = context
        self._config = config
        self._observer = observer
        self._stopped: str | None = None
        self._stored_before = 0
        self._flusher = JournalFlusher(context.journal, config.concurrency, self._report)
        self._total = config.iterations * len(cases)
        self._done = 0
        self._failed = 0
        self._queue: deque[Work] = deque()

    async def run(self, work: Sequence[Work]) -> str | None:
        """Judge all of it; returns why it stopped early, if it did."""
        self._stored_before = self._done = self._total - len(work)
        self._report()
        self._queue.extend(work)
        # At least one: asyncio does not wait for an empty list.
        size = max(1, min(self._config.concurrency, len(work)))
        tasks = [asyncio.create_task(self._worker()) for _ in range(size)]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
        except asyncio.CancelledError:
            self._stop(INTERRUPTED)
            self._report()
            # Calls under way are paid for. Workers without one have been woken up, and end now.
            await asyncio.wait(tasks, timeout=self._config.grace)
            raise
        finally:
            await self._end_workers(tasks)
        return self._stopped

    async def _end_workers(self, tasks: Sequence[asyncio.Task[None]]) -> None:
        """End all workers; an error that a worker could not handle is raised."""
        for worker in tasks:
            worker.cancel()
        outcomes = await asyncio.gather(*tasks, return_exceptions=True)
        await self._flusher.drain()
        for outcome in outcomes:
            if isinstance(outcome, Exception):
                raise outcome

    async def _worker(self) -> None:
        while self._queue and self._stopped is None:
            work = self._queue.popleft()
            await self._judge_one(work, self._cases[work.sample.position])

    async def _judge_one(self, work: Work, case: TestCase) -> None:
        """A sample ends with a verdict or with the reason for having none; both are stored."""
        calls = Calls(self._context, work)
        try:
            verdict = verdict_without_judge(case, self._rubric) or await self._judge.judge(case, calls)
            record = make_record(case, verdict, self._rubric)
        except NoFurtherCallError as error:
            self._stop(error.message)
            return
        except OutputError:
            raise  # the journal cannot be written, so no outcome could be stored
        except Exception as error:
            await self._store(work, self._error_line(work, case, error))
        else:
            sample = work.sample
            line = VerdictLine(work.iteration, sample.hash, sample.fingerprint, now(), calls.last, record)
            await self._store(work, line)

    async def _store(self, work: Work, line: VerdictLine | ErrorLine) -> None:
        self._context.journal.store(line)
        if isinstance(line, VerdictLine):
            self._done += 1
        else:
            self._failed += 1
        await self._flusher.add(work)

    def _error_line(self, work: Work, case: TestCase, error: Exception) -> ErrorLine:
        reason = error.message if isinstance(error, SynthesisError) else f"{type(error).__name__}: {error}"
        if isinstance(error, RunStopError):
            self._stop(reason)
        sample = work.sample
        return ErrorLine(
            work.iteration,
            sample.hash,
            sample.fingerprint,
            now(),
            case.query_log_id,
            case.question,
            shorten(reason, REASON_WIDTH),
            error.kind if isinstance(error, JudgeError) else None,
        )

    def _stop(self, reason: str) -> None:
        """Begin no further sample and send no further call."""
        self._stopped = self._stopped or reason
        self._context.close()

    def _report(self) -> None:
        if self._observer is not None:
            self._observer(
                Progress(
                    self._total,
                    self._done,
                    self._failed,
                    self._stored_before,
                    self._context.budget.known_spending(),
                    self._context.under_way,
                    self._stopped == INTERRUPTED,
                )
            )
