"""A judge behind a chat API, through pydantic-ai.

Model.request is used in place of an Agent: one call of ours is then one call on the wire, and it takes a
third of the CPU time.
"""

import asyncio
import hashlib
import json
from typing import TYPE_CHECKING, Any, cast

from synthesis.judge import prompt as prompts
from synthesis.judge.asking import Asker, Correction, Reply, Request, Terms
from synthesis.judge.calls import Calls, PaidCall
from synthesis.judge.claims import read_claims
from synthesis.judge.clients import JudgeSettings
from synthesis.judge.clients.faults import failed_call
from synthesis.judge.clients.sending import recorded
from synthesis.judge.model import TestCase, TokenUsage, Verdict
from synthesis.judge.passages import with_passages
from synthesis.judge.prompt import context_texts
from synthesis.judge.replies import read_reply

if TYPE_CHECKING:
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
            raise call.refusal or failed_call(error, self._timeout, self._secrets, sent=call.has_begun) from None
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
