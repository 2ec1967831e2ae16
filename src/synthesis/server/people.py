"""Who labels: people with tokens of their own, from the file of `serve --people`, or names that somebody typed.

The file holds no token, only what proves one: the hash of the session that the token gives. Anyone who reads the file
can neither log in nor forge a cookie. Tokens are made here and have 256 random bits, so a plain hash is enough.
"""

import json
import os
import re
import secrets
import tomllib
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote, unquote

from starlette.requests import Request

from synthesis.errors import OptionError, OutputError, Place
from synthesis.labels.summary import Person, checked_person
from synthesis.server.http import ApiError
from synthesis.server.security import PERSON, proof_of
from synthesis.server.state import server_state

TABLE = "people"
NAME_COOKIE = "synthesis_name"
HINT = "`synthesis serve --people FILE --add-person NAME` adds someone and prints their token."
MOST_PEOPLE = 1000  # every request is compared with all of them
_PROOF = re.compile(r"[0-9a-f]{64}")


def load_people(file: Path) -> tuple[tuple[str, str], ...]:
    """Names and proofs of the people in a file, in its order; OptionError if it cannot be used."""
    try:
        found = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise OptionError(f"cannot be read: {error.strerror}", place=Place(str(file)), hint=HINT) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise OptionError(f"is not valid TOML: {error}", place=Place(str(file)), hint=HINT) from None
    people = found.get(TABLE)
    if not isinstance(people, dict) or not people:
        raise OptionError("names nobody", place=Place(str(file)), hint=f"It needs a table [{TABLE}]. {HINT}")
    if len(people) > MOST_PEOPLE:
        raise OptionError(f"names {len(people)} people", place=Place(str(file)), hint=f"At most {MOST_PEOPLE}.")
    _check(people, file)
    return tuple(people.items())


def _check(people: Mapping[str, object], file: Path) -> None:
    seen: set[str] = set()
    for name, proof in people.items():
        if checked_person(name, verified=True).name != name:
            raise OptionError(f"{name!r} has needless spaces", place=Place(str(file)), hint="Remove them.")
        if name.casefold() in seen:
            hint = "Names that differ in capitals only would be mistaken for each other."
            raise OptionError(f"{name!r} appears twice", place=Place(str(file)), hint=hint)
        if not isinstance(proof, str) or not _PROOF.fullmatch(proof):
            message = f"the entry of {name!r} is not one that --add-person writes"
            raise OptionError(message, place=Place(str(file)), hint=f"Tokens themselves do not belong here. {HINT}")
        seen.add(name.casefold())


def add_person(file: Path, name: str) -> str:
    """Add someone to the file, which is created private, and return their token: it is stored nowhere."""
    person = checked_person(name, verified=True)
    known = load_people(file) if file.exists() else ()
    if person.name.casefold() in {other.casefold() for other, _ in known}:
        hint = "Remove the line first to give this person a new token."
        raise OptionError(f"{person.name!r} is already there", place=Place(str(file)), hint=hint)
    token = secrets.token_urlsafe()
    line = f"{json.dumps(person.name, ensure_ascii=False)} = {json.dumps(proof_of(token.encode()))}\n"
    try:
        with os.fdopen(os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "a", encoding="utf-8") as opened:
            opened.write(line if known else f"[{TABLE}]\n{line}")
    except OSError as error:
        raise OutputError(f"cannot be written: {error.strerror}", place=Place(str(file))) from None
    return token


def person_of(request: Request) -> Person | None:
    """Who labels here: by their token, or by the name that they typed; None if neither is known."""
    if server_state(request).settings.people:
        found: Person | None = request.scope.get(PERSON)
        return found
    try:
        return checked_person(unquote(request.cookies.get(NAME_COOKIE, "")), verified=False)
    except OptionError:
        return None


def name_cookie(person: Person) -> str:
    """The value of the cookie that remembers a typed name."""
    return quote(person.name)


def need_token() -> ApiError:
    """The refusal of someone who came in by the shared token, or without one, where people have their own."""
    message = "Labels are given by people with a token of their own."
    return ApiError(403, "own_token_needed", message, "Log out, and log in with your own token.")
