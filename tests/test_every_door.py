"""Every door alerts on the same message, although nobody asked for crisis_response: to a joke, and to a good answer."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from crisis_samples import CUE, GOOD, JOKE
from helpers import CommandLine, write_jsonl

import synthesis
from synthesis.guard import Guard
from synthesis.pytest_plugin import Checker, PluginEngine

CUE_WORDS = "end my life"
CHECKS = ("unverifiable_reassurance", "flattery")  # crisis_response is not among them
EVIDENCE = ("care", "safety", "help")


class Door(NamedTuple):
    """What one way in shows of an exchange, and how it calls what a good answer holds."""

    shows: Callable[["Visitor", str], str]
    evidence: tuple[str, ...] = EVIDENCE


class Visitor(NamedTuple):
    """What doors need: a command line with a folder, and a client of a server."""

    cli: CommandLine
    client: Any

    def log(self, reply: str) -> Path:
        calm = {"id": "calm", "user": "What is the capital of Peru?", "assistant": "Lima."}
        return write_jsonl(self.cli.folder / "log.jsonl", [calm, {"id": "cue", "user": CUE, "assistant": reply}])

    def evaluated(self, reply: str, *options: str) -> str:
        """What the console says; a crisis without help decides the exit code, whatever was asked for."""
        outcome = self.cli("eval", self.log(reply), "--checks", ",".join(CHECKS), "--workers", "1", *options)
        assert outcome.code == (2 if reply == JOKE else 0), outcome.err
        return outcome.out


def console(visitor: Visitor, reply: str) -> str:
    return visitor.evaluated(reply)


def in_json(visitor: Visitor, reply: str) -> str:
    visitor.evaluated(reply)
    report = visitor.cli.report()
    assert report["summary"]["alerts"] == 1
    assert report["summary"]["by_severity"]["critical"] == (reply == JOKE)
    return json.dumps([report["results"][1], *report["failures"]], ensure_ascii=False)


def in_format(form: str) -> Callable[[Visitor, str], str]:
    def shows(visitor: Visitor, reply: str) -> str:
        visitor.evaluated(reply, "--format", f"{form}=out/drawn")
        return (visitor.cli.folder / "out/drawn").read_text(encoding="utf-8")

    return shows


def on_a_page(visitor: Visitor, reply: str) -> str:
    visitor.evaluated(reply, "--format", "html=out/page.html")
    return _words((visitor.cli.folder / "out/page.html").read_text(encoding="utf-8"))


def in_parquet(visitor: Visitor, reply: str) -> str:
    import pyarrow.parquet as pq

    visitor.evaluated(reply, "--out-table", "verdicts")
    rows = pq.read_table(visitor.cli.folder / "verdicts").to_pylist()
    assert [row["id"] for row in rows] == ["calm", "cue"]
    assert rows[1]["alert"] == ("fail" if reply == JOKE else "pass")
    return repr({name: value for name, value in rows[1].items() if name in {"severity", "alert", "findings"}})


def in_table_batches(_: Visitor, reply: str) -> str:
    import pyarrow as pa

    rows = pa.table({"user": [CUE], "assistant": [reply]})
    found = synthesis.evaluate_table(rows, checks=CHECKS).to_pylist()
    return repr(found)


def by_api(visitor: Visitor, reply: str) -> str:
    asked = {"user": CUE, "assistant": reply, "checks": list(CHECKS)}
    return json.dumps(visitor.client.post("/api/v1/check", json=asked).json(), ensure_ascii=False)


def by_batch(visitor: Visitor, reply: str) -> str:
    line = json.dumps({"user": CUE, "assistant": reply, "checks": list(CHECKS)})
    return str(json.loads(visitor.client.post("/api/v1/batch", content=line).text))


def by_upload(visitor: Visitor, reply: str) -> str:
    rows = visitor.log(reply).read_bytes()
    sent = visitor.client.post("/api/v1/uploads", content=rows, params={"checks": ",".join(CHECKS)}).json()
    visitor.client.get(f"/api/v1/uploads/{sent['id']}/events")
    assert visitor.client.get(f"/api/v1/uploads/{sent['id']}").json()["summary"]["alerts"] == 1
    return str(visitor.client.get(f"/api/v1/uploads/{sent['id']}/report").json()["results"][1])


def on_the_try_page(visitor: Visitor, reply: str) -> str:
    asked = {"user": CUE, "assistant": reply, "checks": list(CHECKS)}
    return _words(visitor.client.post("/", data=asked).text)


def by_mcp(_: Visitor, reply: str) -> str:
    from synthesis.mcp_server import Tools

    return str(Tools(Path()).evaluate_reply(CUE, reply, list(CHECKS)))


def by_guard(_: Visitor, reply: str) -> str:
    outcome = Guard(CHECKS).review(CUE, reply)
    assert outcome.alert is not None
    assert outcome.reply == reply  # in a crisis nothing is withheld
    return f"{outcome.alert} {outcome.first}"


def by_guarded_stream(_: Visitor, reply: str) -> str:
    stream = Guard(CHECKS).stream(CUE)
    for word in reply.split(" "):
        stream.feed(f"{word} ")
    return str(stream.close())


def by_pytest_fixture(visitor: Visitor, reply: str) -> str:
    class Config:
        """As pytest gives it, where nothing is set."""

        def getini(self, name: str) -> Any:
            return "" if name == "synthesis_profile" else []

    engine = PluginEngine(Config())  # type: ignore[arg-type]
    return str(Checker(engine).check(CUE, reply, CHECKS))


def by_library(_: Visitor, reply: str) -> str:
    return str(synthesis.evaluate(CUE, reply, checks=CHECKS))


def by_conversation(_: Visitor, reply: str) -> str:
    messages = [{"role": "user", "content": CUE}, {"role": "assistant", "content": reply}]
    return str(synthesis.evaluate_conversation(messages, checks=CHECKS))


def by_promptfoo(_: Visitor, reply: str) -> str:
    from synthesis.integrations.promptfoo import get_assert

    return str(get_assert(reply, {"vars": {"user": CUE}, "config": {"checks": list(CHECKS)}}))


SIGNALS = ("crisis.care", "crisis.question", "crisis.help")
DOORS = {
    "console": Door(console),
    "JSON": Door(in_json),
    "JUnit": Door(in_format("junit")),
    "SARIF": Door(in_format("sarif")),
    "GitHub": Door(in_format("github")),
    "Markdown": Door(in_format("markdown")),
    "CSV": Door(in_format("csv")),
    "HTML": Door(on_a_page),
    "Parquet": Door(in_parquet, SIGNALS),
    "Arrow": Door(in_table_batches, SIGNALS),
    "API": Door(by_api),
    "API batch": Door(by_batch),
    "upload": Door(by_upload),
    "page Try": Door(on_the_try_page),
    "MCP": Door(by_mcp),
    "guard": Door(by_guard),
    "guarded stream": Door(by_guarded_stream),
    "pytest": Door(by_pytest_fixture),
    "library": Door(by_library),
    "library, conversation": Door(by_conversation),
    "promptfoo": Door(by_promptfoo),
}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    httpx = pytest.importorskip("httpx")
    pytest.importorskip("fastapi", reason="the extra `serve` is not installed")
    import serving

    with (
        serving.serving(tmp_path_factory.mktemp("server")) as address,
        httpx.Client(base_url=address, timeout=60, trust_env=False) as opened,
    ):
        yield opened


@pytest.mark.parametrize("name", DOORS)
def test_a_crisis_that_is_answered_with_a_joke_is_critical(name: str, cli: CommandLine, client: Any) -> None:
    shown = DOORS[name].shows(Visitor(cli, client), JOKE)
    assert CUE_WORDS in shown
    assert "critical" in shown.lower()
    assert "crisis" in shown


@pytest.mark.parametrize("name", DOORS)
def test_a_crisis_that_is_answered_shows_what_was_found(name: str, cli: CommandLine, client: Any) -> None:
    door = DOORS[name]
    shown = door.shows(Visitor(cli, client), GOOD)
    assert CUE_WORDS in shown
    assert [word for word in door.evidence if word not in shown.lower()] == []
    assert "critical:" not in shown


# Ordinary support, 24 exchanges: every door gives the same verdicts, and none is a crisis.


SUPPORT = Path(__file__).parent / "first_screen" / "support.jsonl"
# Known false alarms of today's rules, by row: orders about a thing that they take for orders about a life.
TAKEN_FOR_PERSONAL = {2, 4, 6, 16, 20}


def desk() -> list[tuple[str, str]]:
    rows = map(json.loads, SUPPORT.read_text(encoding="utf-8").splitlines())
    return [(row["user"], row["assistant"]) for row in rows]


def desk_by_log(visitor: Visitor) -> list[bool | None]:
    visitor.cli("eval", SUPPORT, "--workers", "1", "--quiet")
    return [result["pass"] for result in visitor.cli.report()["results"]]


def desk_by_table(_: Visitor) -> list[bool | None]:
    import pyarrow as pa

    users, replies = zip(*desk(), strict=True)
    rows = synthesis.evaluate_table(pa.table({"user": users, "assistant": replies})).to_pylist()
    return [row["outcome"] != "fail" for row in rows]


def desk_by_upload(visitor: Visitor) -> list[bool | None]:
    sent = visitor.client.post("/api/v1/uploads", content=SUPPORT.read_bytes()).json()
    visitor.client.get(f"/api/v1/uploads/{sent['id']}/events")
    return [one["pass"] for one in visitor.client.get(f"/api/v1/uploads/{sent['id']}/report").json()["results"]]


def desk_by_batch(visitor: Visitor) -> list[bool | None]:
    lines = "\n".join(json.dumps({"user": user, "assistant": reply}) for user, reply in desk())
    answered = visitor.client.post("/api/v1/batch", content=lines).text
    return [json.loads(line)["pass"] for line in answered.splitlines()]


def desk_one_by_one(ask: Callable[[str, str], bool | None]) -> Callable[[Visitor], list[bool | None]]:
    return lambda _: [ask(user, reply) for user, reply in desk()]


DESK_DOORS: dict[str, Callable[[Visitor], list[bool | None]]] = {
    "log": desk_by_log,
    "table": desk_by_table,
    "upload": desk_by_upload,
    "batch": desk_by_batch,
    "library": desk_one_by_one(lambda user, reply: synthesis.evaluate(user, reply).passed),
    "guard": desk_one_by_one(lambda user, reply: Guard().review(user, reply).first.passed),
}


@pytest.mark.parametrize("name", DESK_DOORS)
def test_ordinary_support_comes_out_alike_at_every_door(name: str, cli: CommandLine, client: Any) -> None:
    verdicts = DESK_DOORS[name](Visitor(cli, client))
    assert verdicts == [synthesis.evaluate(user, reply).passed for user, reply in desk()]
    assert {row for row, passed in enumerate(verdicts, start=1) if not passed} <= TAKEN_FOR_PERSONAL


def _words(html: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", html)).replace("&#39;", "'")
