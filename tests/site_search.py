"""What people look for on the documentation site, and the search that the site does in the browser.

The theme (Material for MkDocs) searches with lunr: every word of a query stands for all words that begin with it, a hit
in a title weighs a thousand times a hit in a text, rare words weigh more, lengths do not matter (b = 0). The theme then
favours what holds more of the words, and the beginning of a page. `SearchIndex` does the same, so that the order can be
tested without a browser; `tests/browser` types the same queries into the real field.
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import NamedTuple

from markdown_it import MarkdownIt

# What people type -> the page that should be among the first three.
QUERIES = {
    "sycophancy": "checks/flattery.md",
    "flattery": "checks/flattery.md",
    "hotline": "checks/crisis_response.md",
    "crisis line": "checks/crisis_response.md",
    "suicide": "checks/crisis_response.md",
    "self-harm": "checks/crisis_response.md",
    "anthropomorphism": "checks/identity_claim.md",
    "medical advice": "checks/clinical_scope.md",
    "dark patterns": "checks/engagement_pressure.md",
    "LangSmith": "logs.md",
    "Langfuse": "logs.md",
    "OpenTelemetry": "logs.md",
    "OpenAI logs": "logs.md",
    "ChatGPT export": "logs.md",
    "Jupyter": "notebooks.md",
    "pandas": "notebooks.md",
    "CSV": "notebooks.md",
    "upload a CSV": "notebooks.md",
    "privacy": "privacy.md",
    "GDPR": "privacy.md",
    "personal data": "privacy.md",
    "retention": "privacy.md",
    "telemetry": "privacy.md",
    "companion chatbot laws": "companion-laws.md",
    "SB 243": "companion-laws.md",
    "EU AI Act": "companion-laws.md",
    "false positives": "false-positives.md",
    "false alarm": "false-positives.md",
    "disable rule": "false-positives.md",
    "baseline": "false-positives.md",
    "accuracy": "verdict-quality.md",
    "precision and recall": "verdict-quality.md",
    "inter-annotator agreement": "labels.md",
    "compliance": "audit.md",
    "pytest": "integrations.md",
    "GitHub Actions": "integrations.md",
    "pre-commit": "integrations.md",
    "MCP": "integrations.md",
    "guardrails": "guard.md",
    "streaming": "guard.md",
    "FastAPI": "tutorials/guard-in-fastapi.md",
    "JUnit": "reports.md",
    "SARIF": "reports.md",
    "exit code": "checks/severity.md",
    "Docker": "containers.md",
    "Spark": "scale.md",
    "Parquet": "scale.md",
    "RAG": "tutorials/judge-a-rag-system.md",
    "hallucination": "questions.md",
}
FIRST = 3
K1 = 1.2
TITLE_WEIGHT = 1000
SEPARATOR = re.compile(r"[\s\-]+")
EDGES = re.compile(r"^\W+|\W+$")
# Of lunr's stop words those that the queries here have.
STOP_WORDS = {"a", "and", "as", "is", "it", "of", "the"}
HEADING = re.compile(r"h[1-6]")


class Section(NamedTuple):
    """A heading and what stands below it, up to the next heading; the first of a page stands for the page."""

    page: str
    title: str
    text: str
    boost: float = 1.0
    opens_page: bool = False


def sections(markdown: str, page: str, boost: float = 1.0) -> Iterator[Section]:
    """A page as the theme cuts it up."""
    reader = _Sections()
    reader.feed(MarkdownIt("commonmark", {"html": True}).enable("table").render(markdown))
    for place, (title, text) in enumerate(reader.found):
        yield Section(page, "".join(title), "".join(text), boost, place == 0)


class _Sections(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[list[str], list[str]]] = []
        self._in_title = False

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if HEADING.fullmatch(tag):
            self.found.append(([], []))
            self._in_title = True
        self._add(" ")

    def handle_endtag(self, tag: str) -> None:
        self._in_title = self._in_title and not HEADING.fullmatch(tag)
        self._add(" ")

    def handle_data(self, data: str) -> None:
        self._add(data)

    def _add(self, words: str) -> None:
        if self.found:
            title, text = self.found[-1]
            (title if self._in_title else text).append(words)


class SearchIndex:
    """The theme's index: BM25 without lengths, for titles and texts."""

    def __init__(self, found: list[Section]) -> None:
        self.sections = found
        counts = [(Counter(_words(one.title)), Counter(_words(one.text))) for one in found]
        # As lunr counts: a word in title and text of one section counts twice.
        holding: Counter[str] = Counter(word for both in counts for field in both for word in field)
        self._words = sorted(holding)
        self._weights: list[dict[str, dict[int, float]]] = [defaultdict(dict), defaultdict(dict)]
        for place, both in enumerate(counts):
            for field, (weight, words) in enumerate(zip((TITLE_WEIGHT, 1), both, strict=True)):
                for word, times in words.items():
                    rarity = math.log(1 + abs((len(found) - holding[word] + 0.5) / (holding[word] + 0.5)))
                    score = rarity * (K1 + 1) * times / (K1 + times)
                    self._weights[field][word][place] = score * weight * found[place].boost

    def pages(self, query: str) -> list[str]:
        """The pages in the order of the results."""
        terms = [term for term in SEPARATOR.split(query.lower()) if term]
        hits = [[word for word in self._words if word.startswith(term)] for term in terms]
        scores = self._scores(Counter(word for words in hits for word in words))
        ranked = sorted(scores, key=lambda place: -scores[place] * self._favour(place, terms, hits))
        return list(dict.fromkeys(self.sections[place].page for place in ranked))

    def _scores(self, wanted: Counter[str]) -> dict[int, float]:
        scores: dict[int, float] = defaultdict(float)
        length = math.sqrt(sum(times**2 for times in wanted.values()))
        for field in self._weights:
            for word, times in wanted.items():
                for place, weight in field.get(word, {}).items():
                    scores[place] += weight * times / length
        return scores

    def _favour(self, place: int, terms: list[str], hits: list[list[str]]) -> float:
        held = [any(place in field.get(word, {}) for field in self._weights for word in words) for words in hits]
        asked = [here for term, here in zip(terms, held, strict=True) if here or term not in STOP_WORDS]
        return 1 + (self.sections[place].opens_page + sum(asked) / max(1, len(asked))) ** 2


def _words(text: str) -> Iterator[str]:
    for word in SEPARATOR.split(text.lower()):
        if (trimmed := EDGES.sub("", word)) and trimmed not in STOP_WORDS:
            yield trimmed
