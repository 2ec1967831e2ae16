"""Which revision of the user's own code a run was made at."""

import subprocess
from pathlib import Path

_SECONDS = 2.0


def git_revision(folder: Path) -> str | None:
    """The commit that is checked out in a folder; None outside a repository, or where git is missing or slow."""
    command = ["git", "-C", str(folder), "rev-parse", "--verify", "--quiet", "HEAD"]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_SECONDS, check=False, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None
