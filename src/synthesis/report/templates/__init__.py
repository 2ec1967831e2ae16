"""The templates of reports and pages, and the one environment that draws them: everything that they show is escaped."""

import base64
import hashlib
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, cast

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from synthesis._version import __version__
from synthesis.report.findings import DISCLAIMER, KINDS, LEARNED_SIGN, MARKS, SIGNS, count, how_to_read, is_unseen

OWN_TOOL = {"name": "synthesis-eval", "version": __version__}
_HERE = Path(__file__).parent
_WHITE = {"\n", "\t"}
_BUFFERED = 50  # pieces of a document that are written together
Macro = Callable[..., Markup]


@cache
def environment(*more: Path) -> Environment:
    """Draws the templates of this folder, and those of further folders, which may use them."""
    made = Environment(
        loader=FileSystemLoader([_HERE, *more]),
        autoescape=True,
        auto_reload=False,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_spelled,
    )
    made.filters |= {"shown": shown}
    made.globals |= {
        "count": count,
        "disclaimer": DISCLAIMER,
        "file": file,
        "kinds_in_words": KINDS,
        "marks_in_words": MARKS,
        "sha256": _sha256,
        "signs": SIGNS,
        "learned_sign": LEARNED_SIGN,
        "how_to_read": how_to_read,
        "version": __version__,
    }
    return made


@cache
def macro(template: str, name: str) -> Macro:
    """A macro as a function, for a part that Python asks for."""
    return cast(Macro, getattr(environment().get_template(template).module, name))


def stream(template: str, **values: Any) -> Iterator[str]:
    """A document piece by piece: however long it is, it is never in memory as a whole."""
    drawn = environment().get_template(template).stream({"tool": OWN_TOOL, **values})
    drawn.enable_buffering(_BUFFERED)
    return drawn


@cache
def file(name: str) -> Markup:
    """A style or script of this folder, to be put into a document as it is."""
    return Markup((_HERE / name).read_text(encoding="utf-8"))


def _sha256(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def shown(text: str) -> Markup:
    """What somebody said: escaped, with characters that nobody would see made visible."""
    safe = escape(text.replace("\r\n", "\n"))
    if safe.isascii() and safe.isprintable():
        return safe
    for char in _unseen(safe):
        safe = safe.replace(char, Markup(f'<span class="unseen">[U+{ord(char):04X}]</span>'))
    return safe


def _spelled(value: Any) -> Any:
    """Every value that a template shows goes through here; in an attribute there is no room for markup."""
    if type(value) is not str or (value.isascii() and value.isprintable()):
        return value
    for char in _unseen(value):
        value = value.replace(char, f"[U+{ord(char):04X}]")
    return value


def _unseen(text: str) -> list[str]:
    return [char for char in sorted(set(text) - _WHITE) if is_unseen(char)]
