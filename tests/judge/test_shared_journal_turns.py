"""Orders that meet at the database: a lock holds one back until the other is through."""

import asyncio
from contextlib import asynccontextmanager
from uuid import uuid4

import psycopg
import pytest
from postgres import shared_server

from synthesis.judge.calls import CallContext, Calls
from synthesis.judge.journal.base import Work
from synthesis.judge.journal.lines import FORMAT, CallLine, Identity, Price, RunLine, SetLine, now
from synthesis.judge.journal.reading import JournalReader
from synthesis.judge.journal.shared import SharedJournal, SharedPlace
from synthesis.judge.journal.shared.exchange import (
    ExchangeRequest,
    PendingLine,
    Registration,
    Transaction,
    read_lines,
    rows_of,
)
from synthesis.judge.limits import Budget, NoFurtherCallError, Pacer
from synthesis.judge.model import TokenUsage
from synthesis.judge.rubric import load_rubric

PRICE = Price(1.0, 1.0, "test")
RUN = RunLine(FORMAT, now(), "run", Identity("openai", "m", None, "rag"), 1, PRICE, load_rubric("rag"))
SET = SetLine(now(), tuple((f"log-{n}", "print") for n in range(4)))
WORST = TokenUsage("m", 600, 0)


@asynccontextmanager
async def opened(folder, listener=lambda _: None):
    """A process's journal with its samples, and a connection that can hold it up."""
    url = shared_server().new_database()
    journal = SharedJournal(folder / "run", SharedPlace(url))
    await journal.open(lambda _: [RUN, SET])
    journal.enlist([Work(1, sample) for sample in journal.ledger.samples], listener)
    with psycopg.connect(url, autocommit=True) as gate:
        yield journal, gate
    await journal.end()
    journal.close()


async def held_up(gate):
    """Return when another session waits for a lock."""
    query = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
    while gate.execute(query).fetchone() == (0,):
        await asyncio.sleep(0.01)


def test_who_asks_while_an_answer_is_on_its_way_is_not_sent_home(tmp_path):
    async def ask():
        async with opened(tmp_path) as (journal, gate):
            with gate.transaction():
                gate.execute("SELECT FROM synthesis_judge.run FOR UPDATE")
                early = asyncio.create_task(journal.take())
                await held_up(gate)
                late = asyncio.create_task(journal.take())
                await asyncio.sleep(0)
            return [await early, await late]

    assert [work.sample.query_log_id for work in asyncio.run(ask())] == ["log-0", "log-1"]


def test_who_waits_for_others_is_let_go_when_the_run_stops(tmp_path):
    async def wait():
        async with opened(tmp_path) as (journal, gate):
            with gate.transaction():
                other_takes(gate, journal.ledger, 4)
            waiting = asyncio.create_task(journal.take())
            await asyncio.sleep(0.5)
            assert not waiting.done()
            journal.halt()
            return await asyncio.wait_for(waiting, 10), await journal.take()

    assert asyncio.run(wait()) == (None, None)


@pytest.mark.parametrize(("cap", "is_sent"), [(0.0015, True), (0.0010, False)])
def test_a_call_is_withdrawn_when_another_process_was_quicker_to_take_the_room(tmp_path, cap, is_sent):
    async def call():
        budget = Budget(cap, PRICE, 0.0)
        hear = lambda lines: [budget.begun_elsewhere(line.n, WORST) for line in lines]  # noqa: E731
        async with opened(tmp_path, hear) as (journal, gate):
            calls = Calls(CallContext(journal, budget, Pacer(1)), await journal.take())
            with gate.transaction():
                begun = asyncio.create_task(calls.begin(WORST).__aenter__())
                other_begins(gate, journal.ledger)
                await held_up(gate)
            try:
                await begun
            except NoFurtherCallError:
                return False, journal.ledger
            return True, journal.ledger

    sent, ledger = asyncio.run(call())
    assert sent is is_sent
    work = ledger.iteration(1)
    assert [call.begun.n for call in work.calls.values()] == [1, 2]
    assert [call.usage for call in work.calls.values()] == [None, None if is_sent else ()]


def other_begins(connection, ledger):
    """Another process sends a call, in the transaction that is open."""
    other, [work] = other_takes(connection, ledger, 1)
    line = CallLine(0, 1, work.sample.hash, "print", now(), (WORST.input_tokens, WORST.output_tokens))
    entries = (PendingLine(line, work.token),)
    request = ExchangeRequest(2, 2, reader_of(connection, other.run), entries, held=frozenset([work.token]))
    Transaction(connection, other, request).run()


def other_takes(connection, ledger, count):
    """Another process takes samples."""
    run = connection.execute("SELECT id FROM synthesis_judge.run").fetchone()[0]
    other = Registration(uuid4(), "other", run, 60.0, "here")
    unjudged = {(1, sample.hash): Work(1, sample) for sample in ledger.samples}
    request = ExchangeRequest(1, 2, reader_of(connection, run), wanted=count, unjudged=unjudged)
    return other, Transaction(connection, other, request).run().granted


def reader_of(connection, run):
    """What the other process has read: judge and set."""
    reader = JournalReader("here")
    for row in rows_of(read_lines(connection, run, 0, None)):
        reader.read(row.raw, row.number)
    return reader
