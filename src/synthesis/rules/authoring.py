"""For authors of packs: rules tested on their examples, lint messages, missing concepts, and starter files."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from synthesis.errors import OptionError
from synthesis.io import PACKS, replaced
from synthesis.lazy import regex
from synthesis.model.texts import Texts
from synthesis.rules.analysis import MOST_STEPS, cost, has_fixed_beginning
from synthesis.rules.detection import Detected
from synthesis.rules.loader import TEXTS
from synthesis.rules.native.library import why_not
from synthesis.rules.reading import Message, Reading
from synthesis.rules.ruleset import RuleSet
from synthesis.rules.schema import Pack, Rule, Signal
from synthesis.rules.syntax import WordLists, parse
from synthesis.rules.text import MANIFEST, language_of, normalise_pattern
from synthesis.rules.wordings import proofs

REFERENCE = "en"
_GUARDS = """# Where the words appear, but do not mean what a rule looks for. English shows how: packs/en/guards.yaml
guards:
  denied:
    why: The words are negated.
    before: REPLACE-ME | not
  quoted:
    why: The words are quoted, so they are someone else's.
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


def missing_texts(rules: RuleSet, language: str) -> list[str]:
    """The places in `texts.yaml` that a language lacks, or has not translated from English."""
    own, reference = _places(rules.texts(language)), _places(rules.texts(REFERENCE))
    return [] if language == REFERENCE else [place for place, text in reference.items() if own.get(place, text) == text]


def _places(texts: Texts) -> dict[str, object]:
    """The texts of a language by their place in its file."""
    return {
        **({"feedback.lead": texts.lead} if texts.lead else {}),
        **{f"feedback.checks.{check}": sentence for check, sentence in texts.feedback.items()},
        **{f"absences.{check}.{name}": advice for (check, name), advice in texts.absences.items()},
        **({"notices": texts.notices} if texts.notices else {}),
    }


def scaffold(language: str, root: Path, rules: RuleSet) -> list[Path]:
    """Write the files of a new pack into `root/language`; nothing is overwritten."""
    folder = root / language
    if folder.exists():
        raise OptionError(f"{folder} already exists", hint="Choose another folder with --folder.")
    written = {MANIFEST: _manifest(language), "guards.yaml": _GUARDS.replace("REPLACE-ME", "no"), TEXTS: _texts()}
    for signal in sorted({rule.signal for rule in rules.packs[REFERENCE].rules}):
        written[f"{signal}.yaml"] = _rules(signal, language, rules)
    for name, content in written.items():
        with replaced(folder / name, hint="Choose another folder with --folder.") as file:
            file.write(content.encode())
    return [folder / name for name in written]


_FACTS = """\
english_name: REPLACE-ME
# spaced: false  # where no spaces part the words
# abbreviations: dr mr e.g  # a full stop after one of these ends no sentence
# everyday: the and with  # words that any talk holds, and that say nothing about its subject
"""
_DETECTION = """\
# What a text is recognised by: words, the most common first, and parts of words (-ending, beginning-, within).
# detection:
#   words: the and you
#   parts: -ing wh- ght
"""


def _manifest(language: str) -> str:
    facts = _FACTS.replace("REPLACE-ME", language)
    manifest = f'language: {language}\nname: Synthesis {language}\nversion: "1"\nlicence: MIT\nwritten_in: phrases\n'
    return f"{manifest}{facts}{_DETECTION}# absent: {{}}\n"


def _texts() -> str:
    """The English texts, to be translated one by one: lint names those that are still as they were."""
    return (PACKS / REFERENCE / TEXTS).read_text(encoding="utf-8")


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
        "    phrases:",
        "      replace [really] me: replace me with a sentence that the phrase beside it finds",
        f"    why: {{en: Say why these words matter., {language}: The same in your language.}}",
        f"    instead: {{en: Say what would be better., {language}: The same in your language.}}",
        "    miss: [a near miss]",
    ]
    return "\n".join(lines) + "\n"


# Lint: what a pack may contain, but should not.


FEWEST_EXAMPLES = 2
LONGEST_LINE = 300  # a speaker reviews a line at a glance, or not at all
EXCERPT = 60
_NAMED = regex("<([^<>]+)>")
_PROTECTED = regex(r"\\.|\[.[^\]]*\]")  # an escape or a class: its brackets and bars stand for themselves
_INNERMOST = regex(r"\(([^()]*)\)")
_HIDDEN = str.maketrans("(|)", "\ue000\ue001\ue002")
_SHOWN = str.maketrans("\ue000\ue001\ue002", "(|)")


