"""The similarity of two texts: token cosine by default, or an embedding model."""

from typing import Protocol, runtime_checkable

from synthesis.errors import SimilarityError
from synthesis.rules.reading import Reading

DEFAULT_NAME = "token-cosine"


@runtime_checkable
class EmbeddingAdapter(Protocol):
    """Anything that can say how alike two texts are, from 0 (nothing in common) to 1 (the same)."""

    def similarity(self, text1: str, text2: str) -> float: ...


_adapter: EmbeddingAdapter | None = None  # None: the token cosine


def set_embedding_adapter(adapter: EmbeddingAdapter | None) -> None:
    """Let `adapter` decide how alike texts are, for every later evaluation in this process; None resets it."""
    if adapter is not None and not isinstance(adapter, EmbeddingAdapter):
        raise SimilarityError(
            f"{type(adapter).__name__} is not an embedding adapter",
            hint="An adapter has a method similarity(text1, text2) that returns a number from 0 to 1.",
        )
    global _adapter
    _adapter = adapter


def adapter_name() -> str:
    """What the report calls the similarity in force."""
    return DEFAULT_NAME if _adapter is None else str(getattr(_adapter, "name", type(_adapter).__name__))


def similarity_of(user: Reading, assistant: Reading) -> float:
    """The similarity by the adapter in force; a value that is not a similarity is an error, never a verdict."""
    if _adapter is None:
        return assistant.cosine_with(user)
    value = _adapter.similarity(user.spoken, assistant.spoken)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
        raise SimilarityError(
            f"the embedding adapter {adapter_name()} returned {value!r}",
            hint="It must be a number from 0 to 1.",
        )
    return float(value)
