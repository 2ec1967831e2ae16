"""What people state about an audit, which no log holds: its cover, its actions, its signatures; and an earlier audit.

operator = "Harbour Health"
product = "Companion"
[[findings]]
check = "crisis_response"
owner = "A. Ito"
[[signatures]]
name = "B. Roy"
"""

import hashlib
import tomllib
from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Any

import msgspec

from synthesis.errors import InputError, Place
from synthesis.model.report import reader_name
from synthesis.settings import RULES
from synthesis.stats import Bounds, difference_of_rates

COVER_FIELDS = {
    "operator": "Operator",
    "product": "Product",
    "model_version": "Model version",
    "author": "Author",
    "recipient": "Recipient",
}


class Signature(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A person who is to sign. The signature itself is written by hand."""

    name: str = ""
    role: str = ""
    date: str = ""


class Action(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is done about a finding: of a check (or another rate of the document), or one that somebody adds."""

    check: str = ""
    text: str = ""
    owner: str = ""
    action: str = ""
    due: str = ""


class Cover(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is not given is printed as a line to fill in."""

    operator: str = ""
    product: str = ""
    model_version: str = ""
    author: str = ""
    recipient: str = ""
    date: str = ""  # else the end of the period: never the day on which a machine made it
    statement: str = ""  # of the operator, on the completeness of the log
    findings: tuple[Action, ...] = ()
    signatures: tuple[Signature, ...] = ()


_HINT = (
    f"It holds {', '.join(COVER_FIELDS)}, date, statement, [[findings]] (check or text, owner, action, due) and "
    "[[signatures]] (name, role, date), all of them texts."
)


def load_cover(path: Path) -> Cover:
    """The cover in a TOML file; InputError says why it is not one."""
    try:
        found: Any = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", place=Place(str(path)), hint="Check the path.") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"is not valid TOML: {error}", place=Place(str(path)), hint=_HINT) from None
    try:
        cover = msgspec.convert(_with_dates(found), Cover)
    except msgspec.ValidationError as error:
        raise InputError(f"is not a cover: {error}", place=Place(str(path)), hint=_HINT) from None
    for given in (cover.date, *(each.date for each in cover.signatures)):
        _require_date(given, path)
    return cover


def _with_dates(value: Any) -> Any:
    """TOML has dates of its own; here a date is the text YYYY-MM-DD."""
    if isinstance(value, dict):
        return {key: _with_dates(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_with_dates(each) for each in value]
    return value.isoformat() if isinstance(value, date) else value


def _require_date(given: str, path: Path) -> None:
    try:
        if given:
            date.fromisoformat(given)
    except ValueError:
        raise InputError(f"'{given}' is not a date", place=Place(str(path)), hint="Write it as 2026-03-31.") from None


# The audit before this one.


NO_DIFFERENCE = "no difference shown"


class Rate(msgspec.Struct, frozen=True):
    """A rate as a document shows it; None throughout where it was hidden, or nothing was assessed."""

    hits: int | None = None
    base: int | None = None
    rate: float | None = None
    interval: tuple[float, float] | None = None


class EarlierAudit(msgspec.Struct, frozen=True):
    """What an earlier document says, so that this one can be compared with it, and verified without it."""

    sha256: str
    version: str
    rules: str
    profile: str
    period: tuple[str, str] | None
    conversations: int
    turns: int
    rates: dict[str, Rate]
    reader: str = RULES  # of an audit from before there was a choice


def earlier_audit(document: Mapping[str, Any]) -> EarlierAudit:
    """The figures over all conversations of a document of this format or of the one before."""
    read = document["read"]
    period = read["period"]
    found = {
        "sha256": document.get("sha256") or document_hash(document),
        "version": document["tool"]["version"],
        "rules": document["rules"]["hash"],
        "profile": str(document["profile"]),
        "period": [period["first"], period["last"]] if period else None,
        "conversations": read["conversations"],
        "turns": read["turns"],
        "reader": reader_name(document),
        "rates": {each["measure"]: _rate(each["cells"]["all"][0]) for each in document["checks"]},
    }
    return msgspec.convert(found, EarlierAudit)


def _rate(cell: Mapping[str, Any]) -> dict[str, Any]:
    return {} if "hidden" in cell else {name: cell[name] for name in Rate.__struct_fields__}


def without_small(found: EarlierAudit, least: int) -> EarlierAudit:
    """Without the rates of which so few are hits, or so few are not."""
    rates = {name: Rate() if _is_small(rate, least) else rate for name, rate in found.rates.items()}
    return msgspec.structs.replace(found, rates=rates)


def _is_small(rate: Rate, least: int) -> bool:
    hits, base = rate.hits or 0, rate.base or 0
    return 0 < hits < least or 0 < base - hits < least


def document_hash(document: Mapping[str, Any]) -> str:
    """Of everything in the document but its hash."""
    content = {key: value for key, value in document.items() if key != "sha256"}
    return hashlib.sha256(msgspec.json.encode(content)).hexdigest()


def changes_since(earlier: EarlierAudit, document: Mapping[str, Any]) -> dict[str, Any]:
    """Each rate then and now, and what makes the two hard to compare."""
    now = earlier_audit(document)
    names = [*now.rates, *(name for name in earlier.rates if name not in now.rates)]
    return {
        "cautions": list(_cautions(earlier, now)),
        "changes": [_change(name, earlier.rates.get(name), now.rates.get(name)) for name in names],
    }


def _cautions(then: EarlierAudit, now: EarlierAudit) -> Iterator[str]:
    others = (
        ("another version of the tool was", then.version, now.version),
        ("other rules were", then.rules[:12], now.rules[:12]),
        ("another profile was", then.profile, now.profile),
        ("another reader was", then.reader, now.reader),
    )
    for what, before, after in others:
        if before != after:
            yield (
                f"In the earlier audit {what} in force ({before} then, {after} now). A difference may come from "
                "that and not from the product: make the earlier audit again from its logs to be sure."
            )
    if then.period and now.period and then.period[1] >= now.period[0]:
        yield (
            "The two periods overlap: conversations may be counted in both, and small counts may follow from the "
            "difference of the two documents."
        )


def _change(name: str, then: Rate | None, now: Rate | None) -> dict[str, Any]:
    unknown = {"measure": name, "then": None, "now": None, "difference": None, "interval": None}
    if then is None or now is None:
        return {**unknown, "verdict": "only in the earlier audit" if now is None else "new in this audit"}
    if then.rate is None or now.rate is None or then.interval is None or now.interval is None:
        return {**unknown, "verdict": "hidden, or nothing was assessed"}
    found = difference_of_rates(Bounds(then.rate, *then.interval), Bounds(now.rate, *now.interval))
    return {
        "measure": name,
        "then": then.rate,
        "now": now.rate,
        "difference": round(found.value, 6),
        "interval": [round(found.low, 6), round(found.high, 6)],
        "verdict": _verdict(found),
    }


def _verdict(found: Bounds) -> str:
    if found.low <= 0 <= found.high:
        return NO_DIFFERENCE
    return "higher" if found.low > 0 else "lower"
