"""The documentation site in a real browser: its first page, its search, and nothing asked from elsewhere."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from site_search import FIRST, QUERIES

pytestmark = pytest.mark.browser

ROOT = Path(__file__).parent.parent.parent
MKDOCS = ROOT / ".venv-docs" / ("Scripts" if sys.platform == "win32" else "bin") / "python"
SIZES = {"phone": {"width": 390, "height": 844}, "desktop": {"width": 1280, "height": 800}}
INSTALL, PICTURE = "pip install", ".hero-picture img"
SHOWN = "() => [...document.querySelectorAll('.md-search-result__item')].map(one => one.querySelector('a').href)"
# The line above the results says what the search is doing; it is the same for no query and for the next one's start.
SAYS = "() => document.querySelector('.md-search-result__meta').textContent.trim()"
IDLE = f"({SAYS})() === 'Type to start searching'"


class Silent(SimpleHTTPRequestHandler):
    def log_message(self, *words: object) -> None:
        pass


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    if not MKDOCS.exists():
        pytest.skip("MkDocs is not installed: `make docs-site` installs it")
    folder = tmp_path_factory.mktemp("site")
    subprocess.run([MKDOCS, "-m", "mkdocs", "build", "--quiet", "--site-dir", folder], cwd=ROOT, check=True)
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Silent, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def search(browser: Any, address: str) -> Iterator[Any]:
    """The first page, with the field of the search open and its index loaded."""
    page = browser.new_page(viewport=SIZES["desktop"])
    page.goto(address)
    page.locator("[data-md-component=search-query]").click()
    page.wait_for_function(IDLE)
    yield page
    page.close()


def found(search: Any, address: str, query: str) -> list[str]:
    """The pages that the search shows, in their order."""
    field = search.locator("[data-md-component=search-query]")
    for text in ("", query):  # emptied first, so that nothing of the query before is read
        field.fill(text)
        field.press("End")  # the theme listens to keys
        search.wait_for_function(IDLE if not text else f"!({IDLE})")
    links = search.evaluate(SHOWN)
    return [link.removeprefix(address).partition("#")[0].partition("?")[0] for link in links]


@pytest.mark.parametrize(("query", "page"), QUERIES.items(), ids=QUERIES)
def test_the_search_shows_the_page_about_it_among_the_first_three(
    search: Any, address: str, query: str, page: str
) -> None:
    assert f"{page.removesuffix('.md')}/" in found(search, address, query)[:FIRST]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_the_first_page_says_how_to_begin_before_anybody_scrolls(
    browser: Any, address: str, size: str, scheme: str
) -> None:
    context = browser.new_context(viewport=SIZES[size], color_scheme=scheme)
    page = context.new_page()
    said: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(address, wait_until="networkidle")
    height = SIZES[size]["height"]
    install = page.get_by_text(INSTALL).first.bounding_box()
    picture = page.locator(PICTURE).bounding_box()
    assert install["y"] + install["height"] < height / 2
    assert picture["y"] + (picture["height"] if size == "desktop" else 0) < height
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert said == []
    assert [url for url in asked if not url.startswith((address, "data:", "blob:"))] == []
    context.close()
