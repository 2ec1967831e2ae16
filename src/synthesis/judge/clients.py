"""Who can judge: judges by name, the ones that send no calls, and where the others are reached.

Built-in judges and those of other packages register the same way: name -> factory. A package adds its own with an
entry point in the group `synthesis.judges` that names a function from `JudgeSettings` to a `Judge`.
"""

import ipaddress
import json
import re
from collections.abc import Iterable, Mapping
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

import msgspec

from synthesis.errors import JudgeError, OptionError, Place, TestSetError, did_you_mean
from synthesis.judge.calls import Calls, Patience
from synthesis.judge.model import AxisVerdict, Rubric, TestCase, TokenUsage, Verdict
from synthesis.judge.offline import OfflineJudge
from synthesis.judge.offline.judge import AXES, VERSION
from synthesis.judge.replies import UnusableReplyError, read_verdict
from synthesis.lazy import regex
from synthesis.report.judged.layout import id_in


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
    escalate: str | None = None  # PROVIDER:MODEL for what the offline judge cannot tell


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
BUILT_IN = (
    EntryPoint("anthropic", "synthesis.judge.chat:anthropic_judge", GROUP),
    EntryPoint("offline", "synthesis.judge.clients:offline_judge", GROUP),
    EntryPoint("openai", "synthesis.judge.chat:openai_judge", GROUP),
    EntryPoint("openrouter", "synthesis.judge.chat:openrouter_judge", GROUP),
    EntryPoint("replay", "synthesis.judge.clients:replay_judge", GROUP),
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
    if settings.escalate is not None and settings.provider != "offline":
        raise OptionError(
            f"--escalate goes with the offline judge, not with '{settings.provider}'",
            hint="It sends to a model what the offline judge cannot tell. Leave out --judge-provider, or --escalate.",
        )
    judge: Judge = known[settings.provider].load()(settings)
    return judge


# Judges that send no calls: the offline judge, and recorded verdicts that answer in place of a model.


class _FreeJudge:
    """What judges have in common that send no calls: no prompt, no cost, nothing to close."""

    model: str
    prompt: str | None = None

    def worst_case(self, case: TestCase) -> TokenUsage:  # noqa: ARG002
        """Nothing is paid."""
        return TokenUsage(self.model, 0, 0)

    async def close(self) -> None:
        """There is nothing to close."""


class LocalJudge(_FreeJudge):
    """Asks the offline judge in this process; its name includes its version."""

    def __init__(self, rubric: Rubric) -> None:
        self.model = f"offline-{VERSION}"
        self._rubric = rubric
        self._judge = OfflineJudge()

    async def judge(self, case: TestCase, calls: Calls) -> Verdict:  # noqa: ARG002
        """The verdict on one sample."""
        return self._judge.judge(case, self._rubric)

    def tells(self, case: TestCase) -> bool:
        """Whether it can tell a sample."""
        return not self._judge.judge(case, self._rubric).is_untold


class EscalatingJudge:
    """Tells offline what can be told, and asks a model about the rest."""

    def __init__(self, local: LocalJudge, other: Judge, name: str) -> None:
        self._local, self._other, self._name = local, other, name
        self.model = f"{local.model}+{name}"
        self.prompt = other.prompt
        self.settings = getattr(other, "settings", "")

    async def judge(self, case: TestCase, calls: Calls) -> Verdict:
        """The offline verdict where there is one, else the model's; its details say whose it is."""
        verdict = await self._local.judge(case, calls)
        if not verdict.is_untold:
            return verdict
        told = await self._other.judge(case, calls)
        return msgspec.structs.replace(told, details={**told.details, "judgedBy": self._name})

    def worst_case(self, case: TestCase) -> TokenUsage:
        """Nothing where it can be told offline."""
        try:
            needed = self._local.tells(case)
        except JudgeError:
            needed = False
        return self._local.worst_case(case) if needed else self._other.worst_case(case)

    async def close(self) -> None:
        await self._other.close()


def paid_model(provider: str, model: str, escalate: str | None) -> tuple[str, str]:
    """Provider and name of the model that calls are paid for: that of an escalation, if there is one."""
    return _parted(escalate) if escalate else (provider, model)


def _parted(escalate: str) -> tuple[str, str]:
    provider, _, model = escalate.partition(":")
    free = ("offline", "replay")
    if not provider or not model or provider in free or provider not in providers():
        known = ", ".join(sorted(set(providers()) - set(free)))
        raise OptionError(
            f"--escalate must be PROVIDER:MODEL, not '{escalate}'",
            hint=f"Providers are {known}; for example --escalate openai:gpt-4o-mini.",
        )
    return provider, model


def offline_judge(settings: JudgeSettings) -> Judge:
    """The factory that is registered as `offline`."""
    others = [axis.name for axis in settings.rubric.axes if axis.name not in AXES]
    if others:
        raise OptionError(
            f"the offline judge cannot score {', '.join(others)} (rubric '{settings.rubric.name}')",
            hint=f"It knows {' and '.join(AXES)}. Choose another judge with --judge-provider.",
        )
    local = LocalJudge(settings.rubric)
    if settings.escalate is None:
        return local
    provider, model = _parted(settings.escalate)
    other = create_judge(msgspec.structs.replace(settings, provider=provider, model=model, escalate=None))
    return EscalatingJudge(local, other, settings.escalate)


_HINT = (
    "A recording is a records file, the folder or name of an earlier run, or a file of verdicts: "
    '{"ID": {"faithfulness": {"score": 5, "reasoning": "..."}, ...}}.'
)
Recording = dict[str, dict[str, Any]]


class ReplayJudge(_FreeJudge):
    """Looks each sample up in a recording; a verdict on another text is refused."""

    def __init__(self, source: Path, rubric: Rubric) -> None:
        self.model = source.name
        self._source = source
        self._rubric = rubric
        self._recordings: dict[int, Recording] = {1: self._recording(1)}

    async def judge(self, case: TestCase, calls: Calls) -> Verdict:
        """The recorded verdict."""
        if calls.iteration not in self._recordings:
            self._recordings[calls.iteration] = self._recording(calls.iteration)
        record = self._recordings[calls.iteration].get(case.query_log_id)
        if record is None:
            raise JudgeError("the recording has no verdict on this sample")
        if (record.get("question", case.question), record.get("systemAnswer", case.answer)) != (
            case.question,
            case.answer,
        ):
            raise JudgeError("the recorded verdict is for another question or answer")
        details = record.get("details") or {}
        if record.get("needsJudge"):
            return Verdict(
                {axis.name: AxisVerdict(None, _reason(record, axis.name)) for axis in self._rubric.axes},
                details=details,
            )
        try:
            axes = read_verdict(record.get("judgeVerdict", record), self._rubric)
        except UnusableReplyError as error:
            raise JudgeError(f"the recorded verdict cannot be used: {error.message}") from None
        return Verdict(axes, details=details)

    def _recording(self, iteration: int) -> Recording:
        """A run's folder has records per iteration; a single file answers for all of them."""
        if self._source.is_dir():
            return _read_recording(self._source / "records" / f"records-iteration-{iteration}.json")
        return _read_recording(self._source)


def _reason(record: Mapping[str, Any], axis: str) -> str:
    return str(record.get("judgeVerdict", {}).get(axis, {}).get("reasoning", ""))


def replay_judge(settings: JudgeSettings) -> ReplayJudge:
    """The factory that is registered as `replay`; the model is the recording."""
    if not settings.model:
        raise OptionError("the judge 'replay' needs a recording: --judge-model PATH", hint=_HINT)
    beside = settings.root / settings.model
    source = Path(settings.model)
    return ReplayJudge(beside if not source.exists() and beside.is_dir() else source, settings.rubric)


def _read_recording(path: Path) -> Recording:
    try:
        content = msgspec.json.decode(path.read_bytes())
    except OSError as error:
        raise TestSetError(f"cannot be read: {error.strerror}", place=Place(str(path)), hint=_HINT) from None
    except msgspec.DecodeError as error:
        raise TestSetError(f"is not valid JSON: {error}", place=Place(str(path)), hint=_HINT) from None
    if isinstance(content, list):
        records = [item for item in content if isinstance(item, dict) and not item.get("stale")]
        content = {id_in(record) or "": record for record in records}
    if not isinstance(content, dict) or not all(isinstance(item, dict) for item in content.values()):
        raise TestSetError("contains neither records nor verdicts", place=Place(str(path)), hint=_HINT)
    return content


# Where a judge is reached, and what must not be shown of it: the URL, the key, and added headers and body fields.


SHORTEST_SECRET = 8  # a shorter one would be found in ordinary words
NOT_NEEDED = "not-needed"  # what a server on this machine gets for a key; clients insist on sending one
# What has its own option, or would make another request of it than the one that is recorded.
_OWN_OPTIONS = {
    "model": "--judge-model names the model",
    "messages": "the messages are the prompt",
    "stream": "replies are read whole",
    "max_tokens": "--max-output-tokens sets it",
    "max_completion_tokens": "--max-output-tokens sets it",
    "seed": "--judge-seed sets it",
    "temperature": "--temperature sets it",
    "reasoning_effort": "--reasoning-effort sets it",
}
_HEADER_NAME = regex(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


def check_url(url: str) -> None:
    """Refuse at once what no call could ever reach."""
    parts = urlsplit(url)
    if parts.scheme in ("http", "https") and parts.hostname:
        return
    bare = re.sub(r"^[a-zA-Z][a-zA-Z0-9+.-]*://|^/+", "", url)
    scheme = "http" if is_loopback(f"http://{bare}") else "https"
    wrong = "it has no http:// or https:// in front" if "://" not in url else "it is not a URL of an HTTP server"
    raise OptionError(f"--base-url '{url}' cannot be used: {wrong}", hint=f"Write --base-url {scheme}://{bare}")


def is_loopback(url: str | None) -> bool:
    """Whether the server is on this machine."""
    try:
        host = urlsplit(url or "").hostname or ""
        return host == "localhost" or host.endswith(".localhost") or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def parse_header(text: str) -> tuple[str, str]:
    """`X-Team: evaluation`, as curl writes it."""
    name, colon, value = text.partition(":")
    value = value.strip()
    if not colon or not _HEADER_NAME.fullmatch(name.strip()) or not value or not value.isprintable():
        raise OptionError(f"--header cannot read '{name.strip()}'", hint="Write it as --header 'Name: value'.")
    return name.strip(), value


def parse_body(text: str) -> dict[str, Any]:
    """Fields that are added to every request: a JSON object, or @FILE with one."""
    try:
        value = json.loads(Path(text[1:]).read_text(encoding="utf-8") if text.startswith("@") else text)
    except OSError as error:
        raise OptionError(f"--extra-body: '{text[1:]}' cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise OptionError(f"--extra-body is not valid JSON: {error}", hint=_BODY_HINT) from None
    if not isinstance(value, dict):
        raise OptionError("--extra-body must be a JSON object", hint=_BODY_HINT)
    check_body(value)
    return value


_BODY_HINT = "For example: --extra-body '{\"top_p\": 0.9}', or @FILE with such an object."


def check_body(body: Mapping[str, Any]) -> None:
    """Refuse fields that have their own option."""
    for name in body:
        if name in _OWN_OPTIONS:
            raise OptionError(f"--extra-body cannot set '{name}'", hint=f"{_OWN_OPTIONS[name].capitalize()}.")


def masked(text: str, secrets: Iterable[str]) -> str:
    """The text without secrets, in case the other side repeats them: whole words only, and only long ones."""
    for secret in secrets:
        if len(secret) >= SHORTEST_SECRET:
            text = re.sub(rf"(?<![\w-]){re.escape(secret)}(?![\w-])", "***", text)
    return text
