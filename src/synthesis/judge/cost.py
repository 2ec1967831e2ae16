"""What a run costs: prices per model, the budget that no call may break, and what is simply not known."""

import asyncio
import math
from collections.abc import Mapping
from pathlib import Path

import msgspec

from synthesis.errors import JudgeError, Place, TestSetError
from synthesis.judge import documents
from synthesis.judge.lines import Price
from synthesis.judge.model import TokenUsage

_HINT = "A price file maps model names to USD per million tokens: {gpt-4o-mini: {input: 0.15, output: 0.60}}."
_MILLION = 1_000_000
_ROUNDING = 1e-12  # sums of the same amounts in another order


class FilePrice(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One entry of a price file."""

    input: float
    output: float


class NoFurtherCallError(JudgeError):
    """No call may be sent any more: the cap is reached or the run was stopped. No outcome of the sample."""


def find_price(model: str, provider: str, price_file: Path | None = None) -> Price | None:
    """The price of a model: from the user's file, else from the installed table; None is not known."""
    if price_file is not None:
        prices = _read_prices(price_file)
        named = prices.get(model) or prices.get(bare_name(model))
        if named is not None:
            return Price(named.input, named.output, f"price file {price_file.name}")
    return _table_price(model, provider)


def bare_name(model: str) -> str:
    """A model's name without the vendor in front of it."""
    return model.rpartition("/")[2]


def total(price: Price | None, usage: tuple[TokenUsage, ...] | list[TokenUsage]) -> float | None:
    """What the tokens cost together; None where the price is not known."""
    if not usage:
        return 0.0
    if price is None:
        return None
    spent = price.of(sum(u.input_tokens for u in usage), sum(u.output_tokens for u in usage))
    return round(spent, 10)


class Budget:
    """Room under a cap. Before a call its worst case is reserved; afterwards its real cost is booked."""

    def __init__(
        self, cap: float | None, price: Price | None, spent: float, elsewhere: Mapping[int, float] | None = None
    ) -> None:
        """`spent` counts calls without an answer at their worst; `elsewhere` are those that may yet be answered."""
        self._elsewhere = dict(elsewhere or {})
        self._cap = math.inf if cap is None else cap
        self._price = price
        self.spent = spent
        self._reserved = 0.0
        self._settled = asyncio.Event()

    def known_spending(self) -> float | None:
        """What the run has cost so far; None where the price is not known."""
        return None if self._price is None else self.spent

    async def reserve(self, worst: TokenUsage) -> float:
        """Take room for the worst case; wait while calls under way may still free some."""
        if self._cap == math.inf:
            return 0.0
        amount = self._cost(worst)
        while self.spent + self._reserved + amount > self._cap:
            if self._reserved == 0.0:
                raise NoFurtherCallError(
                    f"the cap of {self._cap:g} USD is reached: {self.spent:.6f} USD are spent, "
                    f"and the next call could cost up to {amount:.6f} USD"
                )
            self._settled.clear()
            await self._settled.wait()
        self._reserved += amount
        return amount

    def settle(self, reserved: float, usage: tuple[TokenUsage, ...]) -> None:
        """Book what a call cost and give back the rest of its room."""
        self._release(reserved, sum(self._cost(used) for used in usage))

    def write_off(self, reserved: float) -> None:
        """A call whose cost nobody knows counts as its worst case."""
        self._release(reserved, reserved)

    def is_overdrawn(self) -> bool:
        """More is spent and reserved than the cap allows; only other processes can bring that about."""
        return self.spent + self._reserved > self._cap + _ROUNDING

    def begun_elsewhere(self, call: int, worst: TokenUsage) -> None:
        """Another process sends a call; until it is answered it counts at its worst."""
        self._elsewhere[call] = self._cost(worst)
        self.spent += self._elsewhere[call]

    def answered_elsewhere(self, call: int, usage: tuple[TokenUsage, ...]) -> None:
        """Another process's call was answered, and this is what it cost."""
        worst = self._elsewhere.pop(call, 0.0)
        if all(used.input_tokens > 0 for used in usage):
            self.spent += sum(self._cost(used) for used in usage) - worst
        self._settled.set()

    def _release(self, reserved: float, spent: float) -> None:
        self._reserved = max(0.0, self._reserved - reserved) if self._reserved - reserved > 1e-15 else 0.0
        self.spent += spent
        self._settled.set()

    def _cost(self, usage: TokenUsage) -> float:
        return self._price.of(usage.input_tokens, usage.output_tokens) if self._price else 0.0


def _read_prices(path: Path) -> dict[str, FilePrice]:
    prices = documents.read_document(path, dict[str, FilePrice], _HINT)
    for model, price in prices.items():
        if not all(math.isfinite(value) and value >= 0 for value in (price.input, price.output)):
            raise TestSetError(f"the price of '{model}' must be 0 or more", place=Place(str(path)), hint=_HINT)
    return prices


def _table_price(model: str, provider: str) -> Price | None:
    """From genai-prices' own table, without network; a vendor's name in front of the model is understood."""
    try:
        import genai_prices
    except ImportError:
        return None
    vendor, _, name = model.rpartition("/")
    for provider_id, reference in ((provider, model), (vendor or provider, name)):
        try:
            million = [_rate(reference, provider_id, kind) for kind in ("input_tokens", "output_tokens")]
        except LookupError:
            continue
        return Price(million[0], million[1], f"genai-prices {genai_prices.__version__}")
    return None


def _rate(model: str, provider: str, kind: str) -> float:
    """USD per million, asked for with few tokens so that surcharges for very long prompts stay out."""
    import genai_prices

    tokens = 1_000
    calculation = genai_prices.calc_price(genai_prices.Usage(**{kind: tokens}), model, provider_id=provider)
    return float(calculation.total_price * (_MILLION // tokens))
