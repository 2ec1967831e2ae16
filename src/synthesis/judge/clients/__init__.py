"""Who can judge. Built-in judges and those of other packages register the same way: name -> factory.

A package adds its own with an entry point in the group `synthesis.judges` that names a function from
`JudgeSettings` to a `Judge`.
"""

from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, Protocol

import msgspec

from synthesis.errors import OptionError, did_you_mean
from synthesis.judge.asking import Patience
from synthesis.judge.calls import Calls
from synthesis.judge.model import Rubric, TestCase, TokenUsage, Verdict


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
    reasoning_effort: str | None = None
    headers: Mapping[str, str] = {}
    extra_body: Mapping[str, Any] = {}
    detail: str = "scores"  # or "claims": with the evidence for each claim
    root: Path = Path()
    sends_calls: bool = True  # False: the judge is only asked what calls would take, and needs no key


class Judge(Protocol):
    """Gives a verdict on one sample, or raises a `JudgeError` that says why it cannot.

    `model` and `prompt` are part of the judge's identity (`prompt` is None where there is none). So is a text
    `settings`, where a judge has one: what else changes its verdicts. A judge whose calls cost money makes each
    through `calls.begin(...)`, so that it is recorded before it is sent.
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
        """Close connections."""
        ...


GROUP = "synthesis.judges"
_HERE = "synthesis.judge.clients"
BUILT_IN = (
    EntryPoint("anthropic", f"{_HERE}.vendors:anthropic_judge", GROUP),
    EntryPoint("offline", f"{_HERE}.local:offline_judge", GROUP),
    EntryPoint("openai", f"{_HERE}.vendors:openai_judge", GROUP),
    EntryPoint("openrouter", f"{_HERE}.vendors:openrouter_judge", GROUP),
    EntryPoint("replay", f"{_HERE}.local:replay_judge", GROUP),
)


def providers() -> dict[str, EntryPoint]:
    """Every known judge by its provider name; a built-in name cannot be taken."""
    return {point.name: point for point in (*entry_points(group=GROUP), *BUILT_IN)}


def create_judge(settings: JudgeSettings) -> Judge:
    """The judge that the settings name."""
    known = providers()
    if settings.provider not in known:
        raise OptionError(
            f"there is no judge provider '{settings.provider}'",
            hint=f"{did_you_mean(settings.provider, known)} "
            "Use openai with --base-url for any OpenAI-compatible server.",
        )
    judge: Judge = known[settings.provider].load()(settings)
    return judge


__all__ = ["GROUP", "Judge", "JudgeSettings", "create_judge", "providers"]
