"""A judge on loopback misbehaves in forty ways: each ends as documented, and the samples beside it are judged."""

import asyncio
import json
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from campaign import judged_runs
from campaign.judge_server import Act, Answer, JudgeServer, head, scores_of
from campaign.lab import JUDGE, Lab
from campaign.tally import Attempt, Budget, Kind, Setting, expect

VERDICT, ERROR, STOP = "verdict", "error", "stop"
VICTIM = "sample-1"
SAMPLES = 3
TRIES = 5  # calls that a sample gets


class Fault(NamedTuple):
    """How the judge misbehaves; how the sample ends if it always does, and if it does so once."""

    name: str
    act: Act
    always: str = ERROR
    once: str = VERDICT


def _status(code: int, *headers: str, body: str = '{"error": {"message": "no"}}') -> Act:
    async def act(answer: Answer) -> bool:
        return await answer.send(body.encode(), code, *headers)

    return act


def _body(change: Callable[[bytes], bytes]) -> Act:
    """The response body changed as a whole."""

    async def act(answer: Answer) -> bool:
        return await answer.send(change(answer.completion(answer.verdict)))

    return act


def _text(change: Callable[[str], str]) -> Act:
    """The message of the judge changed, in a response that is sound."""

    async def act(answer: Answer) -> bool:
        return await answer.send(answer.completion(change(answer.verdict)))

    return act


def _raw(content: bytes) -> Act:
    async def act(answer: Answer) -> bool:
        return await answer.raw(content, stay=False)

    return act


def _part(share: float, *, pause: float = 0.0) -> Act:
    """Announces a whole response and sends part of it."""

    async def act(answer: Answer) -> bool:
        body = answer.completion(answer.verdict)
        await answer.raw(head(200, len(body)) + body[: int(len(body) * share)])
        await asyncio.sleep(pause)
        return False

    return act


async def _late(answer: Answer) -> bool:
    await asyncio.sleep(8)
    return await answer.send(answer.completion(answer.verdict))


async def _chunked(answer: Answer) -> bool:
    start = b"HTTP/1.1 200 ok\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n"
    return await answer.raw(start + b"zz\r\nnot a chunk\r\n", stay=False)


def _field(path: tuple[str | int, ...], value: object) -> Act:
    """One field of the completion replaced."""

    def change(body: bytes) -> bytes:
        whole = json.loads(body)
        inner = whole
        for step in path[:-1]:
            inner = inner[step]
        inner[path[-1]] = value
        return json.dumps(whole).encode()

    return _body(change)


def _scores(value: object) -> Callable[[str], str]:
    def change(text: str) -> str:
        verdict = json.loads(text)
        verdict["faithfulness"]["score"] = value
        return json.dumps(verdict)

    return change


def _reasoning(words: str) -> Callable[[str], str]:
    return lambda text: text.replace("faithfulness of", words + " faithfulness of")


