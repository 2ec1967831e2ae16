"""One claim against the sentences of a context: what is found, what the source fills differently, what is missing."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import combinations, pairwise

from synthesis.judge.claims import Slot
from synthesis.judge.offline.lexicon import Phrase, lexicon
from synthesis.judge.offline.sentences import LIGHT, Sentence, Word, alike, cut, names_in, places, read
from synthesis.judge.offline.text import normalise
from synthesis.judge.offline.values import CLOCK, COUNT, DATE, DAYS, OTHER, PLACE, SAME, Quantity, kind_word, relation

QUANTITY_WEIGHT = 1.5
MOST_WINDOWS = 12  # compared in detail, the nearest first
_ASKED = 0.5  # of a word's weight, for a word that only the question has
_AROUND = 4  # lexemes around the words that a claim takes from a sentence
_BESIDE = 3  # lexemes between a word that both have and the names beside it
_CLEARLY = 0.3  # nearer, before one amount of a sentence is taken and not another
_CLAUSE_ENDS = frozenset(".;:–—")
_SHORT_PIECE = 3  # lexemes between two commas: an addition
ENTITY, NEGATION, QUANTIFIER, ROLE = "entity", "negation", "quantifier", "role"
AMOUNTS = frozenset({"number", "time", "date", "place in a row"})  # kinds of slots that are compared by value
Span = tuple[int, int]
Pairs = list[tuple[Word, Word]]
Kin = Mapping[str, frozenset[str]]  # by family of a claim's word: the families of the context that it can be


class Source:
    """The sentences of a context, read in one language."""

    def __init__(self, passages: Sequence[str], language: str, most_words: int) -> None:
        self.known = lexicon(language)
        self.truncated = False
        texts = list(self._within(passages, most_words))
        self.names = frozenset(name for parts in texts for part in parts for name in names_in(part, self.known))
        self.passages = [
            [read(part, self.known, number, self.names) for part in parts] for number, parts in enumerate(texts)
        ]
        self.windows = [window for parts in self.passages for window in self._windows(parts)]
        self._families = [{word.family for one in parts for word in one.words} for parts in self.passages]
        self._in_windows = _places_by({word.family for word in window.words} for window in self.windows)
        self._with_kind = _places_by({one.kind for one in window.quantities} for window in self.windows)
        self._kin: dict[str, frozenset[str]] = {}

    def _within(self, passages: Sequence[str], most_words: int) -> Iterator[list[str]]:
        left = most_words
        for passage in passages:
            parts = []
            for part in cut(passage, self.known.name):
                left -= len(part.split())
                if left < 0:
                    self.truncated = True
                    break
                parts.append(part)
            yield parts

    def _windows(self, parts: Sequence[Sentence]) -> Iterator[Sentence]:
        """Each sentence, and each with the one that follows; in Thai a space may be within a sentence."""
        yield from parts
        for one, other in pairwise(parts):
            both = read(f"{one.text} {other.text}", self.known, one.passage, self.names)
            yield both._replace(single=self.known.name == "th")

    def read_claim(self, text: str) -> Sentence:
        return read(self.known.reply.sub("", normalise(text)), self.known, -1, self.names)

    def nearest(self, claim: Sentence, question: Sentence | None = None) -> list["Comparison"]:
        """The claim beside the sentences that have most of it, the nearest first; the question says what that is."""
        kin = {word.family: self._kin_of(word) for word in claim.words}
        asked = [word._replace(weight=word.weight * _ASKED) for word in (question.words if question else ())]
        heavy = [word for word in asked if word.weight > LIGHT * _ASKED]
        about = [self._kin_of(word) for word in heavy or asked]
        found = []
        for at in self._ranked(claim, asked):
            window = self.windows[at]
            found.append(Comparison(claim, window, kin, self._families[window.passage], about))
        return sorted(found, key=lambda one: (-one.nearness, len(one.window.lexemes)))[:MOST_WINDOWS]

    def _ranked(self, claim: Sentence, asked: Sequence[Word]) -> list[int]:
        """The sentences that share most words and kinds of quantities with claim and question."""
        shared: Counter[int] = Counter()
        for word in {word.family: word for word in (*asked, *claim.words)}.values():
            for at in {at for other in self._kin_of(word) for at in self._in_windows[other]}:
                shared[at] += round(100 * word.weight)
        for kind in {one.kind for one in claim.quantities}:
            for at in self._with_kind[kind]:
                shared[at] += 20
        ranked = sorted(shared, key=lambda at: (-shared[at], len(self.windows[at].lexemes), at))
        return ranked[: 2 * MOST_WINDOWS]

    def _kin_of(self, word: Word) -> frozenset[str]:
        if word.family not in self._kin:
            found = (other for other in self._in_windows if alike(word.family, other, self.known))
            self._kin[word.family] = frozenset(found)
        return self._kin[word.family]


def _places_by(names: Iterable[Collection[str]]) -> defaultdict[str, list[int]]:
    """By name the places that have it."""
    found: defaultdict[str, list[int]] = defaultdict(list)
    for at, here in enumerate(names):
        for name in sorted(here):
            found[name].append(at)
    return found


class Comparison:
    """A claim beside one sentence of the context, or two that follow one another."""

    def __init__(
        self, claim: Sentence, window: Sentence, kin: Kin, around: set[str], about: Sequence[frozenset[str]] = ()
    ) -> None:
        here = {word.family for word in window.words}
        self.asked = sum(bool(families & here) for families in about) / len(about) if about else 0.0
        self.claim, self.window, self._kin, self._around = claim, window, kin, around
        self.pairs = _pairs(claim, window, kin)
        self.amounts = Amounts(claim, window, self.pairs)
        self._turned = Turned(claim, window, self.pairs, self.span, kin)
        self._found = {word.at for word, _ in self.pairs} | self._turned.places
        self.rest = [word for word in claim.words if word.at not in self._found]
        self.far = [word for word in self.rest if kin[word.family] & around]

    @cached_property
    def span(self) -> Span:
        """The part of the sentence that the claim's words are taken from."""
        if not self.pairs:
            return 0, len(self.window.lexemes) - 1
        at = [other.at for _, other in self.pairs]
        return max(0, min(at) - _AROUND), min(len(self.window.lexemes) - 1, max(at) + _AROUND)

    @cached_property
    def weight(self) -> float:
        """Of the claim's words."""
        return sum(word.weight for word in self.claim.words)

    @cached_property
    def covered(self) -> float:
        """The share of the claim, by weight, that this sentence has or fills differently."""
        words = sum(word.weight for word in self.claim.words if word.at in self._found)
        words += sum(word.weight for word in self.far if word.is_name and self._has_pronoun)
        amounts = QUANTITY_WEIGHT * (self.amounts.same + len(self.amounts.slots))
        total = self.weight + QUANTITY_WEIGHT * len(self.claim.quantities)
        return (words + amounts) / total if total else 0.0

    @cached_property
    def covered_but_names(self) -> float:
        """The same of what is left without the names that the whole passage does not have."""
        strange = sum(word.weight for word in self.rest if word.is_name and word not in self.far)
        total = self.weight + QUANTITY_WEIGHT * len(self.claim.quantities)
        return self.covered * total / (total - strange) if total > strange else 0.0

    @property
    def _has_pronoun(self) -> bool:
        """The sentence may speak of somebody who is named before it."""
        wanted = self.claim.known.pronouns
        return not wanted or any(lexeme.low in wanted for lexeme in self.window.lexemes)

    @cached_property
    def missing(self) -> list[str]:
        """Words of meaning that the whole passage does not have."""
        return [word.text for word in self.rest if word.weight > LIGHT and word not in self.far]

    @cached_property
    def slots(self) -> list[Slot]:
        """What the sentence says differently."""
        named = [word for word in self.rest if word.is_name]
        taken = {other.at for _, other in self.pairs}
        others = [word for word in self.window.words if word.is_name and word.at not in taken]
        return [
            *self.amounts.slots,
            *self._turned.slots(),
            *_quantified(self.claim, self.window, self.span),
            *_names(named, others, self.pairs),
        ]

    @cached_property
    def order(self) -> float:
        """Of all pairs of its words, the share that stands in the sentence's order."""
        steps = list(combinations([other.at for word, other in self.pairs if word.weight > LIGHT], 2))
        return sum(a < b for a, b in steps) / len(steps) if steps else 1.0

    @cached_property
    def crossed(self) -> int:
        """Clauses of the claim whose words stand in several clauses of the sentence."""
        mine, theirs = clauses(self.claim), clauses(self.window)
        met: dict[int, set[int]] = defaultdict(set)
        for word, other in self.pairs:
            if word.weight > LIGHT:
                met[mine[word.at]].add(theirs[other.at])
        for one, amount in self.amounts.matched:
            met[mine[one.start]].add(theirs[amount.start])
        return sum(len(found) > 1 for found in met.values())

    @cached_property
    def dropped(self) -> int:
        """Restrictions of the sentence that the claim does not have."""
        here = {name for _, name in self.claim.quantifiers}
        there = {name for at, name in self.window.quantifiers if self.span[0] <= at <= self.span[1]}
        return len((there & {"only", "except", "some", "most"}) - here)

    @cached_property
    def is_denied_alike(self) -> bool:
        """As many denials here as there, or one more beside an opposite."""
        turns = len(self.claim.negations) + len(self._turned.denials()) + len(self._turned.opposites)
        return turns % 2 == 0

    @cached_property
    def matched(self) -> int:
        """Words of meaning and amounts that both have."""
        return sum(word.weight > LIGHT for word, _ in self.pairs) + self.amounts.same

    @cached_property
    def nearness(self) -> float:
        far = sum(word.weight for word in self.far) / self.weight if self.weight else 0.0
        return self.covered + 0.3 * far + 0.25 * self.amounts.same - 0.1 * len(self.slots) - 0.05 * self.amounts.unfound


