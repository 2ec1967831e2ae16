"""Texts that nobody should come upon unasked."""

from typing import Any

WARNING = "Some of these texts are about suicide, self-harm or violence."


def is_painful(record: dict[str, Any]) -> bool:
    """Whether a result is about a crisis: by its tags, or by what was found in the user's words."""
    return any("crisis" in tag for tag in record.get("tags", ())) or any(
        finding["signal"] == "crisis.cue" for finding in record["findings"]
    )