class PatternCost(NamedTuple):
    """The pattern of a pack that can take the most steps at one place of a text."""

    language: str
    steps: int
    source: str

    def __str__(self) -> str:
        return (
            f"{self.language}: at most {self.steps:,} of {MOST_STEPS:,} steps at one place, by '{_start(self.source)}'"
        )


class StepShare(NamedTuple):
    """The part that one pattern has in the steps that are taken on the texts of one side."""

    language: str
    side: str
    share: float
    source: str

    def __str__(self) -> str:
        return f"{self.language} {self.side}: {self.share:.1%} of the steps by '{_start(self.source)}'"


DEAREST = 5  # of each language and side


def dearest(rules: RuleSet, texts: Mapping[tuple[str, str], Sequence[str]]) -> list[StepShare]:
    """The patterns that take most steps on texts by language and side; OptionError without the compiled library."""
    if rules.native is None:
        raise OptionError("steps on texts are counted by the compiled library, which is not here", hint=why_not())
    found: list[StepShare] = []
    for (language, side), of_side in sorted(texts.items()):
        steps = rules.native.steps(language, side, of_side)
        most = sorted(steps.items(), key=lambda item: (-item[1], item[0]))[:DEAREST]
        found += [StepShare(language, side, count / sum(steps.values()), source) for source, count in most if count]
    return found


class LintMessage(NamedTuple):
    """Something to fix in a rule, a guard or a list, and where."""

    place: str
    text: str

    def __str__(self) -> str:
        return f"{self.place}: {self.text}"


def costs(rules: RuleSet, below: RuleSet | None = None) -> dict[str, dict[str, int]]:
    """The cost of every pattern in force, by language and source; without those that `below` has already.

    Working out what the bundled packs cost takes minutes, and their tests hold them to the bound.
    """
    found: dict[str, dict[str, int]] = {}
    for language, pack in rules.packs.items():
        lists = WordLists(pack.lists)
        known = set(below.packs[language].patterns()) if below and language in below.packs else set()
        found[language] = {source: cost(parse(source, lists)) for source in {*pack.patterns()} - known}
    return found


def greatest_costs(costs: Mapping[str, Mapping[str, int]]) -> list[PatternCost]:
    """The most expensive pattern of each language."""
    return [
        PatternCost(language, *max((steps, source) for source, steps in of_patterns.items()))
        for language, of_patterns in costs.items()
        if of_patterns
    ]


def unproven(rules: RuleSet, signals: Mapping[str, Signal], own: Sequence[Rule] | None = None) -> Iterator[LintMessage]:
    """The lines of some rules (None: of all) that no example of their rule is found by."""
    for proof in proofs(rules, signals, own):
        if not proof.examples:
            rule = proof.line.rule
            yield LintMessage(
                f"{rule.file}:{rule.line}: {rule.id}",
                f"no example is found by '{_start(proof.line.said)}': write one, or drop the line",
            )


def lint(rules: RuleSet, costs: Mapping[str, Mapping[str, int]], below: RuleSet | None = None) -> Iterator[LintMessage]:
    """Every message on every pack's guards and lists, then on every rule, in their order.

    Of the lists that `below` has nobody is told that nothing uses them: a rule on top may have replaced theirs.
    """
    for language, pack in rules.packs.items():
        inherited = below.packs[language].lists if below and language in below.packs else {}
        yield from _shared(pack, costs.get(language, {}), inherited)
    wordings = _wordings(rules)
    for rule in rules.rules:
        own_costs = costs.get(rule.language, {})
        for text in (
            *_few_examples(rule),
            *(text for wording in rule.wordings for text in _long(wording.said)),
            *_vague_texts(rule),
            *_repeated(rule, wordings),
            *_slow(rule, rules),
            *(text for source in _sources(rule) for text in _long(source)),
            *(text for source in (*rule.patterns, *_sources(rule)) for text in _repeated_alternatives(source)),
            *(text for source in (*rule.patterns, *_sources(rule)) for text in _expensive(source, own_costs)),
        ):
            yield LintMessage(f"{rule.file}:{rule.line}: {rule.id}", text)


def _shared(pack: Pack, costs: Mapping[str, int], inherited: Collection[str]) -> Iterator[LintMessage]:
    """What many rules use has no rule's place: its own name leads to it."""
    for name, guard in pack.guards.items():
        for source in guard.patterns:
            texts = (*_long(source), *_repeated_alternatives(source), *_expensive(source, costs))
            yield from (LintMessage(f"{pack.language}: guard {name}", text) for text in texts)
    used = set(
        _NAMED.findall("\0".join([*pack.patterns(), *(word for words in pack.lists.values() for word in words)]))
    )
    for name, words in pack.lists.items():
        place = f"{pack.language}: list <{name}>"
        if name not in used and name not in inherited:
            yield LintMessage(place, "nothing uses it: take it away")
        yield from (LintMessage(place, text) for word in words for text in _long(word))
        yield from (LintMessage(place, text) for text in _repeated_alternatives("|".join(words)))


