import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers import CommandLine
from hypothesis import settings

from synthesis import set_embedding_adapter
from synthesis.runner.evaluator import Evaluator

settings.register_profile("shared machine", deadline=None)  # no timed assertions
settings.load_profile("shared machine")

# Started in the background by a shell, tests and the processes that they interrupt would ignore the interruption.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def evaluator() -> Evaluator:
    return Evaluator()


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> CommandLine:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MCP_OUTPUT", raising=False)
    monkeypatch.delenv("NO_COLOR", raising=False)
    return CommandLine(tmp_path, capsys)


@pytest.fixture
def default_similarity() -> Iterator[None]:
    yield
    set_embedding_adapter(None)
