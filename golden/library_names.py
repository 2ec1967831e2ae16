"""Print every public name with its signature and members; where a type lives inside the package is left out."""

import inspect
import re
from collections.abc import Iterator

import synthesis


def described(name: str) -> Iterator[str]:
    thing = getattr(synthesis, name)
    yield f"{name}: {type(thing).__name__} {signature(thing)}"
    if inspect.isclass(thing):
        yield f"  bases {[base.__name__ for base in thing.__mro__[1:] if base.__module__.startswith('synthesis')]}"
        for member in sorted(member for member in dir(thing) if not member.startswith("_")):
            yield f"  {member} {signature(getattr(thing, member))}"


def signature(thing: object) -> str:
    try:
        drawn = str(inspect.signature(thing)) if callable(thing) else type(thing).__name__
    except (TypeError, ValueError):
        return "no signature"
    return re.sub(r"\bsynthesis(\.\w+)*\.(\w+)", r"\2", re.sub(r" at 0x[0-9a-f]+", "", drawn))


for public in synthesis.__all__:
    if public != "__version__":
        print("\n".join(described(public)))
