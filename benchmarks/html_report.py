"""How quickly a report of many cases opens, searches and filters in a real browser.

python benchmarks/html_report.py [CASES]     5,000 by default; needs the extra `browser-tests` and chromium
"""

import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
from playwright.sync_api import Page, sync_playwright

from synthesis.api import load_cases
from synthesis.checks import rules_in_force
from synthesis.glossary import glossary_of
from synthesis.io import CASES
from synthesis.report.formats import FORMATS, write_pieces
from synthesis.report.stored import from_dict
from synthesis.run.evaluator import Evaluator
from synthesis.run.tally import run_cases

MANY = 5_000
WORD = "husband"
SEARCH = """word => new Promise(done => {
  const box = document.getElementById("by-words");
  box.value = word;
  box.dispatchEvent(new Event("input", { bubbles: true }));
  const look = () => document.querySelector(".unfound") ? requestAnimationFrame(done) : setTimeout(look, 5);
  look();
})"""


def write_report(path: Path, number: int) -> None:
    """The bundled cases over and over, so that the page has findings as real ones have them."""
    known, rules = load_cases(CASES), rules_in_force()
    cases = (msgspec.structs.replace(known[place % len(known)], id=f"MANY-{place + 1}") for place in range(number))
    report = from_dict(run_cases(cases, Evaluator(rules)).to_dict())
    write_pieces(FORMATS["html"].render(report, glossary_of(rules)), path)


def measured(page: Page, path: Path) -> list[tuple[str, float, float]]:
    """What was done, seconds until the page can be used again, and seconds of the processor."""
    counter = page.context.new_cdp_session(page)
    counter.send("Performance.enable", {"timeDomain": "threadTicks"})
    steps: dict[str, Callable[[], object]] = {
        "opens": lambda: page.goto(path.as_uri()),
        "searches": lambda: page.evaluate(SEARCH, WORD),
        "filters": lambda: page.select_option("#by-outcome", "expected"),
    }
    figures, used = [], 0.0
    for name, step in steps.items():
        began = time.perf_counter()
        step()
        page.evaluate("document.body.offsetHeight")
        taken = time.perf_counter() - began
        metrics = {one["name"]: one["value"] for one in counter.send("Performance.getMetrics")["metrics"]}
        figures.append((name, taken, metrics["TaskDuration"] - used))
        used = metrics["TaskDuration"]
    return figures


def main(arguments: list[str]) -> None:
    number = int(arguments[0]) if arguments else MANY
    with TemporaryDirectory() as temporary, sync_playwright() as driver:
        path = Path(temporary) / "report.html"
        write_report(path, number)
        browser = driver.chromium.launch(
            executable_path=shutil.which("chromium") or shutil.which("google-chrome"), args=["--no-sandbox"]
        )
        figures = measured(browser.new_page(), path)
        browser.close()
        print(f"{number:,} cases, {path.stat().st_size / 1e6:.1f} MB")
        for what, seconds, processor in figures:
            print(f"{what:10}{seconds:6.2f} s, {processor:.2f} s of the processor")


if __name__ == "__main__":
    main(sys.argv[1:])
