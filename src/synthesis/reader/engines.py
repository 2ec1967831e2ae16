"""Which engine reads: the compiled one, else NumPy, else plain Python. They differ in speed alone."""

import warnings
from collections.abc import Callable

from synthesis.errors import OptionError, did_you_mean
from synthesis.reader.compiled import CompiledEngine
from synthesis.reader.reference import Engine, PythonEngine
from synthesis.reader.weights import Weights
from synthesis.rules.native.library import NativeReaderError, library


def engine(weights: Weights, prefer: str | None = None) -> Engine:
    """The quickest engine that there is, or the one that is asked for."""
    if prefer is not None and prefer not in ENGINES:
        raise OptionError(f"there is no engine '{prefer}'", hint=did_you_mean(prefer, ENGINES))
    for name in ENGINES if prefer is None else (prefer,):
        made = ENGINES[name](weights)
        if made is not None:
            return made
    raise OptionError(f"the engine '{prefer}' is not here", hint=_HINTS[prefer or ""])


def _compiled(weights: Weights) -> Engine | None:
    compiled = library()
    if compiled is None:
        return None
    try:
        return CompiledEngine(weights, compiled)
    except NativeReaderError as error:
        warnings.warn(f"{error}; another engine scores texts", stacklevel=3)
        return None


def _numpy(weights: Weights) -> Engine | None:
    try:
        from synthesis.reader.vectors import NumpyEngine
    except ImportError:
        return None
    return NumpyEngine(weights)


ENGINES: dict[str, Callable[[Weights], Engine | None]] = {
    "compiled": _compiled,
    "numpy": _numpy,
    "python": PythonEngine,
}
_HINTS = {
    "compiled": "It is built by `pip install` where cargo is, and switched off by SYNTHESIS_NATIVE=0.",
    "numpy": "Install it with: pip install numpy",
}
