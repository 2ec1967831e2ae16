"""Judges behind a chat API, through pydantic-ai: OpenAI and what speaks its protocol, OpenRouter, Anthropic.

Model.request is used in place of an Agent: one call of ours is then one call on the wire, and it takes a
third of the CPU time.
"""

import asyncio
import contextlib
import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, cast

from synthesis.errors import JudgeError, MissingExtraError, OptionError, shorten
from synthesis.judge import prompt as prompts
from synthesis.judge.calls import (
    Asker,
    CallFailedError,
    Calls,
    Correction,
    PaidCall,
    Reply,
    Request,
    RunStopError,
    Terms,
)
from synthesis.judge.claims import read_claims, with_passages
from synthesis.judge.clients import NOT_NEEDED, JudgeSettings, is_loopback, masked
from synthesis.judge.model import TestCase, TokenUsage, Verdict
from synthesis.judge.prompt import context_texts
from synthesis.judge.replies import read_reply
from synthesis.lazy import regex

if TYPE_CHECKING:
    from pydantic_ai.exceptions import ModelHTTPError
    from pydantic_ai.messages import ModelMessage, ModelResponse
    from pydantic_ai.models import Model, ModelRequestParameters
    from pydantic_ai.settings import ModelSettings

OUTPUT_TOKENS = 1_024
CLAIMS_OUTPUT_TOKENS = 4_096
THINKING_OUTPUT_TOKENS = 8_192  # hidden reasoning is billed as output, too
FRAMING_TOKENS = 64  # roles, separators and the like that a vendor adds around our bytes


class ChatJudge:
    """Asks a chat model for a verdict in JSON, once more if its reply cannot be used."""

    def __init__(self, settings: JudgeSettings, model: "Model[Any]", key: str) -> None:
        self.model = model.model_name
        self.prompt_texts = prompts.load_prompt(settings.prompt_version)
        self.prompt = self.prompt_texts.identity()
        self.settings = _identity(settings)
        self._rubric = settings.rubric
        self._wants_claims = settings.detail == "claims"
        self._system = prompts.system_text(self.prompt_texts, settings.rubric, claims=self._wants_claims)
        self._model = model
        self._secrets = (key, *settings.headers.values())
        self._timeout = settings.timeout
        self._terms = Terms(settings.max_output_tokens or _output_tokens(settings, model))
        self._settings = _model_settings(settings)
        schema = prompts.reply_schema(settings.rubric, claims=self._wants_claims)
        self._parameters = _parameters(model, schema)
        self._asker = Asker(settings.patience, self._terms, settings.seed)
        self._extra_bytes = len(str(schema)) + len(json.dumps(dict(settings.extra_body)))

    async def judge(self, case: TestCase, calls: Calls) -> Verdict:
        """The verdict on one sample."""
        material = prompts.material_text(self.prompt_texts, case)
        shown = (case.question, case.answer, prompts.context_text(case.context))
        return await self._asker.ask(
            calls,
            send=lambda request, call: self.send(material, request, call),
            read=lambda reply: self._read(reply, case, shown),
            worst=lambda request: self._worst(material, request),
        )

    def _read(self, reply: Reply, case: TestCase, shown: tuple[str, ...]) -> Verdict:
        axes = read_reply(reply.text, self._rubric, shown)
        if not self._wants_claims:
            return Verdict(axes)
        texts = context_texts(case.context)
        return Verdict(axes, details=with_passages(read_claims(reply.text, case.answer, texts), texts))

    def worst_case(self, case: TestCase) -> TokenUsage:
        """A token is at least one byte: no tokenizer is needed to know the most that a call can take."""
        return self._worst(prompts.material_text(self.prompt_texts, case), self._terms.first_request())

    async def close(self) -> None:
        """Close the connections."""
        await self._model.client.close()  # type: ignore[attr-defined]

    async def send(self, material: str, request: Request, call: PaidCall) -> Reply:
        messages = self._messages(material, request.correction)
        settings: ModelSettings = {**self._settings, "max_tokens": request.output_tokens}
        try:
            async with asyncio.timeout(self._timeout):
                with recorded(call):
                    response = await self._model.request(messages, settings, self._parameters[request.structured])
        except Exception as error:
            raise call.refusal or _failed_call(error, self._timeout, self._secrets, sent=call.has_begun) from None
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

    def _worst(self, material: str, request: Request) -> TokenUsage:
        texts = [self._system, material]
        if correction := request.correction:
            texts += [correction.reply, correction.problem, self.prompt_texts.correction]
        size = sum(len(text.encode("utf-8", "replace")) for text in texts)
        return TokenUsage(self.model, size + self._extra_bytes + FRAMING_TOKENS, request.output_tokens)