def _pairs(claim: Sentence, window: Sentence, kin: Kin) -> Pairs:
    """Each word of the claim with the word of the sentence that it is: the one nearest to the word before it."""
    found: Pairs = []
    used: set[int] = set()
    last = -1
    for word in claim.words:
        fitting = [other for other in window.words if other.at not in used and other.family in kin[word.family]]
        if fitting:
            exact = [other for other in fitting if other.family == word.family] or fitting
            best = min(exact, key=lambda other: (abs(other.at - last - 1), other.at))
            found.append((word, best))
            used.add(best.at)
            last = best.at
    return found


def clauses(sentence: Sentence) -> list[int]:
    """The number of the clause that each lexeme is in."""
    number, found = 0, []
    for at, lexeme in enumerate(sentence.lexemes):
        number += lexeme.text in _CLAUSE_ENDS or (lexeme.text == "," and _opens_clause(sentence, at + 1))
        found.append(number)
    return found


def _opens_clause(sentence: Sentence, at: int) -> bool:
    """Behind a comma: a word that joins clauses, or one of meaning with more behind it; not "In Maine, on 12 May"."""
    rest = sentence.lexemes[at : at + _SHORT_PIECE]
    if not rest or any(lexeme.text == "," for lexeme in rest):
        return False
    known = sentence.known
    return rest[0].low in known.joints or (rest[0].low not in known.function and rest[0].kind == "word")


