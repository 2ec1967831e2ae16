"""Prepared packs are cached: loading them takes milliseconds instead of seconds.

A pack is stored under a key made of everything it depends on: its files, the packs below it, and the code that reads
it, so an entry is never out of date. A cache that cannot be read or written is not an error: the pack is then prepared
again.

The bundled packs are prepared when the package is built (`hatch_build.py`), under the same keys: they stand beside the
code, compressed, and are looked for first.
"""

import hashlib
import os
import unicodedata
import zlib
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TypeVar
from weakref import WeakValueDictionary

import msgspec

from synthesis.errors import OutputError
from synthesis.io import replaced
from synthesis.rules.loader import pack_files
from synthesis.rules.native.program import VERSION, Program, character_tables
from synthesis.rules.pattern import PreparedPattern
from synthesis.rules.schema import Pack
from synthesis.rules.text import MANIFEST

SHIPPED: Path | None = Path(__file__).parent / "prepared"
MOST_KEPT = 256  # files: some 25 for the bundled packs, the rest for user packs and other versions
_packs = msgspec.msgpack.Decoder(Pack)
_patterns = msgspec.msgpack.Decoder(dict[str, PreparedPattern])
_programs = msgspec.msgpack.Decoder(Program)
_bytes = msgspec.msgpack.Decoder(bytes)
_encode = msgspec.msgpack.Encoder(order="deterministic").encode  # sets in one order, whatever the hash seed
_loaded: WeakValueDictionary[tuple[str, Path], Pack] = WeakValueDictionary()  # packs that are in use in this process
T = TypeVar("T")


def cached_pack(folder: Path, below: str, signals: Iterable[str], load: Callable[[], Pack]) -> tuple[Pack, str]:
    """The pack in `folder`, from the cache if it is there, and the key of what its patterns depend on."""
    key = _key(folder, below)
    # Its rules are allowed by the signals that there are; its patterns do not know them.
    allowed = hashlib.sha256(f"{sorted(signals)}".encode()).hexdigest()[:8]
    name = f"{key}.{allowed}.pack"
    pack = _loaded.get((name, folder))
    if pack is None:
        pack = _in_folder(_cached(name, _packs, lambda: _in_folder(load(), None)), folder)
        _loaded[name, folder] = pack
    return pack, key


def _in_folder(pack: Pack, folder: Path | None) -> Pack:
    """The pack, its rules with the place of their file; None: with its name, which is the same wherever it lies."""
    place = "" if folder is None else f"{folder}{os.sep}"
    for rule in pack.rules:
        msgspec.structs.force_setattr(rule, "file", place + os.path.basename(rule.file))
    return pack


def cached_patterns(key: str, prepare: Callable[[], dict[str, PreparedPattern]]) -> dict[str, PreparedPattern]:
    """The patterns of the pack with this key, made ready; wherever the pack lies and whatever checks there are."""
    return _cached(f"{key}.patterns", _patterns, prepare)


def cached_tables() -> bytes:
    """What this version of Python knows about characters, for the native reader."""
    return _cached(f"{_native_code()[:32]}.characters-{VERSION}", _bytes, character_tables)


def cached_program(key: str, make: Callable[[], Program]) -> Program:
    """What the native reader runs for the packs with this key."""
    return _cached(f"{key}.{_native_code()[:8]}.program", _programs, make)


def _cached(name: str, decoder: msgspec.msgpack.Decoder[T], make: Callable[[], T]) -> T:
    if SHIPPED is not None:
        with suppress(OSError, zlib.error, msgspec.DecodeError):
            return decoder.decode(zlib.decompress((SHIPPED / f"{name}.zz").read_bytes()))
    place = _folder()
    if place is None:
        return make()
    path = place / f"{name}.msgpack"
    with suppress(OSError, msgspec.DecodeError):
        found = decoder.decode(path.read_bytes())
        path.touch()  # what is used is not the oldest, however many packs were tried since
        return found
    made = make()
    with suppress(OSError, OutputError):
        _keep(path, _encode(made))
    return made


def _key(folder: Path, below: str) -> str:
    # What belongs to a word depends on Python's Unicode data, apart from the letters that the bundled packs use.
    unicode = unicodedata.unidata_version if below else ""
    digest = hashlib.sha256(f"{_code()}|{below}|{unicode}".encode())
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
    with replaced(path, private=True, durable=False) as file:
        file.write(content)
    kept = sorted(path.parent.glob("*.msgpack"), key=lambda old: old.stat().st_mtime)
    for old in kept[:-MOST_KEPT]:
        old.unlink()
