import multiprocessing
import os
import signal
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest
from helpers import CommandLine
from hypothesis import settings

from synthesis import set_embedding_adapter
from synthesis.checks import signals
from synthesis.rules.native.library import library
from synthesis.rules.ruleset import bundled_languages, load_rules
from synthesis.run.evaluator import Evaluator

# No timed assertions. The same examples in every run, so that no change is refused for an input that it has nothing to
# do with; `make test-all` looks at new ones.
settings.register_profile("same inputs", deadline=None, derandomize=True)
settings.register_profile("new inputs", deadline=None)
settings.load_profile("new inputs" if os.environ.get("SYNTHESIS_NEW_INPUTS") else "same inputs")

# Named, because some tests move the home folder, and with it the cache of rules that makes a start quick.
os.environ.setdefault("SYNTHESIS_CACHE", str(Path.home() / ".cache" / "synthesis"))

# Most tests are about rules; those about the learned reader take a toy, or ask for `bundled_reader`.
os.environ.setdefault("SYNTHESIS_LEARNED", "0")

# Started in the background by a shell, tests and the processes that they interrupt would ignore the interruption.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_sessionstart(session: pytest.Session) -> None:
    """Prepare the bundled packs once, before the workers start, else each of them would."""
    if not hasattr(session.config, "workerinput") and session.config.getoption("numprocesses", None):
        with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
            list(pool.map(_prepare, bundled_languages()))


def _prepare(language: str) -> None:
    rules = load_rules(signals())
    rules.patterns(language)
    if library():
        rules.image(language)


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
def bundled_reader(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The learned reader as it ships, which is off in most tests: they are about rules, and weights may change."""
    import learned_samples

    monkeypatch.delenv("SYNTHESIS_LEARNED", raising=False)
    learned_samples.forget()
    yield
    monkeypatch.undo()
    learned_samples.forget()


@pytest.fixture
def toy_reader(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A learned reader that finds pressure to stay in every English reply."""
    import learned_samples

    learned_samples.install(monkeypatch, tmp_path_factory.mktemp("reader"))
    yield
    monkeypatch.undo()
    learned_samples.forget()


@pytest.fixture
def default_similarity() -> Iterator[None]:
    yield
    set_embedding_adapter(None)