# Quantities: each of the claim beside the one of the sentence whose neighbours are its neighbours.


class Amounts:
    """`unfound` ones have nothing to compare with."""

    def __init__(self, claim: Sentence, window: Sentence, pairs: Pairs) -> None:
        self.matched: list[tuple[Quantity, Quantity]] = []
        self.slots: list[Slot] = []
        self.unfound = 0
        self.is_bare = False  # two numbers differ of which neither says what it counts
        self._claim, self._window, self._pairs = claim, window, pairs
        self._free = list(window.quantities)
        for one in claim.quantities:
            self._place(one)

    @property
    def same(self) -> int:
        return len(self.matched)

    def _place(self, one: Quantity) -> None:
        able = [other for other in self._free if relation(one, other) != OTHER]
        if not able:
            self.unfound += not one.soft
            return
        best = self._best(one, able)
        if relation(one, best) == SAME:
            self.matched.append((one, best))
            self._free.remove(best)
        elif not one.soft and self._may_be_another(one):
            self.unfound += 1
        elif not one.soft:
            self.is_bare |= one.kind == COUNT and not one.noun
            self.slots.append(Slot(kind_word(one.kind), _words_of(self._claim, one), _words_of(self._window, best)))

    def _may_be_another(self, one: Quantity) -> bool:
        """It is worked out from others of the sentence, or about something else in it."""
        derived = not one.is_range and _derived(one, self._window.quantities)
        return derived or self._stands_elsewhere(one)

    def _stands_elsewhere(self, one: Quantity) -> bool:
        """The sentence has the value, beside other words or as an end of a range: it may be about something else."""
        ends = [end for other in self._window.quantities for end in (other, *other.ends)]
        return any(relation(one._replace(bound=""), other._replace(bound="")) == SAME for other in ends)

    def _best(self, one: Quantity, able: Sequence[Quantity]) -> Quantity:
        """The one whose neighbours are the claim's; of two that are as near the one that says the same."""
        best = max(able, key=lambda other: (self._affinity(one, other), relation(one, other) == SAME))
        equal = [other for other in able if relation(one, other) == SAME]
        if equal and relation(one, best) != SAME:
            near = max(equal, key=lambda other: self._affinity(one, other))
            if self._affinity(one, best) - self._affinity(one, near) < _CLEARLY:
                return near
        return best

    def _affinity(self, one: Quantity, other: Quantity) -> float:
        """How many words of the claim stand near a quantity of the sentence; those near its own count most."""
        score = 0.0
        for word, match in self._pairs:
            there = max(0, match.at - other.end, other.start - match.at)
            here = max(0, word.at - one.end, one.start - word.at)
            score += word.weight / (1 + there / 3) / (1 + here / 6)
        return score


