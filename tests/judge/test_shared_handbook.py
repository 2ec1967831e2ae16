"""The chapter's section on several machines: its commands, run on two of them."""

import re
import subprocess
import sys
from pathlib import Path

from postgres import shared_server
from running import environment

CHAPTER = Path(__file__).parents[2] / "docs" / "judge.md"


def commands():
    section = CHAPTER.read_text(encoding="utf-8").partition("## Several machines")[2].partition("\n## ")[0]
    return [block.strip() for block in re.findall(r"^```sh\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)]


def shell(folder, script, journal):
    folder.mkdir(exist_ok=True)
    script = re.sub(r"postgresql://\S+", journal, script)
    path = f"{Path(sys.executable).parent}:{environment()['PATH']}"
    return subprocess.Popen(
        ["bash", "-ec", script], cwd=folder, env=environment(PATH=path), stdout=subprocess.PIPE, text=True
    )


def test_the_commands_do_what_the_section_says(tmp_path):
    run, look = commands()
    journal = shared_server().new_database()
    crowd = [shell(tmp_path / name, run, journal) for name in ("one", "two")]
    printed = [member.communicate()[0] for member in crowd]
    assert [member.returncode for member in crowd] == [0, 0]
    assert all("nightly: 8 samples" in text for text in printed)
    looked = shell(tmp_path / "one", f"export SYNTHESIS_JOURNAL={journal}\n{look}", journal).communicate()[0]
    assert "8 judged, 0 stale, 0 failed, 0 pending" in looked
    assert "of 8" in looked.rpartition("nightly: ")[2]
