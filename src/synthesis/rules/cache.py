"""Prepared packs are cached: loading them takes milliseconds instead of seconds.

A pack is stored under a key made of everything it depends on: its files, the packs below it, and the code that reads
it, so an entry is never out of date. A cache that cannot be read or written is not an error: the pack is then prepared
again. The same holds for what else a start would make from files: the index of all packs (`stack.py`), the words that
languages are recognised by, and YAML documents of the package in parsed form.

The bundled packs are prepared when the package is built (`hatch_build.py`), under the same keys: they stand beside the
code, compressed, and are unpacked into the cache when they are first used.
"""

import hashlib
import os
import unicodedata
import zlib
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeVar
from weakref import WeakValueDictionary

import msgspec

from synthesis import documents
from synthesis.documents import KeptNode, load_yaml, read_yaml
from synthesis.errors import OutputError
from synthesis.io import replaced
from synthesis.model.texts import Texts
from synthesis.rules.detection import NEIGHBOURS
from synthesis.rules.loader import TEXTS, pack_files
from synthesis.rules.native.program import VERSION, DetectionProgram, Image, character_tables
from synthesis.rules.pattern import PreparedPattern
from synthesis.rules.schema import Pack
from synthesis.rules.stack import Index, KnownWords
from synthesis.rules.text import MANIFEST

SHIPPED: Path | None = Path(__file__).parent / "prepared"
MOST_KEPT = 256  # files: some 40 for the bundled packs, the rest for user packs and other versions
_packs = msgspec.msgpack.Decoder(Pack)
_patterns = msgspec.msgpack.Decoder(dict[str, PreparedPattern])
_images = msgspec.msgpack.Decoder(Image)
_bytes = msgspec.msgpack.Decoder(bytes)
_documents = msgspec.msgpack.Decoder(dict[str, KeptNode])
_values = msgspec.msgpack.Decoder(Any)
_indexes = msgspec.msgpack.Decoder(Index)
_words = msgspec.msgpack.Decoder(KnownWords)
_texts = msgspec.msgpack.Decoder(Texts)
_detections = msgspec.msgpack.Decoder(DetectionProgram)
_encode = msgspec.msgpack.Encoder(order="deterministic").encode  # sets in one order, whatever the hash seed
_encode_in_order = msgspec.msgpack.Encoder().encode  # for what has no sets: mappings stay as they are written
_loaded: WeakValueDictionary[tuple[str, Path], Pack] = WeakValueDictionary()  # packs that are in use in this process
T = TypeVar("T")


def cached_pack(folder: Path, key: str, signals: Iterable[str], load: Callable[[], Pack]) -> Pack:
    """The pack in `folder`, from the cache if it is there; `key` is that of what its patterns depend on."""
    # Its rules are allowed by the signals that there are; its patterns do not know them.
    allowed = hashlib.sha256(f"{sorted(signals)}".encode()).hexdigest()[:8]
    name = f"{key}.{allowed}.pack"
    pack = _loaded.get((name, folder))
    if pack is None:
        pack = _in_folder(_cached(name, _packs, lambda: _in_folder(load(), None)), folder)
        _loaded[name, folder] = pack
    return pack


def _in_folder(pack: Pack, folder: Path | None) -> Pack:
    """The pack, its rules with the place of their file; None: with its name, which is the same wherever it lies."""
    place = "" if folder is None else f"{folder}{os.sep}"
    for rule in pack.rules:
        msgspec.structs.force_setattr(rule, "file", place + os.path.basename(rule.file))
    return pack


def cached_patterns(key: str, prepare: Callable[[], dict[str, PreparedPattern]]) -> dict[str, PreparedPattern]:
    """The patterns of the pack with this key, made ready; wherever the pack lies and whatever checks there are."""
    return _cached(f"{key}.patterns", _patterns, prepare)


def cached_index(key: str, make: Callable[[], Index]) -> Index:
    """What is known of all packs with this key together."""
    return _cached(f"{key}.index", _indexes, make)


def cached_words(key: str, make: Callable[[], KnownWords]) -> KnownWords:
    """What the languages of the packs with this key are recognised by."""
    return _cached(f"{key}.words", _words, make, _encode_in_order)


def cached_texts(folder: Path, load: Callable[[], Texts]) -> Texts:
    """What the pack in `folder` says in its language."""
    return _cached(f"{_content_key([folder / TEXTS], _code())}.texts", _texts, load, _encode_in_order)