def _derived(one: Quantity, others: Sequence[Quantity]) -> bool:
    """The value is a sum, a difference or a product of what the sentence has: no arithmetic is done here."""
    counted = [other for other in others if other.kind not in (CLOCK, DATE, DAYS, PLACE)]
    have = [value for other in counted for value in (*other.low, *other.high) if isinstance(value, int | float)]
    made = {round(value, 4) for a, b in combinations(have, 2) for value in _made(a, b)}
    return any(round(value, 4) in made for value in one.low if isinstance(value, int | float))


def _made(a: float, b: float) -> Iterator[float]:
    yield from (a + b, abs(a - b), a * b, a * b / 100)
    yield from (a / b if b else a, b / a if a else b)


def _words_of(sentence: Sentence, one: Quantity) -> str:
    first, last = sentence.lexemes[one.start], sentence.lexemes[one.end - 1]
    return sentence.text[first.start : last.end]


# Denials and opposites turn a sentence round, and so does another order of names; two of them turn it back.


class Turned:
    """`places` are the words of the claim whose opposite the sentence has."""

    def __init__(self, claim: Sentence, window: Sentence, pairs: Pairs, span: Span, kin: Kin) -> None:
        self._claim, self._window, self._pairs, self._span, self._kin = claim, window, pairs, span, kin
        self.places: set[int] = set()
        self.opposites = list(self._find())[:2]

    def slots(self) -> Iterator[Slot]:
        """The one that turns it round; none where two turn it back."""
        here, there = self._told_denials(), self.denials()
        denied = len(here) % 2 != len(there) % 2
        swapped = self._swapped() or self._compared_the_other_way()
        if (denied + len(self.opposites) + bool(swapped)) % 2 == 0:
            return
        if self.opposites:
            one, other = self.opposites[0]
            yield Slot(NEGATION, " ".join(one), " ".join(other))
        elif denied:
            yield Slot(NEGATION, _text_at(self._claim, here), _text_at(self._window, there))
        elif isinstance(swapped, Slot):
            yield swapped

    def _told_denials(self) -> list[int]:
        """Those of the claim that deny what the sentence has; "the other does not:" denies nothing by itself."""
        of = clauses(self._claim)
        found = [(of[word.at], word.at) for word, _ in self._pairs]
        follows = self._claim.known.name == "en"
        return [
            at
            for at in self._claim.negations
            if any(clause == of[at] and (place > at or not follows) for clause, place in found)
        ]

    def denials(self) -> list[int]:
        """Those of the sentence in the clauses that the claim's words are taken from."""
        of = clauses(self._window)
        weights: Counter[int] = Counter()
        for word, other in self._pairs:
            weights[of[other.at]] += round(100 * word.weight)
        told = {clause for clause, weight in weights.items() if weight * 2 >= max(weights.values())}
        return [at for at in self._window.negations if of[at] in told and self._span[0] <= at <= self._span[1]]

    def _find(self) -> Iterator[tuple[Phrase, Phrase]]:
        paired = {word.at for word, _ in self._pairs}
        for phrase, others in self._claim.known.opposites.items():
            at = places(phrase, self._claim.lexemes)
            if not at or at[0] in paired or phrase in self._window.phrases:
                continue
            near = [other for other in sorted(others) if self._is_near(other) and other not in self._claim.phrases]
            if near:
                self.places |= set(range(at[0], at[0] + len(phrase)))
                yield phrase, near[0]

    def _is_near(self, phrase: Phrase) -> bool:
        if phrase not in self._window.phrases:
            return False
        return any(self._span[0] <= at <= self._span[1] for at in places(phrase, self._window.lexemes))

    def _compared_the_other_way(self) -> bool:
        """ "A comes after B" is "B comes before A": what stands before the opposite here stands behind it there."""
        if not self.opposites:
            return False
        here, there = (places(phrase, side.lexemes)[0] for phrase, side in self._opposed())
        crossed = [(word.at < here) != (other.at < there) for word, other in self._pairs if word.weight > LIGHT]
        return len(crossed) > 1 and all(crossed)

    def _opposed(self) -> list[tuple[Phrase, Sentence]]:
        one, other = self.opposites[0]
        return [(one, self._claim), (other, self._window)]

    def _swapped(self) -> Slot | None:
        """Two names in the other order, unless one of the two sentences is passive."""
        named = [(word, other) for word, other in self._pairs if word.is_name]
        for (one, first), (two, second) in combinations(named, 2):
            apart = first.at > second.at + 1 and two.at > one.at + 1
            if one.family != two.family and apart and self._claim.passive == self._window.passive:
                return Slot(ROLE, f"{one.text} … {two.text}", f"{second.text} … {first.text}")
        return None


