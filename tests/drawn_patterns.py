"""Patterns drawn at random out of the language's own parts, for tests that compare ways to match them."""

from hypothesis import strategies as st

ATOMS = ("a", "b", "ab", "aa", "!", " ", "a ", r"\w", "[ab]", "[^a]", r"\b", "b!")
GAPS = (".{0,1}", ".{1,2}", ".{0,4}")
BOUNDS = ("?", "{0,2}", "{1,3}", "{2}", "{0,4}")


def composed(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    sequences = st.lists(parts, min_size=1, max_size=4).map("".join)
    choices = st.lists(sequences, min_size=2, max_size=4).map(lambda options: f"({'|'.join(options)})")
    return sequences | choices | st.builds("(?:{}){}".format, sequences, st.sampled_from(BOUNDS))


def drawn_patterns(*more_atoms: str) -> st.SearchStrategy[str]:
    return st.recursive(st.sampled_from([*ATOMS, *more_atoms, *GAPS]), composed, max_leaves=8)
