"""Messages as other tools write them: content in parts, roles under other names."""

from collections.abc import Mapping
from typing import Any

ROLES = {
    **dict.fromkeys(("user", "human"), "user"),
    **dict.fromkeys(("assistant", "gpt", "chatgpt", "model", "ai", "bot"), "assistant"),
    **dict.fromkeys(("system", "developer"), "system"),
    **dict.fromkeys(("tool", "function", "function_call", "function_response", "tool_call", "tool_response"), "tool"),
    **dict.fromkeys(("observation", "ipython"), "tool"),
}
# What exports of help desks and messengers call the two sides. A line of a pasted chat that begins with one of these
# words may well be prose ("Note: ..."), so only fields that hold a role are read by them.
SENDERS = {
    **ROLES,
    **dict.fromkeys(("customer", "client", "visitor", "guest", "contact", "caller", "requester", "lead"), "user"),
    **dict.fromkeys(("end_user", "enduser", "consumer", "member", "patient", "person"), "user"),
    **dict.fromkeys(("inbound", "incoming", "in"), "user"),
    **dict.fromkeys(("agent", "chatbot", "llm", "virtual_agent", "ai_agent", "virtual_assistant"), "assistant"),
    **dict.fromkeys(("operator", "support", "admin", "teammate", "representative", "rep", "advisor"), "assistant"),
    **dict.fromkeys(("staff", "outbound", "outgoing", "out"), "assistant"),
    **dict.fromkeys(("event", "info", "internal", "log", "note", "notification", "trigger", "workflow"), "system"),
}


def side_of(role: Any) -> str | None:
    """Who speaks under this name: `user`, `assistant`, `system` or `tool`; None where nobody is called so."""
    name = "_".join(role.lower().replace("-", " ").split()) if isinstance(role, str) else ""
    return SENDERS.get(name)


def text_of(content: Any) -> str | None:
    """The text of a message: itself, or its text parts joined; None where it is neither."""
    if content is None:
        return ""  # a message that only calls a tool
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return None
    texts = [_part(part) for part in content]
    return "\n\n".join(text for text in texts if text)


def is_unicode(text: str) -> bool:
    """Whether a text has no halves of characters (lone surrogates), which cannot be written anywhere."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _part(part: Any) -> str:
    if isinstance(part, str):
        return part
    if isinstance(part, Mapping) and part.get("type", "text") == "text" and isinstance(part.get("text"), str):
        return str(part["text"])
    return ""


def with_joined_parts(messages: Any) -> Any:
    """The messages of a case with content in parts turned into texts; all else as it is."""
    if not isinstance(messages, list):
        return messages
    return [
        {**message, "content": text_of(message["content"])}
        if isinstance(message, dict) and isinstance(message.get("content"), list)
        else message
        for message in messages
    ]
