"""The cover and the one page that a reader of an audit should know."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from synthesis.audit.counting import ALL, CUE, NOT_REFERRED
from synthesis.audit.document import percent, worst_first
from synthesis.audit.handover import COVER_FIELDS
from synthesis.audit.parts import (
    FILL_IN,
    HIDDEN,
    REFERRED,
    Document,
    Items,
    Part,
    fails,
    listed,
    number_words,
    ordered,
    rate_words,
    share_words,
    waited,
    without_message,
)
from synthesis.report.findings import count, visible


def cover(document: Document) -> Iterator[tuple[str, str]]:
    """Names and values; what nobody gave begins with `FILL_IN` and names what to write there."""
    given = document["options"]["cover"]
    for key, name in COVER_FIELDS.items():
        yield name, visible(given[key]) or f"{FILL_IN}{name.lower()}"
    yield "Period", _period(document)
    is_given = bool(given["date"]) or document["date"] is None
    yield "Date", f"{document['date'] or f'{FILL_IN}date'}{'' if is_given else ' (the end of the period)'}"
    yield "Made with", f"{document['tool']['name']} {document['tool']['version']}"


def hashes(document: Document) -> Iterator[tuple[str, str]]:
    """What the document was made of, and the document itself."""
    yield "SHA-256 of the log", str(document["input"]["sha256"] or "unknown: the results do not say")
    yield "Hash of the rules", str(document["rules"]["hash"])
    yield "SHA-256 of the document", document["sha256"]


def _period(document: Document) -> str:
    period = document["read"]["period"]
    return f"{period['first']} to {period['last']} (UTC)" if period else "unknown: the log has no times"


# The summary: what a reader should know who reads one page.


def summary(document: Document) -> Iterator[Part]:
    read = document["read"]
    yield (
        f"This audit read {count(read['conversations'], 'conversation')} with {count(read['turns'], 'turn')}"
        f"{f', from {_period(document)}' if read['period'] else '; the log has no times'}. Each figure in brackets is "
        "the range in which the rate lies with 95 % confidence, if the rules read every text correctly."
    )
    yield Items(tuple(_on_crises(document)), lead=True)
    failing = [each for each in worst_first(document["checks"]) if each["measure"] != NOT_REFERRED]
    calm = [each["measure"] for each in failing if not fails(each)]
    told = [
        *(_on_check(each) for each in failing if fails(each)),
        *([f"No reply fails: {listed(calm)}."] if calm else []),
    ]
    yield Items(tuple(told), lead=True)
    yield Items(tuple(_on_trust(document)), lead=True)


def _on_crises(document: Document) -> Iterator[str]:
    """How many crises, how many were referred, and after how long."""
    found, shares = document["crisis"], document["crisis"]["shares"]
    explicit = found["conversations_with_an_explicit_cue"]
    if explicit == 0 and not any(each["measure"] == CUE for each in document["checks"]):
        yield "Crises: not counted, since crisis_response is not among the checks of this audit."
        return
    if explicit == 0:
        yield "Crises: no conversation holds an explicit crisis cue. That does not mean that nobody was in danger."
        return
    if explicit is None:
        yield "Crises: fewer than five conversations hold an explicit crisis cue, so what came of them is not shown."
        return
    yield (
        f"Crises: {explicit:,} conversations hold an explicit crisis cue: "
        f"{share_words(shares['conversations_with_an_explicit_cue'])} of all conversations."
    )
    steps = (("at once", "referred_at_once"), ("only later", "referred_later"), ("never", "not_referred"))
    parts = [_step(words, found[f"conversations_{key}"], shares[f"conversations_{key}"]) for words, key in steps]
    in_all = _step("in all", found[REFERRED], shares[REFERRED])
    yield f"Referred to a crisis service, of these {explicit:,}: {in_all}; {'; '.join(parts)}."
    if wait := waited(found["time_until_the_first_referral"]):
        yield f"Time until the first referral: {wait}."


def _step(words: str, number: int | None, share: Mapping[str, Any] | None) -> str:
    return f"{number_words(number)} {words}{f', {share_words(share)}' if share else ''}"


def _on_check(measure: Mapping[str, Any]) -> str:
    (cell,) = measure["cells"][ALL]
    name = f"{measure['measure']} ({measure['title']})"
    if "hidden" in cell:
        return f"{name}: fewer than five replies fail, or fewer than five conversations were assessed: {HIDDEN}."
    share = rate_words(cell["rate"], cell["interval"])
    of_all = f"{cell['hits']:,} of {cell['base']:,} assessed replies fail"
    return f"{name}: {of_all}, {share}; {_severities(measure['by_severity'])}."


def _severities(found: Mapping[str, int | None]) -> str:
    told = [(kind.replace("_", " "), number) for kind, number in found.items() if number != 0]
    if len(told) == 1:
        return f"all {told[0][0]}"
    return ", ".join(f"{'some' if number is None else f'{number:,}'} {kind}" for kind, number in told)


def _on_trust(document: Document) -> Iterator[str]:
    """How sure it is, what changed, what is missing, who signs."""
    known = [(name, *found) for name, by in document["error_rates"].items() for found in _pooled(by)]
    cues = [one for one in known if one[0] == "crisis_response"]
    if cues:
        told = (f"{found:,} of {positives:,} ({language})" for _, language, found, positives in cues)
        yield (
            "How sure: rules miss some crises. In labelled texts from elsewhere they found, of messages with a crisis "
            f"cue, {listed(list(told))}. So the number of crises here is probably too low. See “Known error rates”."
        )
    yield f"Checked by people: {_people_in_short(document)}"
    yield f"What changed: {_since_in_short(document)}"
    yield f"Completeness: {_completeness_in_short(document)}"
    yield f"Signatures: {_signers(document)}"


def _pooled(by_language: Mapping[str, Sequence[Mapping[str, Any]]]) -> Iterator[tuple[str, int, int]]:
    for language, sources in by_language.items():
        yield language, sum(one["found"] for one in sources), sum(one["positives"] for one in sources)


def _people_in_short(document: Document) -> str:
    if "own_labels" in document:
        return f"{document['own_labels']['sentence']} See “Checked by people”."
    return "nobody has labelled a sample of these conversations, so the rules' errors on them are unknown."


def _since_in_short(document: Document) -> str:
    if "since" not in document:
        return "no earlier audit was given to compare with."
    by_name = {one["measure"]: one for one in document["since"]["changes"]}
    found = [by_name[each["measure"]] for each in ordered(document)]
    # Whether more people are referred is told in any case, also where no difference is shown.
    shown = (one for one in found if one["verdict"] in ("higher", "lower") or one["measure"] == NOT_REFERRED)
    told = [_told(one) for one in shown if one["difference"] is not None]
    rest = "no other rate differs from the last audit by more than chance may explain."
    caution = " Not everything was measured in the same way: see “Change since the last audit”."
    return f"{'; '.join((*told, rest))}{caution if document['since']['cautions'] else ''}"


def _told(one: Mapping[str, Any]) -> str:
    low, high = (f"{100 * bound:+.1f}" for bound in one["interval"])
    return (
        f"{one['measure']} {percent(one['then'])} then and {percent(one['now'])} now, {one['verdict']} "
        f"({low} to {high} points)"
    )


def _completeness_in_short(document: Document) -> str:
    found = document["completeness"]
    refused = (
        f"{count(found['refused'], 'row')} of {found['rows']:,} could not be read"
        if found["refused"]
        else f"all {found['rows']:,} rows could be read"
    )
    gaps = "" if found["days"] is None else f"; {without_message(found)}"
    stated = (
        "the operator's statement is given below"
        if document["options"]["cover"]["statement"]
        else "the operator has stated nothing"
    )
    return f"{refused}{gaps}; {stated}."


def _signers(document: Document) -> str:
    named = [_person(one) for one in document["options"]["cover"]["signatures"] if one["name"] or one["role"]]
    return (
        f"to be signed by {listed(named)}."
        if named
        else "nobody is named to sign; the lines under “Sign-off” are empty."
    )


def _person(one: Mapping[str, str]) -> str:
    name, role = visible(one["name"]), visible(one["role"])
    return f"{name} ({role})" if name and role else name or role
