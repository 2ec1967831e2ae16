"""Judges behind a chat API, through pydantic-ai: OpenAI and what speaks its protocol, OpenRouter, Anthropic.

Model.request is used in place of an Agent: one call of ours is then one call on the wire, and it takes a
third of the CPU time.
"""

import asyncio
import os
from typing import TYPE_CHECKING, Any

from synthesis.errors import MissingExtraError, OptionError
from synthesis.judge import prompt as prompts
from synthesis.judge.calls import Calls, PaidCall
from synthesis.judge.clients import JudgeSettings
from synthesis.judge.clients.faults import failed_call
from synthesis.judge.clients.sending import EVENT_HOOKS, recorded
from synthesis.judge.model import AxisVerdict, TestCase, TokenUsage, Verdict
from synthesis.judge.replies import Asker, Correction, Reply, UnusableReplyError, read_reply

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage, ModelResponse
    from pydantic_ai.models import Model, ModelRequestParameters
    from pydantic_ai.settings import ModelSettings

DEFAULT_MODEL = {"openai": "gpt-4o-mini", "openrouter": "openai/gpt-4o-mini", "anthropic": "claude-haiku-4-5"}
KEY_VARIABLE = {
    "openai": "OPENAI_API_KEY",
    "openrouter": "OPENROUTER_API_KEY",
    "anthropic": "ANTHROPIC_API_KEY",
}
OPENROUTER_URL = "https://openrouter.ai/api/v1"
OUTPUT_TOKENS = 1_024
THINKING_OUTPUT_TOKENS = 8_192  # hidden reasoning is billed as output, too
FRAMING_TOKENS = 64  # roles, separators and the like that a vendor adds around our bytes


class ChatJudge:
    """Asks a chat model for a verdict in JSON, again if its reply cannot be used."""

    def __init__(self, settings: JudgeSettings, model: "Model[Any]", key: str) -> None:
        self.model = model.model_name
        self.prompt_texts = prompts.load_prompt(settings.prompt_version)
        self.prompt = self.prompt_texts.identity()
        self._rubric = settings.rubric
        self._system = prompts.system_text(self.prompt_texts, settings.rubric)
        self._model = model
        self._key = key
        self._timeout = settings.timeout
        self._output_tokens = settings.max_output_tokens or _output_tokens(model)
        self._settings = _model_settings(settings, self._output_tokens)
        self._parameters = _parameters(model, prompts.reply_schema(settings.rubric))
        self._asker = Asker(settings.patience, settings.seed)
        self._extra_bytes = len(str(prompts.reply_schema(settings.rubric)))

    async def judge(self, case: TestCase, calls: Calls) -> Verdict:
        """The verdict on one sample."""
        material = prompts.material_text(self.prompt_texts, case)
        return await self._asker.ask(
            calls,
            send=lambda correction, call: self.send(material, correction, call),
            read=self._read,
            worst=lambda correction: self._worst(material, correction),
        )

    def worst_case(self, case: TestCase) -> TokenUsage:
        """A token is at least one byte: no tokenizer is needed to know the most that a call can take."""
        return self._worst(prompts.material_text(self.prompt_texts, case), None)

    async def close(self) -> None:
        """Close the connections."""
        await self._model.client.close()  # type: ignore[attr-defined]

    async def send(self, material: str, correction: Correction | None, call: PaidCall) -> Reply:
        messages = self._messages(material, correction)
        try:
            async with asyncio.timeout(self._timeout):
                with recorded(call):
                    response = await self._model.request(messages, self._settings, self._parameters)
        except Exception as error:
            raise call.refusal or failed_call(error, self._timeout, self._key, sent=call.has_begun) from None
        await call.begin()  # already done, unless a transport does not say when it sends
        used = response.usage
        usage = TokenUsage(self.model, used.input_tokens, used.output_tokens)
        return Reply(_text(response), usage, cut_off=response.finish_reason == "length")

    def _messages(self, material: str, correction: Correction | None) -> "list[ModelMessage]":
        from pydantic_ai.messages import (
            ModelRequest,
            ModelResponse,
            SystemPromptPart,
            TextPart,
            UserPromptPart,
        )

        first = ModelRequest(parts=[SystemPromptPart(self._system), UserPromptPart(material)])
        if correction is None:
            return [first]
        said = ModelResponse(parts=[TextPart(correction.reply or "(nothing)")])
        told = prompts.correction_text(self.prompt_texts, correction.problem)
        return [first, said, ModelRequest(parts=[UserPromptPart(told)])]

    def _read(self, reply: Reply) -> dict[str, AxisVerdict]:
        try:
            return read_reply(reply.text, self._rubric)
        except UnusableReplyError:
            if not reply.cut_off:
                raise
        raise UnusableReplyError(
            f"it was cut off at {self._output_tokens} output tokens; --max-output-tokens allows more"
        )

    def _worst(self, material: str, correction: Correction | None) -> TokenUsage:
        texts = [self._system, material]
        if correction is not None:
            texts += [correction.reply, correction.problem, self.prompt_texts.correction]
        size = sum(len(text.encode("utf-8", "replace")) for text in texts)
        return TokenUsage(self.model, size + self._extra_bytes + FRAMING_TOKENS, self._output_tokens)


