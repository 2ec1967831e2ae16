"""A scripted judge that speaks the OpenAI chat protocol over real HTTP on loopback.

A sample is recognised by a word like `sample-7` in its question. Faults are keyed by sample and attempt:
`{"sample-7": [status(429, retry_after="0"), drop()]}` answers the first call with 429, cuts the second and
judges the third. What each sample gets otherwise follows from its number alone.
"""

import asyncio
import json
import re
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from campaign.judge_server import SAMPLE, scores_of
from campaign.loopback import LoopbackServer

Fault = dict[str, Any]


def status(code: int, *, retry_after: str | None = None, body: str = '{"error": {"message": "no"}}') -> Fault:
    return {"status": code, "retry_after": retry_after, "body": body}


def drop() -> Fault:
    return {"drop": True}


def slow(seconds: float) -> Fault:
    return {"delay": seconds}


def held() -> Fault:
    """Answers once the test opens the server's gate."""
    return {"held": True}


def says(content: str, *, finish_reason: str = "stop") -> Fault:
    return {"content": content, "finish_reason": finish_reason}


def cut_body() -> Fault:
    """Announces a whole reply and sends half of it."""
    return {"cut": True}


def tokens_of(sample: str) -> tuple[int, int]:
    number = int(sample.rpartition("-")[2])
    return 400 + number, 50 + number % 9


def good_content(sample: str, axes: Sequence[str] = ("faithfulness", "completeness")) -> str:
    scores = dict(zip(axes, scores_of(sample), strict=False))
    return json.dumps({axis: {"reasoning": f"{axis} of {sample}", "score": scores.get(axis, 4)} for axis in axes})


class JudgeServer(LoopbackServer):
    """Runs in a thread of its own: `with JudgeServer() as server: ... server.url`."""

    def __init__(self, script: Mapping[str, Sequence[Fault]] | None = None, *, delay: float = 0.0) -> None:
        super().__init__()
        self.script = dict(script or {})
        self.delay = delay
        self.calls: list[str] = []
        self.answered: list[str] = []
        self.bodies: list[dict[str, Any]] = []
        self.heads: list[str] = []
        self.keys: set[str] = set()
        self.in_flight = 0
        self.most_in_flight = 0
        self.gate = threading.Event()
        self._attempts: Counter[str] = Counter()

    def __exit__(self, *_: object) -> None:
        self.gate.set()
        super().__exit__()

    async def exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        length = int(re.search(r"content-length: (\d+)", head, re.IGNORECASE)[1])  # type: ignore[index]
        body = json.loads(await reader.readexactly(length))
        self.heads.append(head)
        self.keys.update(re.findall(r"authorization: Bearer (.+)\r", head, re.IGNORECASE))
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            return await self._answer(body, writer)
        finally:
            self.in_flight -= 1

    async def _answer(self, body: dict[str, Any], writer: asyncio.StreamWriter) -> bool:
        sample = SAMPLE.search(json.dumps(body["messages"]))[0]  # type: ignore[index]
        self.calls.append(sample)
        self.bodies.append(body)
        faults = self.script.get(sample, ())
        attempt = self._attempts[sample]
        self._attempts[sample] += 1
        fault = faults[attempt] if attempt < len(faults) else {}
        await asyncio.sleep(fault.get("delay", self.delay))
        while fault.get("held") and not self.gate.is_set():
            await asyncio.sleep(0.01)
        if fault.get("drop"):
            return False
        if "status" in fault:
            return await self._send(writer, fault["status"], fault["body"].encode(), fault["retry_after"])
        reply = completion(body, sample, fault)
        if fault.get("cut"):
            writer.write(_head(200, len(reply), None) + reply[: len(reply) // 2])
            return False
        self.answered.append(sample)
        return await self._send(writer, 200, reply, None)

    async def _send(self, writer: asyncio.StreamWriter, code: int, body: bytes, retry_after: str | None) -> bool:
        writer.write(_head(code, len(body), retry_after) + body)
        await writer.drain()
        return True


def _head(code: int, length: int, retry_after: str | None) -> bytes:
    wait = f"retry-after: {retry_after}\r\n" if retry_after is not None else ""
    fixed = f"HTTP/1.1 {code} scripted\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n"
    return f"{fixed}{wait}\r\n".encode()


def completion(body: dict[str, Any], sample: str, fault: Fault) -> bytes:
    """A chat completion whose message is the verdict, as a tool call where one was offered."""
    content = fault.get("content", good_content(sample))
    message: dict[str, Any] = {"role": "assistant", "content": content}
    if body.get("tools") and "content" not in fault:
        function = {"name": body["tools"][0]["function"]["name"], "arguments": content}
        message = {"role": "assistant", "content": None}
        message["tool_calls"] = [{"id": "call-1", "type": "function", "function": function}]
    input_tokens, output_tokens = tokens_of(sample)
    return json.dumps(
        {
            "id": f"reply-{sample}",
            "object": "chat.completion",
            "created": 1,
            "model": body["model"],
            "choices": [{"index": 0, "message": message, "finish_reason": fault.get("finish_reason", "stop")}],
            "usage": {
                "prompt_tokens": input_tokens,
                "completion_tokens": output_tokens,
                "total_tokens": input_tokens + output_tokens,
            },
        }
    ).encode()
