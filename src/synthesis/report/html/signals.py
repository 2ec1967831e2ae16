"""How each signal looks: its tone gives the colour and the sign, its own line under the words tells it from others."""

from collections.abc import Mapping

from synthesis.report.verdicts import AGAINST, CONTEXT, FOR

SIGNS = {AGAINST: "−", FOR: "+", CONTEXT: "•"}
TONES = {
    AGAINST: "speaks against the reply",
    FOR: "speaks for the reply",
    CONTEXT: "said by the user, sets the scene",
}
_LINES = 5  # kinds of lines that the style sheet has: solid, double, dashed, dotted, wavy


class SignalStyles:
    """A style class for each signal of a report, the same whatever the order of the results."""

    def __init__(self, signals: Mapping[str, str]) -> None:
        self.tones = dict(sorted(signals.items(), key=lambda item: (list(SIGNS).index(item[1]), item[0])))
        self._line: dict[str, int] = {}
        for tone in SIGNS:
            members = [name for name, own in self.tones.items() if own == tone]
            self._line |= {name: number for number, name in enumerate(members)}

    def classes(self, signal: str) -> str:
        """The classes of a highlighted word; past the fifth signal of a tone the lines are thicker."""
        number = self._line[signal]
        return f"{self.tones[signal]} line{number % _LINES}" + (" thick" if number >= _LINES else "")

    def sign(self, signal: str) -> str:
        return SIGNS[self.tones[signal]]