def _output_tokens(settings: JudgeSettings, model: "Model[Any]") -> int:
    asked_to = settings.reasoning_effort not in (None, "none", "minimal")
    if asked_to or model.profile.get("thinking_enabled_by_default"):
        return THINKING_OUTPUT_TOKENS
    return CLAIMS_OUTPUT_TOKENS if settings.detail == "claims" else OUTPUT_TOKENS


def _short_hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:12]


def _identity(settings: JudgeSettings) -> str:
    """What changes verdicts beside model, prompt and rubric. An output limit does not: it only cuts replies off."""
    body = json.dumps(dict(settings.extra_body), sort_keys=True).encode()
    chosen = {
        "detail": f"claims:{_short_hash(prompts.claims_part().encode())}" if settings.detail == "claims" else None,
        "temperature": settings.temperature,
        "seed": settings.seed,
        "reasoningEffort": settings.reasoning_effort,
        "extraBody": _short_hash(body) if settings.extra_body else None,
    }
    return " ".join(f"{name}={value}" for name, value in chosen.items() if value is not None)


def _model_settings(settings: JudgeSettings) -> "ModelSettings":
    chosen: dict[str, Any] = {"timeout": settings.timeout}
    effort = "thinking" if settings.provider == "anthropic" else "openai_reasoning_effort"
    wanted = {
        "temperature": settings.temperature,
        "seed": settings.seed,
        effort: settings.reasoning_effort,
        "extra_headers": dict(settings.headers) or None,
        "extra_body": dict(settings.extra_body) or None,
    }
    chosen |= {name: value for name, value in wanted.items() if value is not None}
    return cast("ModelSettings", chosen)


def _parameters(model: "Model[Any]", schema: dict[str, Any]) -> "dict[bool, ModelRequestParameters]":
    """With the schema, in the way that the model understands (as response format, else as a tool), and without."""
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.output import OutputObjectDefinition
    from pydantic_ai.tools import ToolDefinition

    plain = ModelRequestParameters()
    if model.profile.get("supports_json_schema_output"):
        output = OutputObjectDefinition(json_schema=schema, name="verdict", strict=True)
        return {True: ModelRequestParameters(output_mode="native", output_object=output), False: plain}
    tool = ToolDefinition(name="verdict", description="Hands in the verdict.", parameters_json_schema=schema)
    asked = ModelRequestParameters(output_mode="tool", output_tools=[tool], allow_text_output=False)
    return {True: asked, False: plain}


def _text(response: "ModelResponse") -> str:
    """What the model said, whether as text, as a tool's arguments, or as a refusal."""
    from pydantic_ai.messages import TextPart, ToolCallPart

    said = [part.args_as_json_str() for part in response.parts if isinstance(part, ToolCallPart)]
    said += [part.content for part in response.parts if isinstance(part, TextPart)]
    return "\n".join(said) or str((response.provider_details or {}).get("refusal", ""))


# The vendors.


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


# What can go wrong with a call, sorted by what to do about it. No key and no request body is ever shown.


_RETRIED_STATUS = {408, 409, 425, 429}
_REJECTING_STATUS = {400, 415, 422, 501}
_REJECTION = regex(
    r"response.?format|json.?schema|structured|\btools?\b|tool.?choice|guided|grammar|requested parameters",
    re.IGNORECASE,
)
_EXPLAINED = 160


