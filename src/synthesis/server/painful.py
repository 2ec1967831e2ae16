"""Texts that nobody should come upon unasked."""

from synthesis.model import CaseResult

WARNING = "Some of these texts are about suicide, self-harm or violence."


def is_painful(result: CaseResult) -> bool:
    """Whether a result is about a crisis: by its tags, or by what was found in the user's words."""
    return any("crisis" in tag for tag in result.tags) or any(
        finding.signal == "crisis.cue" for finding in result.findings
    )
