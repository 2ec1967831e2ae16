"""A damaged history on the server: what is whole is shown, what is damaged is named, and nothing ends in a 500."""

import sqlite3
from pathlib import Path
from typing import Any

import pytest
from damage_samples import flipped, make

PATHS = (
    *("/runs", "/runs/{new}", "/runs/{new}/cases/0", "/compare?before={old}&after={new}", "/judged", "/panel"),
    *("/runs/{judged}", "/label", "/label/runs/{new}", "/label/runs/{new}/next", "/label/runs/{new}/export"),
    *("/api/v1/runs", "/api/v1/runs/{new}", "/api/v1/runs/{new}/outcomes", "/api/v1/runs/{new}/cases/APP-2"),
    *("/api/v1/runs/{judged}/samples", "/api/v1/trend", "/api/v1/compare?before={old}&after={new}"),
    *("/api/v1/runs/{new}/labels", "/api/v1/runs/{new}/labels/summary"),
)
Sample = tuple[Path, dict[str, str]]


@pytest.fixture(scope="module", params=["with checksums", "without"])
def sample(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Sample:
    place = tmp_path_factory.mktemp("damage") / "history.db"
    return place, make(place, sealed=request.param == "with checksums")


@pytest.mark.parametrize("seed", range(100, 108))
def test_flipped_bytes_never_end_in_a_500(sample: Sample, serving: Any, tmp_path: Path, seed: int) -> None:
    copy = flipped(sample[0], tmp_path / "history.db", seed)
    with serving(tmp_path, history=str(copy)) as client:
        for path in PATHS:
            answer = client.get(path.format(**sample[1]), headers={"Accept": "text/html"})
            assert answer.status_code != 500, (path, answer.text)


def test_a_damaged_run_is_named_and_the_others_are_listed(serving: Any, tmp_path: Path) -> None:
    ids = make(tmp_path / "history.db")
    with sqlite3.connect(tmp_path / "history.db") as database:
        database.execute(f"UPDATE synthesis_runs SET summary = '{{' WHERE id = '{ids['new']}'")
    database.close()
    with serving(tmp_path, history=str(tmp_path / "history.db")) as client:
        listed = [run["id"] for run in client.get("/api/v1/runs").json()["runs"]]
        assert listed == [ids["judged"], ids["old"], ids["bare"]]
        answer = client.get(f"/api/v1/runs/{ids['new']}")
        assert answer.status_code == 503
        assert answer.json()["error"]["code"] == "damaged"
        assert f"un {ids['new']} is damaged in the column 'summary'" in answer.json()["error"]["message"]