def openai_judge(settings: JudgeSettings) -> ChatJudge:
    """OpenAI itself, or with a base URL any server that speaks its protocol."""
    _need("judge")
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.profiles.openai import OpenAIModelProfile, openai_model_profile
    from pydantic_ai.providers.openai import OpenAIProvider
    from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

    key, name = _key(settings), settings.model or DEFAULT_MODEL["openai"]
    client = _openai_client(settings, key, settings.base_url)
    if settings.base_url is None:
        return ChatJudge(settings, OpenAIChatModel(name, provider=OpenAIProvider(openai_client=client)), key)
    # Small servers know only the older name of the output limit; reasoning models know only the newer one.
    newer = bool(openai_model_profile(name).get("openai_supports_reasoning"))
    profile = OpenAIModelProfile(openai_chat_supports_max_completion_tokens=newer)
    provider = OpenAICompatibleProvider("openai-compatible", openai_client=client)
    return ChatJudge(settings, OpenAIChatModel(name, provider=provider, profile=profile), key)


def openrouter_judge(settings: JudgeSettings) -> ChatJudge:
    """Many vendors' models behind OpenRouter."""
    _need("judge")
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openrouter import OpenRouterProvider

    key, name = _key(settings), settings.model or DEFAULT_MODEL["openrouter"]
    if "/" not in name:
        raise OptionError(
            f"'{name}' is not a model name for OpenRouter: its names begin with the vendor",
            hint=f"For example: --judge-model openai/{name}",
        )
    client = _openai_client(settings, key, settings.base_url or OPENROUTER_URL)
    # OpenRouterModel would refuse replies that lack OpenRouter's own fields; gateways leave them out.
    return ChatJudge(settings, OpenAIChatModel(name, provider=OpenRouterProvider(openai_client=client)), key)


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
    if not key:
        raise OptionError(
            f"the judge '{settings.provider}' needs a key: the environment variable {variable} is not set",
            hint=f"export {variable}=..., or name another variable with --api-key-env. "
            "A server that needs no key accepts any value.",
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


def _output_tokens(model: "Model[Any]") -> int:
    return THINKING_OUTPUT_TOKENS if model.profile.get("thinking_enabled_by_default") else OUTPUT_TOKENS


def _model_settings(settings: JudgeSettings, output_tokens: int) -> "ModelSettings":
    chosen: ModelSettings = {"max_tokens": output_tokens, "timeout": settings.timeout}
    if settings.temperature is not None:
        chosen["temperature"] = settings.temperature
    return chosen


def _parameters(model: "Model[Any]", schema: dict[str, Any]) -> "ModelRequestParameters":
    """The schema goes to the model in the way it understands: as response format, else as a tool."""
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.output import OutputObjectDefinition
    from pydantic_ai.tools import ToolDefinition

    if model.profile.get("supports_json_schema_output"):
        output = OutputObjectDefinition(json_schema=schema, name="verdict", strict=True)
        return ModelRequestParameters(output_mode="native", output_object=output)
    tool = ToolDefinition(name="verdict", description="Hands in the verdict.", parameters_json_schema=schema)
    return ModelRequestParameters(output_mode="tool", output_tools=[tool], allow_text_output=False)


def _text(response: "ModelResponse") -> str:
    """What the model said, whether as text or as a tool's arguments."""
    from pydantic_ai.messages import TextPart, ToolCallPart

    said = [part.args_as_json_str() for part in response.parts if isinstance(part, ToolCallPart)]
    said += [part.content for part in response.parts if isinstance(part, TextPart)]
    return "\n".join(said)
