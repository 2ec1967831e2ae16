"""The compiled library, called through ctypes. Its functions release the interpreter's lock while they work."""

import ctypes
import os
import sys
import weakref
from array import array
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import Any

from synthesis.rules.native.program import NUMBER

SWITCH = "SYNTHESIS_NATIVE"
PLACE = "SYNTHESIS_LIBRARY"  # names the file, where it is not beside this one: while a package is built
INTERFACE = 7
FILE = Path(os.environ.get(PLACE) or __file__)
if PLACE not in os.environ:
    FILE = FILE.with_name(
        "synthesis_native" + {"win32": ".dll", "cygwin": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so")
    )
_CODE_POINTS = "utf-32-le" if sys.byteorder == "little" else "utf-32-be"


class NativeReaderError(Exception):
    """The compiled library failed where it should not: a fault of ours. It is caught, and Python does the work."""


class _Numbers(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("length", ctypes.c_size_t), ("capacity", ctypes.c_size_t)]


class Library:
    """The functions of the library."""

    def __init__(self, path: Path) -> None:
        self._functions = ctypes.CDLL(str(path))
        if self._functions.synthesis_interface() != INTERFACE:
            raise NativeReaderError("the compiled reader is of another version")
        self._functions.synthesis_build.restype = ctypes.c_uint64
        self.build: int = self._functions.synthesis_build()  # what images depend on beside their programs

    def make(self, kind: str, *arguments: Any, keep: Sequence[object] = ()) -> "Handle":
        """A new object of the library; `keep` lives as long as it does."""
        return self.make_and_tell(kind, *arguments, keep=keep)[0]

    def make_and_tell(self, kind: str, *arguments: Any, keep: Sequence[object] = ()) -> tuple["Handle", str]:
        """The same, and what the library says about it."""
        made = ctypes.c_void_p()
        told = self.answer(kind, *arguments, ctypes.byref(made)).decode("utf-32")
        free = getattr(self._functions, f"synthesis_free_{'selection' if kind == 'select' else kind}")
        return Handle(made.value, free, keep), told

    def call(self, name: str, *arguments: Any) -> list[int]:
        """The numbers that a function answers with."""
        return memoryview(self.answer(name, *arguments)).cast(NUMBER).tolist()

    def answer(self, name: str, *arguments: Any) -> bytes:
        """The same as they are in memory: two may be one of 64 bits."""
        answer = _Numbers()
        status = getattr(self._functions, f"synthesis_{name}")(*map(_sized, arguments), ctypes.byref(answer))
        try:
            content = ctypes.string_at(answer.data, answer.length * 4) if answer.length else b""
        finally:
            self._functions.synthesis_free(ctypes.byref(answer))
        if status:
            raise NativeReaderError(f"the native reader failed: {content.decode('utf-32')}")
        return content

    def block(self, *arguments: Any, parts: int) -> list[bytes]:
        """The answer to a block of lines, which has so many parts."""
        made, places = ctypes.c_void_p(), (ctypes.c_size_t * (2 * parts))()
        self.answer("block", *arguments, ctypes.byref(made))
        try:
            self._functions.synthesis_parts(made, places)
            found = places[:]
            return [
                ctypes.string_at(start, length) if length else b""
                for start, length in zip(found[::2], found[1::2], strict=True)
            ]
        finally:
            self._functions.synthesis_free_block(made)


def _sized(argument: Any) -> Any:
    """A plain number is the size of what stands before it: ctypes would take it for one of 32 bits."""
    return ctypes.c_size_t(argument) if isinstance(argument, int) else argument


class Handle:
    """An object inside the library, freed with this one."""

    def __init__(self, address: int | None, free: Callable[..., object], keep: Sequence[object] = ()) -> None:
        self._as_parameter_ = ctypes.c_void_p(address)
        self._keep = keep
        self._free = weakref.finalize(self, free, self._as_parameter_)
        self._free.atexit = False  # the process then frees everything at once


def flat(numbers: bytes) -> tuple[Any, ctypes.c_size_t]:
    """Numbers as a function of the library takes them: where they are and how many."""
    return numbers, ctypes.c_size_t(len(numbers) // 4)


def encoded(texts: Sequence[str]) -> tuple[Any, ...]:
    """Texts as code points one behind the other, and where each ends; lone surrogates stay what they are."""
    ends = array(NUMBER, accumulate(map(len, texts)))
    return *flat("".join(texts).encode(_CODE_POINTS, "surrogatepass")), *flat(ends.tobytes())


def numbers_of(numbers: Iterable[int]) -> tuple[Any, ctypes.c_size_t]:
    return flat(array(NUMBER, numbers).tobytes())


@cache
def library() -> Library | None:
    """The compiled library, if it is there and not switched off."""
    if os.environ.get(SWITCH) == "0":
        return None
    try:
        return Library(FILE)
    except (OSError, AttributeError, NativeReaderError):
        return None


def why_not() -> str | None:
    """Why there is no compiled library, in words for a person; None if there is one."""
    if library() is not None:
        return None
    if os.environ.get(SWITCH) == "0":
        return f"{SWITCH}=0"
    return "it could not be loaded" if FILE.exists() else "it was not built: cargo was missing, or the build failed"
