"""A judge on loopback that speaks the OpenAI chat protocol, and misbehaves as it is told.

A sample is recognised by a word like `sample-7` in its question; its scores and tokens follow from its number alone,
so two runs over the same samples end with the same files. A fault is a function that answers in place of the judge.
"""

import asyncio
import json
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from campaign.loopback import LoopbackServer

SAMPLE = re.compile(r"sample-\d+")


@dataclass(frozen=True)
class Answer:
    """What a fault works with: the reply that the judge would have given, and where to write."""

    verdict: str  # the text of the message
    completion: Callable[[str], bytes]  # the body around a text
    writer: asyncio.StreamWriter

    async def send(self, body: bytes, code: int = 200, *headers: str) -> bool:
        """A whole HTTP response; the connection stays open."""
        return await self.raw(head(code, len(body), *headers) + body)

    async def raw(self, content: bytes, *, stay: bool = True) -> bool:
        self.writer.write(content)
        await self.writer.drain()
        return stay


Act = Callable[[Answer], Awaitable[bool]]  # whether the connection stays open


class JudgeServer(LoopbackServer):
    """In a thread of its own: `with JudgeServer() as server: ... server.url`. A fault per call, then the judge."""

    def __init__(self, faults: Mapping[str, Sequence[Act]] | None = None, *, delay: float = 0.0) -> None:
        super().__init__()
        self.faults = dict(faults or {})
        self.delay = delay
        self.calls: list[str] = []
        self._attempts: Counter[str] = Counter()

    async def exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        request = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        length = re.search(r"content-length: (\d+)", request, re.IGNORECASE)
        body = json.loads(await reader.readexactly(int(length[1]) if length else 0))
        found = SAMPLE.search(json.dumps(body["messages"]))
        sample = found[0] if found else "sample-0"
        self.calls.append(sample)
        faults, attempt = self.faults.get(sample, ()), self._attempts[sample]
        self._attempts[sample] += 1
        answer = Answer(verdict_of(sample), lambda text: completion(sample, body["model"], text), writer)
        if attempt < len(faults):
            return await faults[attempt](answer)
        await asyncio.sleep(self.delay)
        return await answer.send(answer.completion(answer.verdict))


def scores_of(sample: str) -> tuple[int, int]:
    number = int(sample.rpartition("-")[2])
    return 1 + number * 7 % 5, 1 + (number * 3 + number // 3) % 5


def verdict_of(sample: str) -> str:
    axes = zip(("faithfulness", "completeness"), scores_of(sample), strict=True)
    return json.dumps({axis: {"reasoning": f"{axis} of {sample}", "score": score} for axis, score in axes})


def head(code: int, length: int, *headers: str) -> bytes:
    lines = [f"HTTP/1.1 {code} scripted", "content-type: application/json", f"content-length: {length}", *headers]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def completion(sample: str, model: str, text: str, **changes: Any) -> bytes:
    """A chat completion around a text."""
    number = int(sample.rpartition("-")[2])
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 400 + number, "completion_tokens": 50, "total_tokens": 450 + number}
    fixed = {"id": f"reply-{sample}", "object": "chat.completion", "created": 1, "model": model}
    return json.dumps({**fixed, "choices": [choice], "usage": usage, **changes}).encode()