def _failed_call(error: Exception, timeout: float, secrets: Iterable[str], *, sent: bool) -> JudgeError:
    """The error of one request as one of ours; a request that was not `sent` cost nothing."""
    from pydantic_ai import exceptions as theirs

    if isinstance(error, TimeoutError | theirs.ModelTimeoutError | theirs.ModelRequestTimeout):
        return CallFailedError(f"no {'reply' if sent else 'connection'} within {timeout:g} s", answered=not sent)
    if isinstance(error, theirs.ModelConnectionError):
        what = "the connection broke off" if sent else "no connection"
        return CallFailedError(f"{what}: {_said(error, secrets)}", answered=not sent)
    if isinstance(error, theirs.ModelHTTPError):
        return _refused(error, secrets)
    return CallFailedError(f"the reply is not a chat completion: {_said(error, secrets)}", answered=False, garbled=True)


def _refused(error: "ModelHTTPError", secrets: Iterable[str]) -> JudgeError:
    from pydantic_ai import exceptions as theirs

    message = f"HTTP {error.status_code}: {_said(error, secrets)}"
    rejected = _rejects_the_format(error)
    hopeless = (theirs.ModelAuthenticationError, theirs.ModelNotFoundError, theirs.ModelQuotaExceededError)
    if isinstance(error, hopeless) and not rejected:
        return RunStopError(message)
    return CallFailedError(
        message,
        answered=True,
        retry=error.status_code >= 500 or error.status_code in _RETRIED_STATUS,
        retry_after=_retry_after(error),
        overloaded=isinstance(error, theirs.ModelRateLimitError | theirs.ModelUnavailableError),
        rejected=rejected,
    )


def _rejects_the_format(error: "ModelHTTPError") -> bool:
    """It may be the schema that the endpoint does not understand: it says so, or refuses the request as such."""
    from pydantic_ai import exceptions as theirs

    others = (theirs.ModelAuthenticationError, theirs.ModelRateLimitError, theirs.ModelQuotaExceededError)
    if isinstance(error, (*others, theirs.ModelContextWindowExceededError)):
        return False
    return error.status_code in _REJECTING_STATUS or bool(_REJECTION.search(f"{error.body}"))


def _retry_after(error: "ModelHTTPError") -> float | None:
    """Seconds to wait; some servers send fractions, which the library does not read."""
    if error.retry_after is not None:
        return float(error.retry_after)
    try:
        seconds = float((error.headers or {}).get("retry-after", ""))
    except ValueError:
        return None
    return seconds if seconds >= 0 else None


def _said(error: Exception, secrets: Iterable[str]) -> str:
    """The message alone, on one line, and without a secret in case the other side repeats it."""
    body = getattr(error, "body", None)
    text = (body.get("message") or body.get("detail")) if isinstance(body, dict) else body
    return shorten(masked(str(text or error), secrets), _EXPLAINED)


# Records a call at the moment its request leaves: a call that waits for a connection has cost nothing yet.


_CALL: ContextVar[PaidCall | None] = ContextVar("call", default=None)


@contextlib.contextmanager
def recorded(call: PaidCall) -> Iterator[None]:
    """The requests made in this block belong to `call`."""
    token = _CALL.set(call)
    try:
        yield
    finally:
        _CALL.reset(token)


async def _observe(request: Any) -> None:
    request.extensions = {**request.extensions, "trace": _trace}


async def _trace(event: str, info: dict[str, Any]) -> None:
    """The HTTP client says what it does next; a CONNECT to a proxy is not the call."""
    call = _CALL.get()
    if call is not None and event.endswith(".send_request_headers.started") and info["request"].method != b"CONNECT":
        await call.begin()


# For an HTTP client that is to record the present call before the first byte of its request.
EVENT_HOOKS = {"request": [_observe]}
