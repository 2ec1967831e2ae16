"""Templates of reports and pages: everything is escaped, nothing hidden acts, and only HTML needs them."""

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

import synthesis
from synthesis.report.templates import environment, shown

HOME = Path(synthesis.__file__).parent
TEMPLATES = sorted([*(HOME / "report" / "templates").glob("*.html"), *(HOME / "server" / "templates").glob("*.html")])
HOSTILE = "\"><script>x</script>' onfocus='x\u202e\x1b[31m"


class Elements(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.words = ""
        self.feed(str(text))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.words += data


def test_a_value_can_be_neither_markup_nor_an_attribute_nor_a_character_that_nobody_sees() -> None:
    drawn = environment().from_string('<p title="{{ text }}">{{ text }}</p>').render(text=HOSTILE)
    page = Elements(drawn)
    spelled = HOSTILE.replace("\u202e", "[U+202E]").replace("\x1b", "[U+001B]")
    assert page.found == [("p", {"title": spelled})]
    assert page.words == spelled


def test_what_was_said_shows_hidden_characters_as_such() -> None:
    page = Elements(shown(HOSTILE + "\r\n"))
    assert page.found == [("span", {"class": "unseen"})] * 2
    assert page.words == HOSTILE.replace("\u202e", "[U+202E]").replace("\x1b", "[U+001B]") + "\n"


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_no_template_switches_escaping_off(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert re.findall(r"\|\s*safe\b|autoescape|Markup|\son\w+=|javascript:", text) == []


def test_what_is_not_html_is_drawn_without_the_libraries_of_html() -> None:
    code = (
        "import sys, synthesis.cli.main, synthesis.audit.making, synthesis.report.markdown, synthesis.report.csv_table;"
        "print({'jinja2', 'markdown_it'} & set(sys.modules) or 'none')"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout == "none\n"
