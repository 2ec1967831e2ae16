"""Where a judge is reached, and what must not be shown of it: the URL, the key, and added headers and body fields."""

import ipaddress
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from synthesis.errors import OptionError

SHORTEST_SECRET = 8  # a shorter one would be found in ordinary words
NOT_NEEDED = "not-needed"  # what a server on this machine gets for a key; clients insist on sending one
# What has its own option, or would make another request of it than the one that is recorded.
_OWN_OPTIONS = {
    "model": "--judge-model names the model",
    "messages": "the messages are the prompt",
    "stream": "replies are read whole",
    "max_tokens": "--max-output-tokens sets it",
    "max_completion_tokens": "--max-output-tokens sets it",
    "seed": "--seed sets it",
    "temperature": "--temperature sets it",
    "reasoning_effort": "--reasoning-effort sets it",
}
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


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
