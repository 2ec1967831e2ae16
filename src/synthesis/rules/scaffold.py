"""The beginning of a new language: a folder with everything that a pack needs, and what is still to be written."""

from pathlib import Path

from synthesis.errors import OptionError
from synthesis.rules.concepts import REFERENCE, concepts
from synthesis.rules.loader import MANIFEST
from synthesis.rules.ruleset import RuleSet

_GUARDS = """# Where the words stand, but do not mean what a rule is after. English shows how: packs/en/guards.yaml
guards:
  denied:
    why: The words are denied, not said.
    before: [REPLACE-ME]
  quoted:
    why: The words are quoted, so they are somebody else's.
    quoted: true
"""


def scaffold(language: str, root: Path, rules: RuleSet) -> list[Path]:
    """Write the files of a new pack into `root/language`; nothing is overwritten."""
    folder = root / language
    if folder.exists():
        raise OptionError(f"{folder} is already there", hint="Choose another folder with --folder.")
    folder.mkdir(parents=True)
    written = {MANIFEST: _manifest(language), "guards.yaml": _GUARDS.replace("REPLACE-ME", "no")}
    for signal in sorted({rule.signal for rule in rules.packs[REFERENCE].rules}):
        written[f"{signal}.yaml"] = _rules(signal, language, rules)
    for name, content in written.items():
        (folder / name).write_text(content, encoding="utf-8")
    return [folder / name for name in written]


def _manifest(language: str) -> str:
    return f'language: {language}\nname: Synthesis {language}\nversion: "1"\nlicence: MIT\n# absent: {{}}\n'


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
