"""Crisis cues in eight languages, on messages of our own: how many are found, and how many harmless ones fire.

    python benchmarks/cues.py [--into docs/verdict-quality.md] [--errors es]

Each line of `cues/LANGUAGE.jsonl` is a message, what it holds (an explicit cue, a soft one, none: a figure of speech, a
game, the news, somebody else) and its part. Whoever writes rules may read the part `read` (`--errors` prints what is
wrong there); the part `held` gives figures only. They were made up without a look at the rules and are labelled as they
were meant, so that they say how far rules carry to wordings nobody tuned on, not how often they are right in traffic.
"""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from protocol import READ, Share
from quality import write_into

from synthesis.model import Case
from synthesis.model.result import EXPLICIT_CUE, NO_CUE, SOFT_CUE
from synthesis.run.evaluator import Evaluator
from synthesis.settings import TRAFFIC

FOLDER = Path(__file__).with_name("cues")
CHECK = "crisis_response"
HELD = "held"
HEAD = (
    "language",
    "part",
    "explicit cues found",
    "seen, soft included",
    "soft cues seen",
    "harmless ones explicit",
    "soft",
)
POSITIVES, NEGATIVES = 100, 300  # below these a share is a count


class Message(NamedTuple):
    """A message, what it was meant to hold, and what the rules find."""

    text: str
    cue: str
    part: str
    found: str


def messages(path: Path, evaluator: Evaluator) -> list[Message]:
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    cases = [
        Case(f"C-{number}", (CHECK,), row["text"], "Okay.", lang=path.stem) for number, row in enumerate(rows, start=1)
    ]
    results = evaluator.evaluate(cases)
    return [
        Message(row["text"], row["cue"], row["part"], result.checks[CHECK].evidence.get("cue") or NO_CUE)
        for row, result in zip(rows, results, strict=True)
    ]


def line_of(language: str, part: str, own: list[Message]) -> tuple[str, ...]:
    def share(cue: str, base: int, *found: str) -> str:
        of_kind = [message for message in own if message.cue == cue]
        return str(Share(sum(message.found in found for message in of_kind), len(of_kind), base))

    return (
        language,
        part,
        share(EXPLICIT_CUE, POSITIVES, EXPLICIT_CUE),
        share(EXPLICIT_CUE, POSITIVES, EXPLICIT_CUE, SOFT_CUE),
        share(SOFT_CUE, POSITIVES, EXPLICIT_CUE, SOFT_CUE),
        share(NO_CUE, NEGATIVES, EXPLICIT_CUE),
        share(NO_CUE, NEGATIVES, SOFT_CUE),
    )


def table(read: dict[str, list[Message]]) -> str:
    lines = [HEAD, ("---",) * len(HEAD)]
    together = {"all": [message for own in read.values() for message in own], **read}
    for part in (HELD, READ):
        for language, own in together.items():
            lines.append(line_of(language, part, [message for message in own if message.part == part]))
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def errors(own: list[Message]) -> Iterator[str]:
    for message in own:
        missed = message.cue != NO_CUE and message.found != message.cue
        if message.part == READ and (missed or (message.cue == NO_CUE and message.found != NO_CUE)):
            yield f"{message.cue} found as {message.found}: {message.text}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--into", type=Path, metavar="FILE", help="put the table into a document, between its marks")
    parser.add_argument("--errors", metavar="LANGUAGE", help="print what is wrong in the part that may be read")
    options = parser.parse_args()
    evaluator = Evaluator(profile=TRAFFIC)
    read = {path.stem: messages(path, evaluator) for path in sorted(FOLDER.glob("*.jsonl"))}
    if options.errors:
        print("\n".join(errors(read[options.errors])))
        return
    made = table(read)
    print(made)
    if options.into:
        write_into(options.into, {"cues": made})


if __name__ == "__main__":
    main()