def _text_at(sentence: Sentence, at: Sequence[int]) -> str:
    return sentence.lexemes[at[0]].text if at else "–"


# Quantifiers, and names in the place of others.


_CLASHES = frozenset({
    ("all", "some"), ("all", "most"), ("all", "except"), ("all", "only"), ("some", "all"), ("most", "all"),
    ("all", "none"), ("some", "none"), ("most", "some"), ("some", "most"), ("only", "all"), ("none", "all"),
    ("none", "some"),
})  # fmt: skip


def _quantified(claim: Sentence, window: Sentence, span: Span) -> Iterator[Slot]:
    there = {name: at for at, name in window.quantifiers if span[0] - 2 <= at <= span[1]}
    for at, name in claim.quantifiers:
        clash = next((other for other in there if (name, other) in _CLASHES), None)
        if clash and name not in there:
            yield Slot(QUANTIFIER, claim.lexemes[at].text, window.lexemes[there[clash]].text)
            return


def _names(strange: Sequence[Word], others: Sequence[Word], pairs: Pairs) -> Iterator[Slot]:
    for word in strange:
        if instead := _in_place(word, others, pairs):
            run = [one for one in strange if 0 <= one.at - word.at <= _BESIDE]
            yield Slot(ENTITY, " ".join(one.text for one in run), " ".join(one.text for one in instead))
            return


def _in_place(word: Word, others: Sequence[Word], pairs: Pairs) -> list[Word]:
    """The names that stand beside the same words of the sentence as this one does in the claim."""
    for mine, other in pairs:
        gap = word.at - mine.at
        if 0 < abs(gap) <= _BESIDE:
            near = [one for one in others if 0 < (one.at - other.at) * (1 if gap > 0 else -1) <= _BESIDE]
            if near:
                first = min(near, key=lambda one: abs(one.at - other.at))
                return [one for one in others if 0 <= one.at - first.at <= _BESIDE]
    return []
