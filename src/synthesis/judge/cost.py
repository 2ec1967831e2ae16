"""What a run costs: prices per model, every token that was paid for, and the calls whose cost is not known."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from synthesis.documents import read_document
from synthesis.errors import Place, TestSetError
from synthesis.judge.ledger import Call, IterationLedger, Ledger, Price, RunLine
from synthesis.judge.model import TokenUsage

_HINT = "A price file maps model names to USD per million tokens: {gpt-4o-mini: {input: 0.15, output: 0.60}}."
_MILLION = 1_000_000


class FilePrice(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One entry of a price file."""

    input: float
    output: float


def find_price(model: str, provider: str, price_file: Path | None = None) -> Price | None:
    """The price of a model: from the user's file, else from the installed table; None is not known."""
    if price_file is not None:
        prices = _read_prices(price_file)
        named = prices.get(model) or prices.get(_bare_name(model))
        if named is not None:
            return Price(named.input, named.output, f"price file {price_file.name}")
    return _table_price(model, provider)


def _bare_name(model: str) -> str:
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


def _read_prices(path: Path) -> dict[str, FilePrice]:
    prices = read_document(path, dict[str, FilePrice], _HINT)
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
    # A gateway may call a vendor's model by its bare name: then the vendor's own price is the likeliest.
    for provider_id, reference in ((provider, model), (vendor or provider, name), (None, name)):
        try:
            million = [_rate(reference, provider_id, kind) for kind in ("input_tokens", "output_tokens")]
        except LookupError:
            continue
        return Price(million[0], million[1], f"genai-prices {genai_prices.__version__}")
    return None


def _rate(model: str, provider: str | None, kind: str) -> float:
    """USD per million, asked for with few tokens so that surcharges for very long prompts stay out."""
    import genai_prices

    tokens = 1_000
    calculation = genai_prices.calc_price(genai_prices.Usage(**{kind: tokens}), model, provider_id=provider)
    return float(calculation.total_price * (_MILLION // tokens))


def iteration_cost(ledger: Ledger, run: RunLine, number: int, judged: int, timestamp: str) -> dict[str, Any]:
    """The cost file of one iteration."""
    work = ledger.iteration(number)
    usage = _usage(ledger, work)
    unmetered = sum(used.input_tokens == 0 for used in usage)
    return {
        "iteration": number,
        "timestamp": timestamp,
        "testSetName": run.test_set_name,
        "judgeModel": run.judge.model,
        "judgeProvider": run.judge.provider,
        "samples": judged,
        "totalTokens": _tokens(usage),
        "totalCost": None if unmetered else total(run.price, usage),
        "tokenUsage": msgspec.to_builtins(usage),
        "price": msgspec.to_builtins(run.price),
        "callsWithoutUsage": unmetered,
        "unaccountedCalls": [_unaccounted(ledger, call) for call in work.unaccounted()],
        **({"note": _unknown(run, unmetered)} if usage and (unmetered or run.price is None) else {}),
    }


def final_cost(costs: Sequence[dict[str, Any]], run: RunLine, timestamp: str) -> dict[str, Any]:
    """The cost file over all iterations."""
    samples = sum(cost["samples"] for cost in costs)
    known = [cost["totalCost"] for cost in costs if cost["totalCost"] is not None]
    spent = round(sum(known), 10) if len(known) == len(costs) else None
    return {
        "iterations": len(costs),
        "timestamp": timestamp,
        "testSetName": run.test_set_name,
        "judgeModel": run.judge.model,
        "judgeProvider": run.judge.provider,
        "aggregateStats": {
            "totalSamples": samples,
            "totalTokens": {
                kind: sum(cost["totalTokens"][kind] for cost in costs) for kind in ("input", "output", "total")
            },
            "totalCost": spent,
            "averageCostPerSample": None if spent is None or not samples else spent / samples,
            "unaccountedCalls": sum(len(cost["unaccountedCalls"]) for cost in costs),
        },
        "perIterationCosts": list(costs),
    }


def spent_so_far(ledger: Ledger, run: RunLine) -> float:
    """What counts against a cap: all that was billed to this judge here, unknown costs at their worst."""
    if run.price is None:
        return 0.0
    spent = 0.0
    for number in ledger.worked_iterations():
        work = ledger.iteration(number)
        spent += total(run.price, _usage(ledger, work)) or 0.0
        spent += sum(run.price.of(*call.begun.worst) for call in work.unaccounted())
    return spent


def _usage(ledger: Ledger, work: IterationLedger) -> list[TokenUsage]:
    """In the order of the set; then what was paid for texts and samples that are no longer in it."""
    now = [(sample.hash, sample.fingerprint) for sample in ledger.samples]
    known = set(now)
    texts = {(call.begun.h, call.begun.f): None for call in work.calls.values()}
    texts |= {(hash_, print_): None for hash_, lines in work.verdicts.items() for print_ in lines}
    return [usage for text in (*now, *(t for t in texts if t not in known)) for usage in work.usage(*text)]


def _tokens(usage: Sequence[TokenUsage]) -> dict[str, int]:
    counts = {
        "input": sum(used.input_tokens for used in usage),
        "output": sum(used.output_tokens for used in usage),
    }
    return {**counts, "total": counts["input"] + counts["output"]}


def _unaccounted(ledger: Ledger, call: Call) -> dict[str, Any]:
    return {
        "queryLogId": ledger.query_log_id(call.begun.h),
        "hash": call.begun.h,
        "startedAt": call.begun.at,
        "reason": call.lost or "the process ended before the reply",
    }


def _unknown(run: RunLine, unmetered: int) -> str:
    if run.price is None:
        return f"The price of {run.judge.model} is not known; add it with --price-file."
    return f"{unmetered} calls came back without a count of tokens, so the cost is not known."
