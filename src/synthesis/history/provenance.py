"""Where a run comes from: what its files do not say, and what an exported run states about itself."""

import secrets
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import msgspec

from synthesis.errors import InputError
from synthesis.history.model import SavedRun

_GIT_SECONDS = 2.0


class ExportMetadata(msgspec.Struct, frozen=True):
    """What an exported run states about itself, so that adding it again restores the same run."""

    id: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{12}$")]
    name: str
    started: Annotated[str, msgspec.Meta(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")]
    tool_version: str
    rules_hash: str | None
    input_hash: str | None
    revision: str | None
    with_text: bool
    tags: tuple[str, ...] = ()
    origin: str | None = None

    @classmethod
    def of(cls, run: SavedRun, origin: str | None) -> "ExportMetadata":
        known = {name: getattr(run, name) for name in cls.__struct_fields__ if name != "origin"}
        return cls(**known, origin=origin)


def read_export_metadata(value: Any) -> ExportMetadata:
    try:
        return msgspec.convert(value, ExportMetadata)
    except msgspec.ValidationError as error:
        raise InputError(f"'history' does not describe an exported run: {error}") from None


class Provenance(msgspec.Struct, frozen=True):
    """What a run's files do not say: when it started, the revision of the code, and whether to keep texts.

    `name` replaces the name that the files give.
    """

    started: str | None = None
    revision: str | None = None
    with_text: bool = False
    tags: tuple[str, ...] = ()
    name: str | None = None


def now() -> str:
    """UTC to the millisecond, always of the same length, so that texts sort as times do."""
    return moment(datetime.now(UTC))


def moment(time: datetime) -> str:
    return time.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def git_revision(folder: Path) -> str | None:
    """The commit that is checked out in a folder; None outside a repository, or if git is missing or slow."""
    command = ["git", "-C", str(folder), "rev-parse", "--verify", "--quiet", "HEAD"]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_GIT_SECONDS, check=False, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None


def new_id() -> str:
    return secrets.token_hex(6)