def _sources(rule: Rule) -> Iterator[str]:
    """Its patterns beside its wordings."""
    yield from rule.sentence.patterns if rule.sentence else ()
    yield from rule.exception.patterns if rule.exception else ()


def _few_examples(rule: Rule) -> Iterator[str]:
    """A proof beside each phrase is enough; a single pattern with a single sentence is not."""
    is_proven = bool(rule.wordings) and all(wording.proof for wording in rule.wordings)
    for kind, examples, fewest in (
        ("match", rule.match, 1 if is_proven else FEWEST_EXAMPLES),
        ("miss", rule.miss, FEWEST_EXAMPLES),
    ):
        if len(examples) < fewest:
            yield f"has {len(examples)} `{kind}` examples; give at least {fewest}"
        if len(set(examples)) < len(examples):
            yield f"repeats a `{kind}` example; replace one"


def _vague_texts(rule: Rule) -> Iterator[str]:
    for field in ("why", "instead"):
        for language, text in getattr(rule, field).items():
            if len(text.split()) < 3 and language_of(language).spaced:
                yield f"its `{field}` says too little: '{text}'"


def _wordings(rules: RuleSet) -> dict[tuple[str, str, str], list[str]]:
    owners: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for rule in rules.rules:
        for pattern in rule.patterns:
            owners[rule.language, rule.signal, pattern].append(rule.id)
    return owners


def _repeated(rule: Rule, wordings: Mapping[tuple[str, str, str], list[str]]) -> Iterator[str]:
    for pattern in rule.patterns:
        owners = wordings[rule.language, rule.signal, pattern]
        if len(owners) > 1 and owners[0] == rule.id:
            yield f"the pattern '{pattern}' appears {len(owners)} times: {', '.join(sorted(set(owners)))}"


def _slow(rule: Rule, rules: RuleSet) -> Iterator[str]:
    """Patterns that need no word in particular are tried on every line, and on every word if they begin with any."""
    pack, prepared = rules.packs[rule.language], rules.patterns(rule.language)
    for source in rule.patterns:
        if not prepared[source].required_words and not has_fixed_beginning(parse(source, WordLists(pack.lists))):
            yield f"the pattern '{source}' has no word that every match holds, so it is tried everywhere"


def _expensive(source: str, costs: Mapping[str, int]) -> Iterator[str]:
    if costs.get(source, 0) > MOST_STEPS // 2:
        yield (
            f"a pattern can take {costs[source]:,} steps at one place, more than half of the {MOST_STEPS:,} that are "
            f"allowed: use fewer or shorter gaps: '{_start(source)}'"
        )


def _long(source: str) -> Iterator[str]:
    if len(source) > LONGEST_LINE:
        yield (
            f"a line has {len(source)} characters, more than {LONGEST_LINE}: split it into several, or move words into "
            f"a slot or a list named by their meaning: '{_start(source)}'"
        )


def _repeated_alternatives(source: str) -> Iterator[str]:
    repeated = {
        (word, times): choice
        for choice in _choices(source)
        for word, times in Counter(choice).items()
        if times > 1 and word
    }
    for (word, times), choice in repeated.items():
        shown = _start("|".join(choice).translate(_SHOWN))
        yield f"'{word.translate(_SHOWN)}' appears {times} times among the alternatives '{shown}'; keep one"


def _choices(source: str) -> Iterator[list[str]]:
    """The alternatives of every group, innermost first; a group that is an alternative itself adds its own.

    Read from the text, not from the tree: that takes a tenth of the time, and the words stay as they are written.
    """
    source = _PROTECTED.sub(lambda found: found[0].translate(_HIDDEN), normalise_pattern(source)).replace("(?:", "(")
    while group := _INNERMOST.search(source):
        yield group[1].split("|")
        before, after = source[: group.start()], source[group.end() :]
        is_alternative = before[-1:] in {"", "(", "|"} and after[:1] in {"", ")", "|"}
        source = before + (group[1] if is_alternative else group[0].translate(_HIDDEN)) + after
    yield source.split("|")


def _start(source: str) -> str:
    return source if len(source) <= EXCERPT else f"{source[:EXCERPT]}..."
