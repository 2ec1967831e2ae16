"""Collects everything that is wrong with one file, so that its owner mends it in one go."""

from synthesis.errors import SHOWN_PROBLEMS, Place, TestSetError, shorten


class Problems:
    """What is wrong with one file; raises it all together, the first hundred in words."""

    def __init__(self, file: str, *, hint: str) -> None:
        self.file = file
        self.hint = hint
        self.total = 0
        self._shown: list[str] = []

    def add(self, where: str, message: str) -> None:
        self.total += 1
        if len(self._shown) < SHOWN_PROBLEMS:
            self._shown.append(f"{where}: {message}" if where else message)

    def raise_if_any(self) -> None:
        if not self.total:
            return
        raise TestSetError(self._message(), place=Place(self.file), hint=self.hint)

    def _message(self) -> str:
        if self.total == 1:
            return self._shown[0]
        more = [f"... and {self.total - len(self._shown)} more"] if self.total > len(self._shown) else []
        return "\n  ".join([f"{self.total} problems", *self._shown, *more])


def named(position: str, name: object) -> str:
    """`case 3 (q-17)`: where something stands, and what it calls itself if it does so properly."""
    return f"{position} ({shorten(name)})" if isinstance(name, str) and name.strip() else position


def listing(names: list[str], shown: int = 20) -> str:
    """The names, the first ones in full and the rest as a count."""
    more = f" and {len(names) - shown} more" if len(names) > shown else ""
    return ", ".join(shorten(name) for name in names[:shown]) + more


def kind_of(value: object) -> str:
    """What a JSON reader calls this value."""
    kinds = {type(None): "null", bool: "a boolean", str: "a text", list: "an array", dict: "an object"}
    return kinds.get(type(value), "a number")
