"""People with tokens of their own: how they are added, and how the server knows them."""

from pathlib import Path
from typing import Any

import pytest
from helpers import CommandLine

from synthesis.errors import OptionError
from synthesis.server.security import COOKIE, ServerSettings, add_person, load_people, session_of

SHARED = "a token that is long enough"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "people.toml"


def test_a_token_is_shown_once_and_stored_nowhere(file: Path) -> None:
    token = add_person(file, "Ana")
    other = add_person(file, "Bo “B.” Núñez")
    assert [name for name, _ in load_people(file)] == ["Ana", "Bo “B.” Núñez"]
    written = file.read_text(encoding="utf-8")
    assert token not in written
    assert other not in written
    assert session_of(token.encode()) not in written
    assert file.stat().st_mode & 0o077 == 0


def test_the_command_prints_the_token_alone_and_says_the_rest_beside_it(cli: CommandLine, file: Path) -> None:
    shown = cli("serve", "--people", file, "--add-person", "Ana")
    assert shown.code == 0
    assert len(shown.out.strip()) >= 43
    assert "shown only once" in shown.err
    again = cli("serve", "--people", file, "--add-person", "ANA")
    assert again.code == 1
    assert "already there" in again.err
    assert "--add-person needs --people" in cli("serve", "--add-person", "Ana").err


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("", "names nobody"),
        ("[people", "is not valid TOML"),
        ('[people]\nAna = "my token"', "is not one that --add-person writes"),
        (f'[people]\nAna = "{"a" * 64}"\nana = "{"b" * 64}"', "appears twice"),
        (f'[people]\n" Ana" = "{"a" * 64}"', "needless spaces"),
        ("people = 3", "names nobody"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_at_the_start(file: Path, written: str, said: str) -> None:
    file.write_text(written, encoding="utf-8")
    with pytest.raises(OptionError) as caught:
        load_people(file)
    assert said in str(caught.value)
    assert "--add-person" in str(caught.value) or caught.value.hint
    assert "my token" not in str(caught.value)


def test_a_missing_file_is_named(file: Path) -> None:
    with pytest.raises(OptionError, match="cannot be read"):
        load_people(file)


def test_people_come_in_by_their_own_token_and_by_its_cookie(serving: Any, file: Path) -> None:
    token = add_person(file, "Ana")
    ((_, proof),) = load_people(file)
    with serving(people=load_people(file), token=SHARED) as client:
        path = "/api/v1/checks"
        assert client.get(path).status_code == 401
        for given, status in ((token, 200), (SHARED, 200), (proof, 401), (session_of(token.encode()), 401), ("x", 401)):
            assert client.get(path, headers={"Authorization": f"Bearer {given}"}).status_code == status
        for given, status in ((session_of(token.encode()), 200), (proof, 401), (token, 401)):
            assert client.get(path, headers={"Cookie": f"{COOKIE}={given}"}).status_code == status
        assert client.post("/login", data={"token": "wrong"}).status_code == 403
        entered = client.post("/login", data={"token": token})
        assert entered.status_code == 303
        assert "HttpOnly" in entered.headers["set-cookie"]
        assert token not in entered.headers["set-cookie"]
        assert client.get("/").status_code == 200


def test_people_make_a_server_safe_to_reach_from_other_machines(file: Path) -> None:
    add_person(file, "Ana")
    ServerSettings(host="0.0.0.0", people=load_people(file)).require_safe()
    with pytest.raises(OptionError, match="a token is required"):
        ServerSettings(host="0.0.0.0").require_safe()
