"""The contract between a run and whoever judges its samples."""

from pathlib import Path
from typing import Protocol

import msgspec

from synthesis.judge.calls import Calls
from synthesis.judge.model import Rubric, TestCase, TokenUsage, Verdict
from synthesis.judge.retry import Patience


class JudgeSettings(msgspec.Struct, frozen=True):
    """What a judge is made from."""

    provider: str
    rubric: Rubric
    model: str | None = None
    base_url: str | None = None
    api_key_env: str | None = None
    prompt_version: str = "v1"
    temperature: float | None = None
    timeout: float = 60.0
    max_output_tokens: int | None = None
    patience: Patience = Patience()
    seed: int | None = None
    root: Path = Path()
    sends_calls: bool = True  # False: the judge is only asked what calls would take, and needs no key


class Judge(Protocol):
    """Gives a verdict on one sample, or raises a `JudgeError` that says why it cannot.

    `model` and `prompt` are part of the judge's identity (`prompt` is None where there is none). A judge
    whose calls cost money makes each through `calls.begin(...)`, so that it is noted before it is sent.
    """

    model: str
    prompt: str | None

    async def judge(self, case: TestCase, calls: Calls) -> Verdict:
        """The verdict on one sample."""
        ...

    def worst_case(self, case: TestCase) -> TokenUsage:
        """The tokens that a call for this sample takes at most; none where nothing is paid."""
        ...

    async def close(self) -> None:
        """Let go of connections."""
        ...
