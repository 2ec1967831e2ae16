"""One user message and the reply to it, scanned: the input of a check, and the evidence that checks share."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import accumulate
from typing import Any

from synthesis.checks.learned import PREFIX, LearnedHit, Scores
from synthesis.checks.similarity import similarity_of
from synthesis.io import PACKS
from synthesis.model import Finding
from synthesis.model.result import FOR
from synthesis.model.texts import TextsOf, no_texts
from synthesis.reader.weights import EARLIER, MESSAGE, REPLY
from synthesis.rules.prose import drafts, is_inside, without
from synthesis.rules.reading import WORD, Hit, Reading
from synthesis.rules.schema import FAIL, WARNING, Rule, Signal
from synthesis.rules.text import UNDETERMINED, Span
from synthesis.settings import AUTHORED

# The signals of a user who asks for a text, and of the words that may begin and end a letter.
TEXT_REQUEST, LETTER = "request.text", "request.letter"
OPENING, CLOSING = "opening", "closing"


class Exchange:
    """A user message and its reply, with every hit of every rule by signal."""

    def __init__(
        self,
        user: Reading,
        assistant: Reading,
        signals: Mapping[str, Signal],
        *,
        turn: int = 0,
        tags: tuple[str, ...] = (),
        profile: str = AUTHORED,
        previous: "Exchange | None" = None,
        texts: TextsOf = no_texts,
        learned: Any = None,
    ) -> None:
        self.user = user
        self.assistant = assistant
        self.turn = turn
        self.tags = tags
        self.profile = profile
        self.previous = previous  # in the same conversation
        self.texts = texts  # what packs say, for evidence that is read by people
        self.steps: dict[str, Any] = {}  # values of the steps that tables share, once one is asked for
        self._signals = signals
        self._learned = learned  # the reader beside the rules, if one is on
        # One side at least: a reply without text, or a language without rules.
        self.is_unreadable = not assistant.original or UNDETERMINED in {user.language.code, assistant.language.code}
        self._hits: dict[str, list[Hit]] = defaultdict(list)
        self._counting: dict[str, list[Hit]] = defaultdict(list)
        self._add(user.hits)
        # Where the user asked for a text, the parts of the reply that can be it.
        self.drafts = self._drafts() if self._counting.get(TEXT_REQUEST) else []
        self._add([hit for hit in assistant.hits if not self._is_drafted(hit)] if self.drafts else assistant.hits)

    def _add(self, hits: Iterable[Hit]) -> None:
        for hit in hits:
            self._hits[hit.rule.signal].append(hit)
            if hit.rule.severity != WARNING:
                self._counting[hit.rule.signal].append(hit)

    def _drafts(self) -> list[Span]:
        letters = [hit for hit in self.assistant.hits if hit.rule.signal == LETTER]
        openings, closings = (
            [(hit.start, hit.end) for hit in letters if hit.rule.group == group] for group in (OPENING, CLOSING)
        )
        return drafts(self.assistant.original, openings, closings)

    def _is_drafted(self, hit: Hit) -> bool:
        return not self._signals[hit.rule.signal].whole and is_inside(self.drafts, hit.start)

    @cached_property
    def speaks_beside_draft(self) -> bool:
        """Whether the reply holds the text that was asked for and speaks to the person around it."""
        return bool(self.drafts) and bool(WORD.search(without(self.assistant.spoken, self.drafts)))

    def hits(self, signal: str, *, anywhere: bool = False) -> list[Hit]:
        """The hits that count for a signal, in the order of the text; warnings and late anchors do not.

        With `anywhere`, an anchor signal counts in the whole reply.
        """
        if signal.startswith(PREFIX) and signal not in self._counting:
            self._add_learned(signal)
        counting = self._counting.get(signal)
        if not counting:
            return []
        if anywhere or not self._signals[signal].anchor:
            return list(counting)  # of its own: who asks may add to it
        limit = self.assistant.anchor[1]
        return [hit for hit in counting if hit.start < limit]

    @cached_property
    def learned(self) -> Scores | None:
        """What the learned reader says of this exchange; None where none reads."""
        if self._learned is None or not self.user.learned or not self.assistant.learned:
            return None
        earlier = self.previous.user if self.previous else None
        scores: Scores = self._learned.scores(self.user, self.assistant, earlier)
        return scores

    def _add_learned(self, signal: str) -> None:
        """Make the hits of a learned signal when first asked for them. In authored it may only speak for a reply."""
        found: list[Hit] = []
        if self.learned is not None and (self.profile != AUTHORED or self._signals[signal].role == FOR):
            texts = {MESSAGE: self.user.original, REPLY: self.assistant.original}
            if self.previous:
                texts[EARLIER] = self.previous.user.original
            found = self.learned.reader.hits(self.learned, signal.removeprefix(PREFIX), texts)
        self._hits[signal] = self._counting[signal] = found

    def agrees(self, head: str) -> bool:
        """Whether the learned reader leaves a decision to rules; in authored it always does."""
        learned = self.learned
        return learned is None or self.profile == AUTHORED or bool(learned.reader.is_backed(learned, head))

    def backed(self, hits: Sequence[Hit], head: str) -> list[Hit]:
        """The hits that count beside the learned score: those of precise rules always, others where it agrees.

        Only bundled rules were measured. Whoever adds a rule means it.
        """
        if self.learned is None or self.agrees(head):
            return list(hits)
        precise = self.learned.reader.decision(head).precise
        return [hit for hit in hits if hit.rule.group in precise or hit.rule.id in precise or not is_bundled(hit.rule)]

    def first_words(self, hits: Sequence[Hit]) -> list[str]:
        """The words of the first hit of each rule, each wording once, in order."""
        return list(dict.fromkeys([hit.words for hit in first_of_each(hits)])) if hits else []

    def findings(self, *signals: str, counted: Iterable[Hit] | None = None) -> tuple[Finding, ...]:
        """Every hit of these signals as a finding, warnings and late anchors included.

        `counted` are the hits that decided; left out, every hit that counts for its signal did.
        """
        if counted is None:
            counted = [hit for signal in signals for hit in self.hits(signal)]
        deciding = set(map(id, counted))  # hits live as long as this exchange, and rules have no hash
        found: list[Finding] = []
        for name in signals:
            if name.startswith(PREFIX):
                found += self._learned_findings(name, deciding)
            elif hits := self._hits.get(name):
                signal = self._signals[name]
                name, where, role, turn = signal.name, signal.where, signal.role, self.turn
                # By place and one by one, since there are many: unpacked arguments take twice the time. A default is
                # left out of the report only if it is the very object.
                for hit in hits:
                    rule, _, start, end, words = hit
                    severity = FAIL if rule.severity == FAIL else rule.severity
                    counts = id(hit) in deciding
                    found.append(Finding(rule.id, name, where, turn, start, end, words, severity, role, counts))
        return tuple(found)

    def _learned_findings(self, name: str, deciding: set[int]) -> list[Finding]:
        signal = self._signals[name]
        return [
            Finding(
                *(hit.rule.id, name, signal.where, self.turn, hit.start, hit.end, hit.words, FAIL, signal.role),
                counted=id(hit) in deciding,
                reader=hit.reader,
                score=hit.score,
                threshold=hit.threshold,
                share=hit.share,
            )
            for hit in self.hits(name)
            if isinstance(hit, LearnedHit)
        ]

    def rules_behind(self, findings: Iterable[Finding]) -> list[Rule]:
        """The rules that these findings are of."""
        wanted = {finding.rule for finding in findings}
        learned = (hit for name, hits in self._hits.items() if name.startswith(PREFIX) for hit in hits)
        return [hit.rule for hit in (*self.user.hits, *self.assistant.hits, *learned) if hit.rule.id in wanted]

    @cached_property
    def similarity(self) -> float:
        """How alike user message and reply are, by the adapter in force."""
        return similarity_of(self.user, self.assistant)


def is_bundled(rule: Rule) -> bool:
    """Whether a rule is of a pack that came with the package, and so was measured."""
    return rule.file.startswith(str(PACKS))


def outermost(hits: Iterable[Hit]) -> list[Hit]:
    """The hits in the order of the text, without those that lie inside another one of the same sign."""
    kept: list[Hit] = []
    reached = -1
    for hit in sorted(hits, key=lambda hit: (hit.start, -hit.end, hit.rule.id)):
        if hit.end > reached:
            reached = hit.end
            kept.append(hit)
    return kept


def first_of_each(hits: Iterable[Hit]) -> list[Hit]:
    """One hit per rule, the first: a rule counts once, however often it hits."""
    first: dict[str, Hit] = {}
    for hit in hits:
        first.setdefault(hit.rule.id, hit)
    return list(first.values())


def apart_from(others: list[Hit], hits: Iterable[Hit]) -> list[Hit]:
    """The hits that share no character with any of `others`."""
    if not others:
        return list(hits)
    ordered = sorted((hit.start, hit.end) for hit in others)
    ends = list(accumulate((end for _, end in ordered), max))

    def is_apart(hit: Hit) -> bool:
        before = bisect_left(ordered, (hit.end, 0))  # those that start before this one ends
        return before == 0 or ends[before - 1] <= hit.start

    return [hit for hit in hits if is_apart(hit)]


def warned(exchange: Exchange, *signals: str) -> list[str]:
    """The words of hits that a reader should see, but that fail nothing."""
    texts = (finding.text for finding in exchange.findings(*signals) if finding.severity == WARNING)
    return list(dict.fromkeys(texts))
