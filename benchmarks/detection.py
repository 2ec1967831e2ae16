"""How well the languages of short texts are told apart: prints a table of right, wrong and undetermined.

    python benchmarks/detection.py [--wrong]

The texts are made here: the packs' own examples, everyday and chat sentences (tests/languages), and sentences in
languages without a pack, which must come out undetermined. Half of them, by hash, may be read while the words for
detection are chosen; only the other half is scored. `alone` sees one text, `beside` sees it as the reply to a longer
message in the same language, `foreign` as the reply to one in English (for an English text: in Spanish), so that it is
recognised on its own evidence only. The last line is the time per text. `--wrong` lists the errors in the half to read.
"""

import hashlib
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from synthesis.checks import rules_in_force
from synthesis.rules.text import UNDETERMINED, language_of

SENTENCES = Path(__file__).parents[1] / "tests" / "languages"
SHORT = range(2, 9)  # words
LETTERS_OF_A_WORD = 2  # where there are no spaces
ROUNDS = 5


class Sample(NamedTuple):
    language: str
    expected: str
    text: str

    @property
    def is_scored(self) -> bool:
        return hashlib.sha256(self.text.encode()).digest()[0] % 2 == 1

    @property
    def is_short(self) -> bool:
        spaced = language_of(self.language).spaced
        return (len(self.text.split()) if spaced else len(self.text) // LETTERS_OF_A_WORD) in SHORT


def samples() -> Iterator[Sample]:
    for rule in rules_in_force().rules:
        for text in (*rule.match, *rule.miss):
            yield Sample(rule.language, rule.language, text)
    for path in sorted(SENTENCES.glob("*.*.txt")):
        kind, language, _ = path.name.split(".")
        for text in filter(None, path.read_text(encoding="utf-8").splitlines()):
            yield Sample(language, UNDETERMINED if kind == "stranger" else language, text)


def partners(every: list[Sample]) -> dict[str, list[str]]:
    """The scored texts of each language that are not short: what a short reply may answer."""
    found: dict[str, list[str]] = defaultdict(list)
    for sample in every:
        if sample.is_scored:
            found[sample.language].append(sample.text)
    return {language: sorted(texts, key=len)[-20:] for language, texts in found.items()}


def outcome(found: str, expected: str) -> str:
    return "right" if found == expected else "undetermined" if found == UNDETERMINED else "wrong"


def main() -> int:
    detector, every = rules_in_force().detector, sorted(set(samples()))
    if "--wrong" in sys.argv[1:]:
        for language, expected, text in (sample for sample in every if not sample.is_scored and sample.is_short):
            if detector.detect(text).language != expected:
                print(f"{language}  {detector.detect(text).language}  {text}")
        return 0
    scored, beside_them = [sample for sample in every if sample.is_scored], partners(every)
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for number, (language, expected, text) in enumerate(scored):
        other = "es" if language == "en" else "en"
        size = "short" if scored[number].is_short else "longer"
        counts[language][f"{size} alone {outcome(detector.detect(text).language, expected)}"] += 1
        for column, user in (("beside", language), ("foreign", other)):
            partner = beside_them[user][number % len(beside_them[user])]
            together = detector.conversation([partner, text])[1].language
            counts[language][f"{size} {column} {outcome(together, expected)}"] += 1
    _print_table(counts)
    print(f"\n{_microseconds([sample.text for sample in scored]):.1f} microseconds per text")
    return 0


def _print_table(counts: dict[str, Counter[str]]) -> None:
    columns = ("short alone", "short beside", "short foreign", "longer alone")
    print("Right / wrong / undetermined\n\n| language | " + " | ".join(columns) + " |\n| --- | --- | --- | --- | --- |")
    for language, count in sorted(counts.items()):
        cells = (
            " / ".join(str(count[f"{column} {one}"]) for one in ("right", "wrong", "undetermined"))
            for column in columns
        )
        print(f"| {language} | {' | '.join(cells)} |")


def _microseconds(texts: list[str]) -> float:
    """The best of some rounds, in processor time."""
    detector, best = rules_in_force().detector, float("inf")
    for _ in range(ROUNDS):
        begin = time.process_time()
        for text in texts:
            detector.detect(text)
        best = min(best, time.process_time() - begin)
    return best / len(texts) * 1e6


if __name__ == "__main__":
    sys.exit(main())
