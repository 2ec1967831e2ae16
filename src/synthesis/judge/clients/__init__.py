"""Who can judge. Built-in judges and those of other packages register in the same way: name -> factory.

A package adds its own with an entry point in the group `synthesis.judges` that names a function from
`JudgeSettings` to a `Judge`.
"""

from importlib.metadata import EntryPoint, entry_points

from synthesis.errors import OptionError, did_you_mean
from synthesis.judge.clients.contract import Judge, JudgeSettings

GROUP = "synthesis.judges"
_HERE = "synthesis.judge.clients"
BUILT_IN = (
    EntryPoint("anthropic", f"{_HERE}.chat:anthropic_judge", GROUP),
    EntryPoint("offline", f"{_HERE}.local:offline_judge", GROUP),
    EntryPoint("openai", f"{_HERE}.chat:openai_judge", GROUP),
    EntryPoint("openrouter", f"{_HERE}.chat:openrouter_judge", GROUP),
    EntryPoint("replay", f"{_HERE}.replay:replay_judge", GROUP),
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
            "Any OpenAI-compatible server is reached with openai and --base-url.",
        )
    judge: Judge = known[settings.provider].load()(settings)
    return judge


__all__ = ["GROUP", "Judge", "JudgeSettings", "create_judge", "providers"]
