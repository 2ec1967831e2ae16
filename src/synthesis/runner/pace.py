"""How fast a run is and how long it will take, from what is finished; nothing is made up in between."""

import time
from collections import deque
from collections.abc import Callable

WINDOW = 20.0  # seconds that count for the pace: long enough to be steady, short enough to follow a change
Clock = Callable[[], float]


class Pace:
    """Takes what is finished as it comes. Rows are what people count; `done` of `total` is what the time left needs."""

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._begun = clock()
        self._notes: deque[tuple[float, int, int]] = deque([(self._begun, 0, 0)])  # when, rows, done
        self.rows = 0
        self.done = 0
        self.total = 0

    def note(self, rows: int, done: int, total: int) -> None:
        """So many rows are finished, and so much of a total (0: unknown)."""
        now = self._clock()
        self.rows, self.done, self.total = rows, done, total
        self._notes.append((now, rows, done))
        while len(self._notes) > 2 and self._notes[1][0] < now - WINDOW:
            self._notes.popleft()

    @property
    def elapsed(self) -> float:
        return self._clock() - self._begun

    @property
    def rows_per_second(self) -> float | None:
        """None before the first rows."""
        return self._speed(1)

    @property
    def seconds_left(self) -> float | None:
        """Counts down between two notes; None where the total is unknown, or where the estimate has run out."""
        speed = self._speed(2)
        if not speed or not self.total:
            return None
        left = (self.total - self.done) / speed - (self._clock() - self._notes[-1][0])
        return left if left > 0 else None

    def _speed(self, field: int) -> float | None:
        first, last = self._notes[0], self._notes[-1]
        seconds = last[0] - first[0]
        return (last[field] - first[field]) / seconds if seconds > 0 and last[field] > first[field] else None


def duration(seconds: float) -> str:
    """`40 s`, `2 min 5 s`, `3 h 10 min`."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
