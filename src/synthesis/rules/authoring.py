"""For authors of packs: examples that prove the rules, concepts that a language still lacks, files to begin with.

A concept is what rules of all languages are about: a signal and a group, such as agency.negative/directive.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from synthesis.errors import OptionError
from synthesis.rules.detection import Detected
from synthesis.rules.loader import MANIFEST
from synthesis.rules.reading import Message, Reading
from synthesis.rules.ruleset import RuleSet
from synthesis.rules.schema import Rule, Signal

REFERENCE = "en"
_GUARDS = """# Where the words appear, but do not mean what a rule looks for. English shows how: packs/en/guards.yaml
guards:
  denied:
    why: The words are denied, not said.
    before: [REPLACE-ME]
  quoted:
    why: The words are quoted, so they are somebody else's.
    quoted: true
"""


class ExampleFailure(NamedTuple):
    """An example that does not do what its rule says."""

    rule: Rule
    example: str
    should_match: bool

    def __str__(self) -> str:
        wish = "should match, but does not" if self.should_match else "should not match, but does"
        return f"{self.rule.file}:{self.rule.line}: {self.rule.id}: {wish}: {self.example}"


def example_failures(
    rules: RuleSet, signals: Mapping[str, Signal], own: Sequence[Rule] | None = None
) -> Iterator[ExampleFailure]:
    """Every example of some rules (None: all) that contradicts its rule, in the order of the rules."""
    examples = [
        (rule, example, should_match)
        for rule in (rules.rules if own is None else own)
        for should_match, texts in ((True, rule.match), (False, rule.miss))
        for example in texts
    ]
    messages = [
        Message(example, signals[rule.signal].where, language=Detected(rule.language, "declared"))
        for rule, example, _ in examples
    ]
    for (rule, example, should_match), reading in zip(examples, rules.read(messages), strict=True):
        if _fires(rule, reading, anchored=signals[rule.signal].anchor) != should_match:
            yield ExampleFailure(rule, example, should_match)


def _fires(rule: Rule, reading: Reading, *, anchored: bool) -> bool:
    """Whether a rule has a hit that counts."""
    limit = reading.anchor[1] if anchored else len(reading.original)
    return any(hit.rule.id == rule.id and hit.start < limit for hit in reading.hits)


def rules_on_top(rules: RuleSet, below: RuleSet) -> list[Rule]:
    """The rules that are not those of the packs below."""
    known = {(rule.language, rule.id): rule for rule in below.rules}
    return [rule for rule in rules.rules if known.get((rule.language, rule.id)) != rule]


def example_count(rules: Iterable[Rule]) -> int:
    return sum(len(rule.match) + len(rule.miss) for rule in rules)


def concepts(rules: RuleSet) -> dict[str, Counter[str]]:
    """Every concept with the number of its rules by language."""
    found: dict[str, Counter[str]] = {}
    for rule in rules.rules:
        found.setdefault(f"{rule.signal}/{rule.group}", Counter())[rule.language] += 1
    return dict(sorted(found.items()))


def missing_concepts(rules: RuleSet, language: str) -> list[str]:
    """The concepts of English that a language has no rule for and gives no reason for."""
    return [
        concept
        for concept, counts in concepts(rules).items()
        if counts[REFERENCE] and not counts[language] and not why_absent(rules, language, concept)
    ]


def why_absent(rules: RuleSet, language: str, concept: str) -> str | None:
    """The reason that a pack gives for having no rule for a concept, or for a whole signal."""
    absent = rules.packs[language].absent
    return absent.get(concept) or absent.get(concept.split("/")[0])


def scaffold(language: str, root: Path, rules: RuleSet) -> list[Path]:
    """Write the files of a new pack into `root/language`; nothing is overwritten."""
    folder = root / language
    if folder.exists():
        raise OptionError(f"{folder} already exists", hint="Choose another folder with --folder.")
    folder.mkdir(parents=True)
    written = {MANIFEST: _manifest(language), "guards.yaml": _GUARDS.replace("REPLACE-ME", "no")}
    for signal in sorted({rule.signal for rule in rules.packs[REFERENCE].rules}):
        written[f"{signal}.yaml"] = _rules(signal, language, rules)
    for name, content in written.items():
        (folder / name).write_text(content, encoding="utf-8")
    return [folder / name for name in written]


_DETECTION = """\
# What a text is recognised by: words, the most common first, and parts of words (-ending, beginning-, within).
# detection:
#   words: the and you
#   parts: -ing wh- ght
"""


def _manifest(language: str) -> str:
    return f'language: {language}\nname: Synthesis {language}\nversion: "1"\nlicence: MIT\n{_DETECTION}# absent: {{}}\n'


def _rules(signal: str, language: str, rules: RuleSet) -> str:
    """One rule to begin with, and the list of concepts that English covers for this signal."""
    groups = [
        name.split("/")[1]
        for name, counts in concepts(rules).items()
        if name.startswith(f"{signal}/") and counts[REFERENCE]
    ]
    lines = [f"# Concepts of {signal} to cover:", *(f"#   [ ] {group}" for group in groups), "", "rules:"]
    lines += [
        f"  - id: {signal}.first",
        f"    group: {groups[0]}",
        "    patterns: [replace me]",
        f"    why: {{en: Say why these words matter., {language}: The same in your language.}}",
        f"    instead: {{en: Say what would be better., {language}: The same in your language.}}",
        "    match: [replace me with a sentence]",
        "    miss: [a near miss]",
    ]
    return "\n".join(lines) + "\n"
