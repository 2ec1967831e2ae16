"""Prepared packs are cached: loading them takes milliseconds instead of seconds.

A pack is stored under a key made of everything it depends on: its files, the packs below it, and the code that reads
it, so an entry is never out of date. A cache that cannot be read or written is not an error: the pack is then prepared
again.
"""

import hashlib
import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TypeVar

import msgspec

from synthesis.rules.loader import MANIFEST, pack_files
from synthesis.rules.native.program import Program
from synthesis.rules.pattern import PreparedPattern
from synthesis.rules.schema import Pack

MOST_KEPT = 256  # files: some 25 for the bundled packs, the rest for user packs and other versions
_packs = msgspec.msgpack.Decoder(Pack)
_patterns = msgspec.msgpack.Decoder(dict[str, PreparedPattern])
_programs = msgspec.msgpack.Decoder(Program)
_bytes = msgspec.msgpack.Decoder(bytes)
_encode = msgspec.msgpack.Encoder().encode
T = TypeVar("T")


def cached_pack(folder: Path, below: str, signals: Iterable[str], load: Callable[[], Pack]) -> tuple[Pack, str]:
    """The pack in `folder`, from the cache if it is there, and the key of what its patterns depend on."""
    key = _key(folder, below)
    # Its rules name their file, and are allowed by the signals that there are; its patterns know neither.
    place = hashlib.sha256(f"{folder}|{sorted(signals)}".encode()).hexdigest()[:8]
    return _cached(f"{key}.{place}.pack", _packs, load), key


def cached_patterns(key: str, prepare: Callable[[], dict[str, PreparedPattern]]) -> dict[str, PreparedPattern]:
    """The patterns of the pack with this key, made ready; wherever the pack lies and whatever checks there are."""
    return _cached(f"{key}.patterns", _patterns, prepare)


def cached_bytes(name: str, make: Callable[[], bytes]) -> bytes:
    """Bytes that depend on nothing but their name and the code."""
    return _cached(f"{_native_code()[:32]}.{name}", _bytes, make)


def cached_program(key: str, make: Callable[[], Program]) -> Program:
    """What the native reader runs for the packs with this key."""
    return _cached(f"{key}.{_native_code()[:8]}.program", _programs, make)


def _cached(name: str, decoder: msgspec.msgpack.Decoder[T], make: Callable[[], T]) -> T:
    place = _folder()
    if place is None:
        return make()
    path = place / f"{name}.msgpack"
    with suppress(OSError, msgspec.DecodeError):
        found = decoder.decode(path.read_bytes())
        path.touch()  # what is used is not the oldest, however many packs were tried since
        return found
    made = make()
    with suppress(OSError):
        _keep(path, _encode(made))
    return made


def _key(folder: Path, below: str) -> str:
    digest = hashlib.sha256(f"{_code()}|{below}".encode())
    for path in (folder / MANIFEST, *pack_files(folder)):
        with suppress(OSError):  # the loader says what is wrong with it
            content = path.read_bytes()
            digest.update(f"|{path.name}|{len(content)}|".encode() + content)
    return digest.hexdigest()[:32]


@cache
def _code() -> str:
    """A digest of the code that prepares packs, so that an upgrade does not read what an older version wrote."""
    return _digest_of(Path(__file__).parent)


@cache
def _native_code() -> str:
    """The same for what the compiled reader runs."""
    return _digest_of(Path(__file__).parent / "native")


def _digest_of(folder: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(folder.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _folder() -> Path | None:
    """SYNTHESIS_CACHE (empty: no cache), else the user's cache folder; None where there is none."""
    own = os.environ.get("SYNTHESIS_CACHE")
    if own is not None:
        return Path(own) if own else None
    base = os.environ.get("XDG_CACHE_HOME")
    with suppress(RuntimeError):
        return (Path(base) if base else Path.home() / ".cache") / "synthesis"
    return None


def _keep(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    # Written beside and moved, so that another process never reads half a file.
    beside = path.with_suffix(f".{os.getpid()}.part")
    beside.write_bytes(content)
    beside.replace(path)
    kept = sorted(path.parent.glob("*.msgpack"), key=lambda old: old.stat().st_mtime)
    for old in kept[:-MOST_KEPT]:
        old.unlink()
