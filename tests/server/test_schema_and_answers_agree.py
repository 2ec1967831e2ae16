"""The OpenAPI schema is true: whatever it allows is answered as it says, and never with a 5xx."""

import json
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import HealthCheck, Phase, settings

schemathesis = pytest.importorskip("schemathesis")

from schemathesis.specs.openapi.checks import (  # noqa: E402
    negative_data_rejection,
    positive_data_acceptance,
)

from synthesis.server.app import create_app  # noqa: E402
from synthesis.server.security import ServerSettings  # noqa: E402

SCHEMA = create_app(ServerSettings()).openapi()
api = schemathesis.openapi.from_dict(SCHEMA)
QUICK = settings(
    max_examples=2, deadline=None, phases=[Phase.explicit, Phase.generate], suppress_health_check=list(HealthCheck)
)


# What a schema cannot say: that a text is a pattern, that a check exists, that two fields exclude each other.
MORE_THAN_A_SCHEMA = [positive_data_acceptance]
IN_THE_STREAM = [negative_data_rejection]  # a batch is accepted, and its bad lines are answered one by one


@schemathesis.serializer("application/x-ndjson")
def one_line(_: Any, value: Any) -> bytes:
    return json.dumps(value).encode()


def ask(client: Any, case: Any) -> None:
    answer = case.call(base_url=str(client.base_url), timeout=60)
    excluded = MORE_THAN_A_SCHEMA + (IN_THE_STREAM if case.path.endswith("/batch") else [])
    case.validate_response(answer, excluded_checks=excluded)


@api.parametrize()
@QUICK
def test_every_operation_answers_as_the_schema_says(case: Any, client: Any) -> None:
    ask(client, case)


@pytest.mark.slow
@api.parametrize()
@settings(QUICK, max_examples=300)
def test_every_operation_answers_as_the_schema_says_in_many_ways(case: Any, client: Any) -> None:
    ask(client, case)


def test_every_operation_says_what_it_does(client: Any) -> None:
    schema = client.get("/api/v1/openapi.json").json()
    assert schema == json.loads(json.dumps(SCHEMA))
    for methods in schema["paths"].values():
        for operation in methods.values():
            assert operation["description"]
            assert operation["tags"]
            assert "4XX" in operation["responses"]
            assert all(parameter.get("description") for parameter in operation.get("parameters", ()))


def test_a_verdict_fits_its_schema(client: Any) -> None:
    validator = jsonschema_rs.validator_for(
        {"$ref": "#/components/schemas/ConversationVerdict", "components": SCHEMA["components"]}
    )
    for assistant in ("Would you like to talk?", "I promise.", "Canberra."):
        body = {"user": "My dog died.", "assistant": assistant, "expected": {"topic_pivot": True}, "tags": ["pet"]}
        validator.validate(client.post("/api/v1/check", json=body).json())


def test_the_examples_of_the_schema_are_answered(client: Any) -> None:
    for path, methods in SCHEMA["paths"].items():
        for method, operation in methods.items():
            for content in operation.get("requestBody", {}).get("content", {}).values():
                for example in content.get("examples", {}).values():
                    assert client.request(method, path, json=example["value"]).status_code == 200
