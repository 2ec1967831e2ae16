"""Fewer calls at a time while the other side refuses, more again when it does not; no chunk to wait for."""

import asyncio
import json

from running import config_for, judge, sample_cases
from server import JudgeServer, slow

from synthesis.judge.calls import Pacer, Patience


class CrowdedServer(JudgeServer):
    """Refuses whatever comes while as many calls as it takes are under way."""

    places = 3

    async def _answer(self, body, writer):
        if self.in_flight > self.places:
            self.refused = getattr(self, "refused", 0) + 1
            return await self._send(writer, 429, b'{"error": {"message": "too many"}}', "0")
        return await super()._answer(body, writer)


def test_a_run_gets_through_a_server_that_takes_few_calls_at_a_time(tmp_path):
    # On a busy machine the server's own delays grow, and with them the number of refusals before the pacer has settled.
    patient = Patience(attempts=20, first_wait=0.01)
    with CrowdedServer(delay=0.005) as server:
        result = judge(sample_cases(60), config_for(server, tmp_path, concurrency=24, patience=patient))
    assert result.complete
    assert server.refused > 0
    assert len(server.answered) == 60


def test_a_slow_sample_does_not_hold_up_the_others(tmp_path):
    with JudgeServer({"sample-0": [slow(1.5)]}) as server:
        result = judge(sample_cases(12), config_for(server, tmp_path, concurrency=2))
    journal = [json.loads(line) for line in (tmp_path / "run" / "journal.jsonl").read_text().splitlines()]
    order = [line["record"]["id"] for line in journal if line["t"] == "verdict"]
    assert result.complete
    assert order[-1] == "log-0"


def test_no_more_calls_are_under_way_than_allowed(tmp_path):
    with JudgeServer(delay=0.01) as server:
        judge(sample_cases(30), config_for(server, tmp_path, concurrency=4))
    assert server.most_in_flight == 4


def test_a_wave_of_refusals_halves_once_and_answers_earn_places_back():
    async def scenario():
        pacer = Pacer(8)
        for _ in range(8):
            await pacer.enter()
        for _ in range(8):
            pacer.slow_down(0.01)
            pacer.leave(answered=False)
        halved = pacer.allowed
        await pacer.enter()
        pacer.leave(answered=True)
        for _ in range(200):
            await pacer.enter()
            pacer.leave(answered=True)
        return halved, pacer.allowed

    assert asyncio.run(scenario()) == (4.0, 8)


def test_places_given_back_after_a_refusal_are_not_taken_again():
    async def scenario():
        pacer = Pacer(4)
        for _ in range(4):
            await pacer.enter()
        pacer.slow_down(0)
        for _ in range(4):
            pacer.leave(answered=False)
        entering = [asyncio.create_task(pacer.enter()) for _ in range(4)]
        await asyncio.sleep(0.1)
        entered = [task.done() for task in entering]
        for task in entering:
            task.cancel()
        return entered.count(True)

    assert asyncio.run(scenario()) == 2


def test_one_who_no_longer_waits_does_not_take_a_place_along():
    async def scenario():
        pacer = Pacer(1)
        await pacer.enter()
        waiting = [asyncio.create_task(pacer.enter()) for _ in range(3)]
        await asyncio.sleep(0)
        pacer.leave(answered=True)
        waiting[0].cancel()
        await asyncio.wait_for(waiting[1], 1)
        pacer.leave(answered=True)
        await asyncio.wait_for(waiting[2], 1)

    asyncio.run(scenario())
