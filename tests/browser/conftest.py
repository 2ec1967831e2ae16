"""A real browser, and what several pages are asked."""

import os
import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest

playwright = pytest.importorskip(
    "playwright.sync_api", reason="playwright is not installed: `make test-browser` installs it"
)
NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
MISSING = "no browser found: install chromium (Debian: apt-get install chromium), or name one in SYNTHESIS_BROWSER"


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    path = os.environ.get("SYNTHESIS_BROWSER") or next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        pytest.skip(MISSING)
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture
def weak_contrasts() -> Callable[[Any], list[str]]:
    """Texts of a page that stand out less than WCAG asks (4.5)."""
    return lambda page: page.evaluate(CONTRAST)


CONTRAST = """() => {
  const parse = text => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map(v => v / 255)
    .map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = element => {
    for (let e = element; e; e = e.parentElement) {
      const colour = parse(getComputedStyle(e).backgroundColor);
      if (colour.length < 4 || colour[3] > 0) return colour;
    }
    return [255, 255, 255];
  };
  const weak = new Set();
  for (const element of document.querySelectorAll('body *')) {
    const own = [...element.childNodes].some(n => n.nodeType === 3 && n.data.trim());
    if (!own || !element.checkVisibility() || element.closest('svg')) continue;
    const [a, b] = [light(parse(getComputedStyle(element).color)), light(ground(element))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) weak.add(`${element.tagName}.${element.className} ${ratio.toFixed(2)}`);
  }
  return [...weak];
}"""