def cached_documents(paths: Sequence[Path], hint: str) -> dict[str, KeptNode]:
    """YAML files that travel with the package, parsed, by name."""
    read = partial(_read_documents, paths, hint)
    return _cached(f"{_content_key(paths, _parsing_code())}.documents", _documents, read, _encode_in_order)


def _read_documents(paths: Iterable[Path], hint: str) -> dict[str, KeptNode]:
    return {path.name: read_yaml(path, hint).kept() for path in paths}


def cached_values(path: Path) -> Any:
    """The values of a YAML file that travels with the package."""
    read = partial(load_yaml, path)
    return _cached(f"{_content_key([path], _parsing_code())}.values", _values, read, _encode_in_order)


def cached_tables() -> bytes:
    """What this version of Python knows about characters, for the native reader."""
    return _cached(f"{_native_code()[:32]}.characters-{VERSION}", _bytes, character_tables)


def cached_image(key: str, make: Callable[[], Image]) -> Image:
    """What the compiled library runs for the packs with this key."""
    return _cached(f"{key}.{_native_code()[:8]}.image", _images, make)


def cached_detection(key: str, make: Callable[[], DetectionProgram]) -> DetectionProgram:
    """What the native reader tells languages apart by, for the packs with this key."""
    return _cached(f"{key}.{_native_code()[:8]}.detection.program", _detections, make)


def _cached(
    name: str, decoder: msgspec.msgpack.Decoder[T], make: Callable[[], T], encode: Callable[[T], bytes] = _encode
) -> T:
    place = _folder()
    path = place / f"{name}.msgpack" if place else None
    if path is not None:
        with suppress(OSError, msgspec.DecodeError):
            found = decoder.decode(path.read_bytes())
            path.touch()  # what is used is not the oldest, however many packs were tried since
            return found
    content = _shipped(name)
    if content is not None:
        with suppress(msgspec.DecodeError):
            found = decoder.decode(content)
            _keep_if_possible(path, content)  # the next start need not unpack it
            return found
    made = make()
    _keep_if_possible(path, encode(made))
    return made


def _shipped(name: str) -> bytes | None:
    """What was prepared when the package was built."""
    if SHIPPED is not None:
        with suppress(OSError, zlib.error):
            return zlib.decompress((SHIPPED / f"{name}.zz").read_bytes())
    return None


def _keep_if_possible(path: Path | None, content: bytes) -> None:
    if path is not None:
        with suppress(OSError, OutputError):
            _keep(path, content)


def pack_key(folder: Path, below: str) -> str:
    """Of what the patterns of a pack depend on: its files, the packs below it, the code that prepares them."""
    # What belongs to a word depends on Python's Unicode data, apart from the letters that the bundled packs use.
    unicode = unicodedata.unidata_version if below else ""
    return _content_key((folder / MANIFEST, *pack_files(folder)), f"{_code()}|{below}|{unicode}")


def stack_key(top: str, *further: bytes) -> str:
    """Of what an index depends on: the packs, the highest of which has the key `top`, and what else decides."""
    digest = hashlib.sha256(f"{top}|{_content_key([NEIGHBOURS], _code())}".encode())
    for content in further:
        digest.update(f"|{len(content)}|".encode() + content)
    return digest.hexdigest()[:32]


def _content_key(paths: Iterable[Path], also: str) -> str:
    """A digest of files, read piece by piece into one buffer: the bundled packs have six megabytes."""
    digest, buffer = hashlib.sha256(also.encode()), memoryview(bytearray(1 << 18))
    for path in paths:
        with suppress(OSError), path.open("rb", buffering=0) as file:  # the loader says what is wrong with it
            digest.update(f"|{path.name}|".encode())
            size = 0
            while read := file.readinto(buffer):
                digest.update(buffer[:read])
                size += read
            digest.update(f"|{size}|".encode())
    return digest.hexdigest()[:32]


def _code() -> str:
    """A digest of the code that prepares packs, so that an upgrade does not read what an older version wrote."""
    return code_of(Path(__file__).parent)


def _native_code() -> str:
    """The same for what the compiled reader runs."""
    return code_of(Path(__file__).parent / "native")


@cache
def _parsing_code() -> str:
    """The same for what parses YAML."""
    return hashlib.sha256(Path(documents.__file__).read_bytes()).hexdigest()


@cache
def code_of(folder: Path) -> str:
    """A digest of the modules in a folder."""
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