FAULTS = [
    *(Fault(f"HTTP {code}", _status(code)) for code in (408, 409, 425, 429, 500, 502, 503, 504)),
    *(Fault(f"HTTP {code}", _status(code), ERROR, ERROR) for code in (400, 413, 422)),
    *(Fault(f"HTTP {code}", _status(code), STOP, STOP) for code in (401, 404)),
    Fault("429, retry at once", _status(429, "retry-after: 0")),
    Fault("429, retry in a day", _status(429, "retry-after: 86400"), ERROR, ERROR),
    Fault("503, retry-after is not a number", _status(503, "retry-after: soon")),
    Fault("500 with markup", _status(500, body="<html>oops</html>")),
    Fault("500 with bytes that are not text", _raw(head(500, 4) + b"\xff\xfe\x00\x80")),
    Fault("connection closed", _raw(b"")),
    Fault("not HTTP", _raw(b"SSH-2.0-OpenSSH\r\n\r\n")),
    Fault("half a status line", _raw(b"HTTP/1.1 20")),
    Fault("half a body", _part(0.5)),
    Fault("half a body, then silence", _part(0.5, pause=8)),
    Fault("headers, then silence", _part(0.0, pause=8)),
    Fault("a broken chunk", _chunked),
    Fault("a late reply", _late),
    Fault("an empty body", _body(lambda _: b"")),
    Fault("a body that is not JSON", _body(lambda _: b"I am a teapot")),
    Fault("a body that is not UTF-8", _body(lambda body: body.replace(b"faithfulness of", b"\xff\xfe\xfd"))),
    Fault("a body of null", _body(lambda _: b"null")),
    Fault("no choices", _field(("choices",), [])),
    Fault("no content", _field(("choices", 0, "message", "content"), None)),
    Fault("prose", _text(lambda _: "I would rather not say.")),
    Fault("half a verdict", _text(lambda text: text[: len(text) // 2])),
    Fault("a verdict nested 5,000 deep", _text(lambda text: '{"a":' * 5000 + text + "}" * 5000)),
    *(Fault(f"a score of {value!r}", _text(_scores(value))) for value in (0, 6, 3.5, -1, 10**400, None, [4], True)),
    Fault("an axis is missing", _text(lambda text: json.dumps({"faithfulness": json.loads(text)["faithfulness"]}))),
    Fault("two verdicts that differ", _text(lambda text: text + _scores(5)(text) + _scores(2)(text))),
    Fault("a fenced verdict", _text(lambda text: f"```json\n{text}\n```"), VERDICT),
    Fault(
        "a score as text", _text(lambda text: text.replace('"score": ', '"score": "', 1).replace("}", '"}', 1)), VERDICT
    ),
    Fault("a lone surrogate in the reasoning", _text(_reasoning("\\ud800")), VERDICT),
    Fault("a lone surrogate in the body", _body(lambda body: body.replace(b"faithfulness of", b"\\udfff")), VERDICT),
    Fault("NUL in the reasoning", _text(_reasoning("\\u0000")), VERDICT),
    Fault("escapes in the reasoning", _text(_reasoning("\\u001b[2J\\u202e")), VERDICT),
    Fault("a reasoning of 2 MB", _text(_reasoning("word " * 400_000)), VERDICT),
]


@contextmanager
def prepare(setting: Setting) -> Iterator[Attempt]:
    test_set = judged_runs.write_set(setting.folder / "set.json", SAMPLES)
    with Lab.opened(*JUDGE) as lab:

        def attempt(chance: random.Random, number: int, folder: Path) -> None:  # noqa: ARG001
            fault, always = FAULTS[number // 2 % len(FAULTS)], bool(number % 2)
            ends = fault.always if always else fault.once
            with JudgeServer({VICTIM: [fault.act] * (TRIES if always else 1)}) as server:
                # One at a time, so that a judge that stops the run has judged the sample before.
                options = ["--concurrency", 1, "--timeout", 1.5]
                ended = lab.start(folder, *judged_runs.command(server, test_set, *options)).wait()
            name = f"{fault.name}, {'always' if always else 'once'}"
            wanted = 0 if ends == VERDICT else 3
            expect(ended.code == wanted, f"{name}: ends with {ended.code}, not {wanted}: {ended.text[-200:]!r}")
            judged = {"sample-0", *([VICTIM] if ends == VERDICT else []), *(["sample-2"] if ends != STOP else [])}
            _expect_verdicts(name, folder / "run", judged)

        yield attempt


def _expect_verdicts(name: str, folder: Path, samples: set[str]) -> None:
    records = json.loads((folder / "records" / "records-iteration-1.json").read_text())
    found = {record["question"].split()[-1].rstrip("?"): record["judgeVerdict"] for record in records}
    expect(set(found) == samples, f"{name}: {sorted(found)} have a verdict, not {sorted(samples)}")
    for sample, verdict in found.items():
        scores = (verdict["faithfulness"]["score"], verdict["completeness"]["score"])
        expect(scores == scores_of(sample), f"{name}: {sample} has other scores than the judge gave")


KIND = Kind(
    "judge-faults",
    f"{len(FAULTS)} kinds of faults of a judge on loopback, each once and always",
    prepare,
    quick=Budget(2 * len(FAULTS), 170),
    full=Budget(4 * len(FAULTS), 1200),
)
