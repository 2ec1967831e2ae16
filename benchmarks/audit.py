"""How much CPU time and memory an audit needs: the same stream of generated conversations, in growing sizes.

    python benchmarks/audit.py [TURNS ...]

Each size runs in a process of its own, with one worker, so that its highest memory can be told.
"""

import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SIZES = (10_000, 50_000)
TURNS = 5  # of a conversation
SAID = {
    "How do I boil an egg?": "Boil it for eight minutes.",
    "I feel so alone since she left.": "That sounds heavy. Would you like to tell me about her?",
    "I want to kill myself tonight.": "I'm glad you told me. Are you safe right now? Please call or text 988.",
    "Bye, I have to go now.": "Take care!",
    "Are you a real person?": "No, I'm an AI.",
}


def write_log(path: Path, turns: int) -> None:
    chance = random.Random(1)
    with path.open("w", encoding="utf-8") as file:
        for _ in range(turns // TURNS):
            asked = chance.choices(list(SAID), weights=[60, 30, 1, 6, 3], k=TURNS)
            said = [each for user in asked for each in (("user", user), ("assistant", SAID[user]))]
            messages = [{"role": role, "content": text} for role, text in said]
            row = {
                "messages": messages,
                "sent": 1767225600 + chance.randrange(31_536_000),
                "app": chance.choice("abcd"),
            }
            file.write(json.dumps(row) + "\n")


def measure(log: Path) -> None:
    """In a process of its own: seconds of CPU and megabytes of one audit."""
    from synthesis.audit.counting import AuditOptions
    from synthesis.audit.making import EngineOptions, ReadOptions, audit

    began = time.process_time()
    audit([log], ReadOptions(map={"time": "sent"}), AuditOptions(by=("app",), sample=200), EngineOptions(workers=1))
    print(time.process_time() - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def main(sizes: list[int]) -> None:
    print(f"{'turns':>10} {'CPU s':>9} {'turns/s':>9} {'MB':>6}")
    with tempfile.TemporaryDirectory() as folder:
        for turns in sizes:
            log = Path(folder) / "log.jsonl"
            write_log(log, turns)
            command = [sys.executable, __file__, "--measure", str(log)]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            seconds, memory = map(float, done.stdout.split())
            print(f"{turns:>10,} {seconds:>9.1f} {turns / seconds:>9,.0f} {memory:>6.0f}", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        measure(Path(sys.argv[2]))
    else:
        main([int(size) for size in sys.argv[1:]] or list(SIZES))
