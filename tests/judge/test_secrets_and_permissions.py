"""Keys stay out of every file and message; files are for their owner alone."""

import os
import stat

from running import KEY, config_for, files_under, judge, sample_cases, synthesis, write_set
from server import JudgeServer, status

ECHO = status(500, body='{"error": {"message": "bad key ' + KEY + ' was sent"}}')
REFUSED = status(401, body='{"error": {"message": "Incorrect API key provided: ' + KEY + '"}}')


def test_the_key_is_used_and_never_written_down_even_if_the_server_repeats_it(tmp_path):
    cases = write_set(tmp_path / "set.json", sample_cases(4))
    script = {"sample-0": [ECHO], "sample-1": [REFUSED]}
    with JudgeServer(script) as server:
        done = synthesis(
            *(
                "judge",
                "run",
                cases,
                "--judge-provider",
                "openai",
                "--base-url",
                server.url,
                "--concurrency",
                1,
            ),
            cwd=tmp_path,
        )
    assert server.keys == {KEY}
    assert done.returncode == 3
    assert KEY not in done.stdout + done.stderr
    assert "***" in done.stdout + done.stderr
    assert "***" in (tmp_path / "data/evaluation/answer-synthesis/set/journal.jsonl").read_text()
    holding = [path for path in files_under(tmp_path) if KEY.encode() in path.read_bytes()]
    assert holding == []


def test_all_files_are_readable_by_their_owner_alone(tmp_path):
    before = os.umask(0)
    try:
        with JudgeServer({"sample-1": [status(413)]}) as server:
            judge(sample_cases(2), config_for(server, tmp_path / "new" / "root"))
    finally:
        os.umask(before)
    made = list((tmp_path / "new").rglob("*"))
    assert {stat.S_IMODE(path.stat().st_mode) for path in made if path.is_file()} == {0o600}
    assert {stat.S_IMODE(path.stat().st_mode) for path in made if path.is_dir()} == {0o700}
    assert not [path for path in made if path.name.endswith(".new")]
