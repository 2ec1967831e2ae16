"""What appears twice among millions: found in 64-bit hashes, so that memory holds eight bytes for each."""

import hashlib
from array import array

SHARES = 16


def name_hash(name: str) -> int:
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "little", signed=True)


def repeated_places(hashes: "array[int]") -> list[tuple[int, int]]:
    """The first place of each repeated hash with each later one, in the order of the later places."""
    repeated = _repeated(hashes)
    first: dict[int, int] = {}
    pairs = []
    for place, value in enumerate(hashes) if repeated else ():
        if value in repeated and first.setdefault(value, place) != place:
            pairs.append((first[value], place))
    return pairs


def _repeated(hashes: "array[int]") -> set[int]:
    """The hashes that appear more than once; looked for in shares, so that no set of all of them is needed."""
    repeated: set[int] = set()
    for share in range(SHARES):
        seen: set[int] = set()
        for value in hashes:
            if value % SHARES == share:
                (repeated if value in seen else seen).add(value)
    return repeated
