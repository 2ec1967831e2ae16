"""The container files, read but not run: instructions and options that exist, nothing secret, nobody as root."""

import json
import re
from pathlib import Path
from typing import Any

import yaml
from click.testing import CliRunner

from synthesis.cli.main import main

ROOT = Path(__file__).parent.parent
INSTRUCTIONS = "ADD ARG CMD COPY ENTRYPOINT ENV EXPOSE FROM HEALTHCHECK LABEL RUN SHELL STOPSIGNAL USER VOLUME WORKDIR"
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))


def instructions() -> list[tuple[str, str]]:
    """The instructions of the Dockerfile with their arguments, continued lines joined."""
    text = re.sub(r"^#.*\n", "", (ROOT / "Dockerfile").read_text(encoding="utf-8"), flags=re.MULTILINE)
    lines = text.replace("\\\n", " ").splitlines()
    return [(line.split(None, 1)[0], line.split(None, 1)[1]) for line in lines if line.strip()]


def of(name: str) -> list[str]:
    return [argument for instruction, argument in instructions() if instruction == name]


def test_every_instruction_exists() -> None:
    assert {name for name, _ in instructions()} <= set(INSTRUCTIONS.split())
    assert instructions()[0][0] == "FROM"


def test_what_is_copied_from_a_stage_or_the_tree_exists() -> None:
    stages = {argument.split(" AS ")[1] for argument in of("FROM") if " AS " in argument}
    for argument in of("COPY"):
        if found := re.match(r"--from=(\S+)", argument):
            assert found[1] in stages
        else:
            assert (ROOT / argument.split()[0]).exists()


def test_commands_are_lists_and_the_server_knows_their_options() -> None:
    (entry,), (rest,) = of("ENTRYPOINT"), of("CMD")
    program, command, *options = [*json.loads(entry), *json.loads(rest)]
    assert (program, command) == ("synthesis", "serve")
    known = CliRunner().invoke(main, ["serve", "--help"]).output
    assert [option for option in options if option.startswith("--") and option not in known] == []
    assert json.loads(of("HEALTHCHECK")[0].partition("CMD ")[2])[0] == "python"


def test_it_runs_as_nobody_in_particular_and_installs_extras_that_exist() -> None:
    assert of("USER") == ["synthesis"]
    (extras,) = re.findall(r"/source\[([^\]]+)\]", " ".join(of("RUN")))
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert all(f"\n{name} = [" in project for name in extras.split(","))


def test_the_image_has_what_the_package_is_built_from() -> None:
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").split()
    assert {"src", "data", "schemas", "native", "README.md", "LICENSE", "pyproject.toml", "hatch_build.py"}.isdisjoint(
        ignored
    )
    assert {".git", "tests"} <= set(ignored)


def test_services_volumes_and_conditions_belong_together() -> None:
    services = COMPOSE["services"]
    named = {volume.split(":")[0] for service in services.values() for volume in service["volumes"]}
    assert named == set(COMPOSE["volumes"])
    for service in services.values():
        assert "build" in service or "image" in service
        for name, condition in service.get("depends_on", {}).items():
            assert condition == {"condition": "service_healthy"}
            assert "healthcheck" in services[name]


def test_no_password_is_written_down_and_nothing_listens_beyond_this_machine() -> None:
    for service in COMPOSE["services"].values():
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", []))
        secrets = {name: value for name, value in service["environment"].items() if "TOKEN" in name or "PASS" in name}
        assert all(re.fullmatch(r"\$\{\w+:\?.+\}", value) for value in secrets.values())
    assert "${POSTGRES_PASSWORD:?" in COMPOSE["services"]["synthesis"]["environment"]["SYNTHESIS_HISTORY"]
