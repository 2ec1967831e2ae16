"""Host, origin, token, cookies and headers: what the gate lets in, and what it puts on the way out."""

from collections.abc import Iterator
from typing import Any

import pytest

from synthesis.errors import OptionError
from synthesis.server.app import create_app
from synthesis.server.security import HEADERS, ServerSettings

TOKEN = "a token that is long enough"
BODY = {"user": "I lost my job.", "assistant": "Would you like to talk about it?"}
PAGE = {"Accept": "text/html"}
PAGES_THAT_TAKE = ("/", "/verdict", "/rules/try", "/login", "/logout")
ELSEWHERE = ["//evil.example", "https://evil.example", "/\\evil.example", "javascript:x", "/\n/x"]


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "", "10.0.0.1", "[::1"])
def test_a_foreign_name_is_not_answered(client: Any, host: str) -> None:
    for path in ("/", "/api/v1/checks", "/metrics", "/static/pages.css"):
        answer = client.get(path, headers={"Host": host})
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "unknown_host")


@pytest.mark.parametrize("host", ["localhost", "localhost:1234", "127.0.0.1", "[::1]:80", "LOCALHOST"])
def test_the_names_of_this_machine_are_answered(client: Any, host: str) -> None:
    assert client.get("/api/v1/checks", headers={"Host": host}).status_code == 200


def test_further_names_can_be_allowed(serving: Any) -> None:
    with serving(allowed_hosts=("Synthesis.Example",)) as client:
        assert client.get("/api/v1/checks", headers={"Host": "synthesis.example:443"}).status_code == 200


def test_health_is_told_to_whoever_asks(client: Any) -> None:
    for path in ("/healthz", "/readyz"):
        assert client.get(path, headers={"Host": "10.1.2.3"}).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "cross-site", "Origin": "http://evil.example"},
    ],
)
def test_another_site_may_not_write(client: Any, headers: dict[str, str]) -> None:
    for path in (
        "/api/v1/check",
        "/api/v1/batch",
        "/api/v1/uploads",
        "/",
        "/verdict",
        "/rules/try",
        "/login",
        "/logout",
    ):
        answer = client.post(path, headers=headers, json=BODY)
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "cross_site")
    assert client.delete("/api/v1/uploads/x", headers=headers).status_code == 403


def test_the_own_site_may_write(client: Any) -> None:
    origin = f"http://{client.base_url.netloc.decode()}"
    headers = {"Origin": origin, "Sec-Fetch-Site": "same-origin"}
    assert client.post("/api/v1/check", headers=headers, json=BODY).status_code == 200


@pytest.mark.parametrize(
    ("path", "methods"),
    [("/api/v1/openapi.json", "GET"), ("/api/v1/uploads/x", "DELETE, GET"), ("/rules/try", "GET, POST")],
)
def test_what_can_be_done_at_a_path_is_told(client: Any, path: str, methods: str) -> None:
    answer = client.put(path)
    assert (answer.status_code, set(answer.headers["allow"].split(", ")) - {"HEAD"}) == (405, set(methods.split(", ")))


def test_no_other_site_is_allowed_to_read(client: Any) -> None:
    answer = client.get("/api/v1/checks", headers={"Origin": "http://evil.example"})
    assert not [name for name in answer.headers if name.startswith("access-control")]


@pytest.mark.parametrize(
    "path", ["/", "/rules", "/login", "/healthz", "/metrics", "/nowhere", "/api/v1/nowhere", "/static/nowhere"]
)
def test_every_answer_carries_the_headers(client: Any, path: str) -> None:
    answer = client.get(path)
    assert {name: answer.headers.get(name) for name in HEADERS} == HEADERS
    assert "unsafe" not in answer.headers["content-security-policy"]


def test_refusals_carry_them_too(client: Any) -> None:
    answer = client.get("/", headers={"Host": "evil.example"})
    assert {name: answer.headers.get(name) for name in HEADERS} == HEADERS


def test_pages_hold_no_inline_script_or_style(client: Any) -> None:
    for path in ("/", "/?example=PIVOT-006", "/?paste=1", "/rules", "/rules/try", "/login"):
        text = client.get(path).text
        assert " style=" not in text
        assert "<style" not in text
        assert "<script>" not in text
        assert " on" not in {part[:3] for part in text.split("<")}


@pytest.fixture(scope="module")
def guarded(serving: Any) -> Iterator[Any]:
    with serving(token=TOKEN) as client:
        yield client


def test_programs_send_it_as_a_bearer(guarded: Any) -> None:
    for given, status in ((None, 401), ("wrong", 401), (TOKEN, 200), (TOKEN + "x", 401)):
        headers = {} if given is None else {"Authorization": f"Bearer {given}"}
        answer = guarded.post("/api/v1/check", json=BODY, headers=headers)
        assert answer.status_code == status
    assert answer.headers["www-authenticate"] == "Bearer"
    assert guarded.get("/metrics").status_code == 401


def test_another_scheme_is_no_token(guarded: Any) -> None:
    assert guarded.get("/api/v1/checks", headers={"Authorization": f"Basic {TOKEN}"}).status_code == 401


def test_health_and_styles_need_none(guarded: Any) -> None:
    for path in ("/healthz", "/readyz", "/static/pages.css"):
        assert guarded.get(path).status_code == 200


def test_people_are_led_to_the_login_and_back(guarded: Any) -> None:
    answer = guarded.get("/rules", headers=PAGE)
    assert (answer.status_code, answer.headers["location"]) == (303, "/login?next=/rules")
    entered = guarded.post("/login", data={"token": TOKEN, "next": "/rules"})
    assert (entered.status_code, entered.headers["location"]) == (303, "/rules")
    cookie = entered.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert TOKEN not in cookie
    session = entered.cookies["synthesis_session"]
    guarded.cookies.clear()
    headers = {**PAGE, "Cookie": f"synthesis_session={session}"}
    assert guarded.get("/rules", headers=headers).status_code == 200
    assert guarded.get("/rules", headers={**PAGE, "Cookie": "synthesis_session=other"}).status_code == 303


def test_a_wrong_token_is_told_and_gets_no_cookie(guarded: Any) -> None:
    answer = guarded.post("/login", data={"token": "wrong"}, headers=PAGE)
    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers
    assert "That is not the token" in answer.text


@pytest.mark.parametrize("goal", ["//evil.example", "https://evil.example", "/\\evil.example", "javascript:x", "/\n/x"])
def test_the_login_leads_nowhere_else(guarded: Any, goal: str) -> None:
    answer = guarded.post("/login", data={"token": TOKEN, "next": goal})
    assert answer.headers["location"] == "/"


def test_a_server_for_others_needs_a_token() -> None:
    for host in ("0.0.0.0", "::", "192.168.1.5", "synthesis.example"):
        with pytest.raises(OptionError, match="token is required"):
            create_app(ServerSettings(host=host))


def test_a_short_token_is_none() -> None:
    with pytest.raises(OptionError, match="at least 16"):
        create_app(ServerSettings(token="short"))
