"""The vendors of chat judges: OpenAI and what speaks its protocol, OpenRouter, Anthropic."""

import os
from typing import TYPE_CHECKING, Any

from synthesis.errors import MissingExtraError, OptionError
from synthesis.judge.clients import JudgeSettings
from synthesis.judge.clients.chat import ChatJudge
from synthesis.judge.clients.endpoint import NOT_NEEDED, is_loopback
from synthesis.judge.clients.sending import EVENT_HOOKS

if TYPE_CHECKING:
    from pydantic_ai.models import Model

DEFAULT_MODEL = {"openai": "gpt-4o-mini", "openrouter": "openai/gpt-4o-mini", "anthropic": "claude-haiku-4-5"}
KEY_VARIABLE = {
    "openai": "OPENAI_API_KEY",
    "openrouter": "OPENROUTER_API_KEY",
    "anthropic": "ANTHROPIC_API_KEY",
}
OPENROUTER_URL = "https://openrouter.ai/api/v1"
NO_TAGS = ("\0", "\0")  # our own reader tells thoughts from a verdict whose reasoning quotes such a tag


def openai_judge(settings: JudgeSettings) -> ChatJudge:
    """OpenAI itself, or with a base URL any server that speaks its protocol."""
    _need("judge")
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.profiles.openai import OpenAIModelProfile
    from pydantic_ai.providers.openai import OpenAIProvider

    key, name = _key(settings), settings.model or DEFAULT_MODEL["openai"]
    client = _openai_client(settings, key, settings.base_url)
    if settings.base_url is not None:
        return ChatJudge(settings, _compatible_model(name, client), key)
    official, profile = OpenAIProvider(openai_client=client), OpenAIModelProfile(thinking_tags=NO_TAGS)
    return ChatJudge(settings, OpenAIChatModel(name, provider=official, profile=profile), key)


def openrouter_judge(settings: JudgeSettings) -> ChatJudge:
    """Many vendors' models behind OpenRouter, or with a base URL behind another gateway, which has its own names."""
    _need("judge")
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.profiles.openai import OpenAIModelProfile
    from pydantic_ai.providers.openrouter import OpenRouterProvider

    key, name = _key(settings), settings.model or DEFAULT_MODEL["openrouter"]
    if "/" not in name and settings.base_url is None:
        raise OptionError(
            f"'{name}' is not a model name for OpenRouter: its names begin with the vendor",
            hint=f"For example: --judge-model openai/{name}. With --base-url any name is taken as it is.",
        )
    client = _openai_client(settings, key, settings.base_url or OPENROUTER_URL)
    if "/" not in name:
        return ChatJudge(settings, _compatible_model(name, client), key)
    # OpenRouterModel would refuse replies that lack OpenRouter's own fields; gateways leave them out.
    router, profile = OpenRouterProvider(openai_client=client), OpenAIModelProfile(thinking_tags=NO_TAGS)
    return ChatJudge(settings, OpenAIChatModel(name, provider=router, profile=profile), key)


def _compatible_model(name: str, client: Any) -> "Model[Any]":
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.profiles.openai import OpenAIModelProfile, openai_model_profile
    from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

    # Small servers know only the older name of the output limit; reasoning models know only the newer one.
    newer = bool(openai_model_profile(name).get("openai_supports_reasoning"))
    profile = OpenAIModelProfile(openai_chat_supports_max_completion_tokens=newer, thinking_tags=NO_TAGS)
    provider = OpenAICompatibleProvider("openai-compatible", openai_client=client)
    return OpenAIChatModel(name, provider=provider, profile=profile)


def anthropic_judge(settings: JudgeSettings) -> ChatJudge:
    """Anthropic's own API."""
    _need("anthropic")
    from anthropic import AsyncAnthropic, DefaultAsyncHttpxClient
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.providers.anthropic import AnthropicProvider

    key, name = _key(settings), settings.model or DEFAULT_MODEL["anthropic"]
    client = AsyncAnthropic(
        api_key=key,
        base_url=settings.base_url,
        max_retries=0,
        timeout=settings.timeout,
        http_client=DefaultAsyncHttpxClient(event_hooks=EVENT_HOOKS),
    )
    return ChatJudge(settings, AnthropicModel(name, provider=AnthropicProvider(anthropic_client=client)), key)


def _need(extra: str) -> None:
    try:
        import pydantic_ai  # noqa: F401

        __import__({"judge": "openai", "anthropic": "anthropic"}[extra])
    except ImportError:
        raise MissingExtraError(extra, "this judge") from None


def _key(settings: JudgeSettings) -> str:
    variable = settings.api_key_env or KEY_VARIABLE[settings.provider]
    key = os.environ.get(variable, "").strip()
    if not settings.sends_calls:
        return "unused"
    if not key and settings.api_key_env is None and is_loopback(settings.base_url):
        return NOT_NEEDED
    if not key:
        raise OptionError(
            f"the judge '{settings.provider}' needs a key: the environment variable {variable} is not set",
            hint=f"export {variable}=..., or name another variable with --api-key-env. "
            "A server that needs no key accepts any value; one on this machine needs none.",
        )
    return key


def _openai_client(settings: JudgeSettings, key: str, base_url: str | None) -> Any:
    from openai import AsyncOpenAI, DefaultAsyncHttpxClient

    return AsyncOpenAI(
        api_key=key,
        base_url=base_url,
        max_retries=0,
        timeout=settings.timeout,
        http_client=DefaultAsyncHttpxClient(event_hooks=EVENT_HOOKS),
    )
