"""The compiled reader, called through ctypes: what it takes and gives is flat arrays of numbers.

A library that is missing, of another version or switched off (`SYNTHESIS_NATIVE=0`) is no error: Python does the work.
"""

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

from synthesis.rules.native.sections import NUMBER

SWITCH = "SYNTHESIS_NATIVE"
INTERFACE = 3
FILE = Path(__file__).with_name(
    "synthesis_native" + {"win32": ".dll", "cygwin": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so")
)
HEAD = 5  # numbers of each text in an answer: its status, hits and sentences, start and end of its anchor
DONE, DECLINED, EXHAUSTED, NOT_REACHED = range(4)


class NativeReaderError(Exception):
    """The compiled reader failed where it should not: a fault of ours. It is caught, and Python does the work."""


class _Numbers(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("length", ctypes.c_size_t), ("capacity", ctypes.c_size_t)]


class Library:
    """The functions of the compiled reader."""

    def __init__(self, path: Path) -> None:
        self._functions = ctypes.CDLL(str(path))
        if self._functions.synthesis_interface() != INTERFACE:
            raise NativeReaderError("the compiled reader is of another version")

    def make(self, kind: str, *arguments: Any, keep: Sequence[object] = ()) -> "Handle":
        """A new object of the library; `keep` lives as long as it does."""
        made = ctypes.c_void_p()
        self.call(kind, *arguments, ctypes.byref(made))
        free = getattr(self._functions, f"synthesis_free_{'selection' if kind == 'select' else kind}")
        return Handle(made.value, free, keep)

    def call(self, name: str, *arguments: Any) -> list[int]:
        """The numbers that a function answers with."""
        answer = _Numbers()
        status = getattr(self._functions, f"synthesis_{name}")(*arguments, ctypes.byref(answer))
        try:
            content = ctypes.string_at(answer.data, answer.length * 4) if answer.length else b""
        finally:
            self._functions.synthesis_free(ctypes.byref(answer))
        if status:
            raise NativeReaderError(f"the native reader failed: {content.decode('utf-32')}")
        return memoryview(content).cast(NUMBER).tolist()


class Handle:
    """An object inside the library, freed with this one."""

    def __init__(self, address: int | None, free: Callable[..., object], keep: Sequence[object] = ()) -> None:
        self._as_parameter_ = ctypes.c_void_p(address)
        self._keep = keep
        weakref.finalize(self, free, self._as_parameter_).atexit = False  # the process then frees everything at once


def flat(numbers: bytes) -> tuple[Any, ctypes.c_size_t]:
    """Numbers as a function of the library takes them: where they are and how many."""
    return numbers, ctypes.c_size_t(len(numbers) // 4)


def encoded(texts: Sequence[str]) -> tuple[Any, ...]:
    """Texts as code points one behind the other, and where each ends; lone surrogates stay what they are."""
    ends = array(NUMBER, accumulate(map(len, texts)))
    return *flat("".join(texts).encode(_CODE_POINTS, "surrogatepass")), *flat(ends.tobytes())


_CODE_POINTS = "utf-32-le" if sys.byteorder == "little" else "utf-32-be"


def numbers_of(numbers: Iterable[int]) -> tuple[Any, ctypes.c_size_t]:
    return flat(array(NUMBER, numbers).tobytes())


@cache
def library() -> Library | None:
    """The compiled reader, if it is there and not switched off."""
    if os.environ.get(SWITCH) == "0":
        return None
    try:
        return Library(FILE)
    except (OSError, AttributeError, NativeReaderError):
        return None


def why_not() -> str | None:
    """Why there is no compiled reader, in words for a person; None if there is one."""
    if library() is not None:
        return None
    if os.environ.get(SWITCH) == "0":
        return f"{SWITCH}=0"
    return "it could not be loaded" if FILE.exists() else "it was not built: cargo was missing, or the build failed"
