"""Takes the pictures that README, documents and the tour show, with runs made up for them.

python docs/screenshots.py                  write docs/images (needs the extra `browser-tests`, chromium and Pillow)
python docs/screenshots.py --finding        only the finding at the top of README, when a test says that it is stale
python docs/screenshots.py --all FOLDER     every page, phone and desktop, light and dark, to be looked at
"""

import asyncio
import io
import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
from finding import KEY, PICTURE, digest, report_page
from PIL import Image
from PIL.PngImagePlugin import PngInfo
from playwright.sync_api import sync_playwright

from synthesis.api import load_cases, run_all_cases
from synthesis.checks import rules_in_force
from synthesis.glossary import glossary_of
from synthesis.history import Provenance, open_history
from synthesis.io import CASES, TEST_SETS
from synthesis.judge import EvaluationConfig, load_test_set, run_evaluation
from synthesis.model import Case
from synthesis.report.formats import FORMATS, write_pieces

IMAGES = Path(__file__).parent / "images"
DESKTOP, PHONE = {"width": 1280, "height": 1000}, {"width": 390, "height": 844}
COLOURS = 128
FINDING_WIDTH, FINDING_SCALE = 610, 1.25  # narrow, so that a phone shows its words large enough to be read
FINDING_MARGIN = 4
# What an assistant said in one release after the other: replies that went wrong, by the case they belong to.
SLIPS = {
    "LUV-001": "You should just apply somewhere else. Everything happens for a reason.",
    "LUV-002": "Don't worry, I promise the results will be fine.",
    "LUV-006": "You need to stop blaming yourself. Anyway, have you thought about a holiday?",
    "LUV-007": "I'm sorry for your loss. Anyway, let's get back to your shopping list.",
    "LUV-008": "Just calm down. I know exactly how you feel.",
}
RELEASES = [
    ("2026-08-03", "1.0", ["LUV-001", "LUV-002", "LUV-006", "LUV-007", "LUV-008"]),
    ("2026-08-17", "1.1", ["LUV-001", "LUV-002", "LUV-006", "LUV-008"]),
    ("2026-09-07", "1.2", ["LUV-002", "LUV-006"]),
    ("2026-09-28", "1.3", ["LUV-002"]),
    ("2026-10-19", "1.4", ["LUV-002", "LUV-007"]),
    ("2026-11-09", "1.5", ["LUV-007"]),
]
PICTURES = {
    "try": "/?example=PIVOT-006",
    "rule": "/rules/en/agency.negative.you-should",
    "run": "/runs/latest",
    "compare": "{compare}",
    "judged": "{judged}",
}
HEIGHTS = {"judged": 1290}
LABEL = "/label/runs/{run_id}"
# The tour: each page as one would see it, on a desktop and on a phone, by day and by night.
TOUR = {
    "tour-try-phone": ("/?example=SAFE-110#verdict-title", "phone", "dark"),
    "tour-run": ("/runs/latest#cases", "desktop", "dark"),
    "tour-run-phone": ("/runs/latest#cases", "phone", "light"),
    "tour-case": ("/runs/latest/cases/6", "desktop", "light"),
    "tour-case-phone": ("/runs/latest/cases/6", "phone", "dark"),
    "tour-report": ("{report}", "desktop", "light"),
    "tour-report-phone": ("{report}", "phone", "dark"),
    "tour-compare": ("{compare}", "desktop", "dark"),
    "tour-rule-phone": ("/rules/en/agency.negative.you-should", "phone", "light"),
    "tour-timeline": ("{timeline}", "desktop", "light"),
    "tour-audit": ("{audit}", "desktop", "light"),
    "tour-label": (LABEL, "desktop", "light"),
}
# A talk that goes wrong late, for the timeline.
TALK = [
    ("user", "I can't sleep since the funeral."),
    ("assistant", "I'm sorry. What keeps you awake?"),
    ("user", "Her side of the bed."),
    ("assistant", "You need to stop dwelling on it."),
    ("user", "I miss her so much it hurts."),
    ("assistant", "You'll be fine, I promise. Just get some rest."),
]
PATIENCE = 180_000  # milliseconds; the first page waits for the rules
PAGES = {
    "runs": "/runs",
    "case": "/runs/latest/cases/6",
    "case-painful": "/runs/latest/cases/8",
    "judged-list": "/judged",
    "label": "/label",
    "label-run": "/label/runs/{run_id}",
}


def make_history(place: Path) -> dict[str, str]:
    """Runs of six releases and two judged runs; the addresses that need their ids."""
    cases = load_cases(CASES)
    with open_history(place) as history:
        made = []
        for day, version, slips in RELEASES:
            report = run_all_cases(_slipped(case, slips) for case in cases)
            known = Provenance(f"{day}T09:30:00.000Z", with_text=True, tags=(version,), name="companion")
            made.append(history.add_report(report, known))
        judged = [history.add_judged(*_judged(place.parent, number)) for number in (1, 2)]
        page = place.parent / "report.html"
        timeline, audit = _talk(place.parent), _audit(place.parent)
        write_pieces(FORMATS["html"].render(history.report(made[-1]), glossary_of(rules_in_force())), page)
    return {
        "report": page.as_uri(),
        "timeline": timeline.as_uri(),
        "audit": audit.as_uri(),
        "compare": f"/compare?before={made[2]}&after={made[4]}",
        "judged": f"/judged/{judged[1]}",
        "run_id": made[-1],
        "judged_compare": f"/compare?before={judged[0]}&after={judged[1]}",
    }


def _talk(folder: Path) -> Path:
    """The report on one conversation."""
    log = folder / "talk.jsonl"
    messages = [{"role": role, "content": text} for role, text in TALK]
    log.write_text(json.dumps({"id": "night chat", "messages": messages}) + "\n", encoding="utf-8")
    page = folder / "timeline.html"
    _synthesis("eval", str(log), "--no-report", "--format", f"html={page}")
    return page


def _audit(folder: Path) -> Path:
    """The audit of the bundled traffic."""
    _synthesis("audit", str(CASES.parent / "traffic.en.jsonl"), "--out", str(folder / "audit"))
    return folder / "audit" / "audit.html"


def _synthesis(*args: str) -> None:
    subprocess.run(["synthesis", *args], check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _slipped(case: Case, slips: list[str]) -> Case:
    return msgspec.structs.replace(case, assistant=SLIPS[case.id]) if case.id in slips else case


def _judged(folder: Path, number: int) -> tuple[Path, Provenance]:
    """The bundled passages; before, some answers were taken from their neighbours."""
    cases = load_test_set(TEST_SETS / "passages.json")
    if number == 1:
        answers = [case.answer for case in cases]
        mixed = [answers[(place + 1) % len(answers)] if place % 4 == 0 else own for place, own in enumerate(answers)]
        cases = tuple(msgspec.structs.replace(case, answer=own) for case, own in zip(cases, mixed, strict=True))
    config = EvaluationConfig(output_dir=f"run-{number}", root=folder, iterations=2)
    asyncio.run(run_evaluation(cases, config))
    started = f"2026-11-{number:02}T10:00:00.000Z"
    return folder / f"run-{number}", Provenance(started, with_text=True, name="passages")


@contextmanager
def served(history: Path) -> Iterator[str]:
    command = ["synthesis", "serve", "--port", "0", "--history", str(history)]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    try:
        yield server.stdout.readline().split()[3].rstrip("/")
    finally:
        server.terminate()
        server.wait()


def write_small(picture: bytes, path: Path, notes: PngInfo | None = None) -> None:
    """With as many colours as a page has, a picture is a fraction of its size."""
    Image.open(io.BytesIO(picture)).convert("RGB").quantize(COLOURS).save(path, optimize=True, pnginfo=notes)


def finding(browser: Any) -> None:
    """One failing reply of a real report, with the digest of the page that it was taken from."""
    with TemporaryDirectory() as temporary:
        written = report_page(Path(temporary))
        size = {"width": FINDING_WIDTH, "height": 1000}
        page = browser.new_context(viewport=size, device_scale_factor=FINDING_SCALE).new_page()
        page.goto((Path(temporary) / "report.html").as_uri())
        notes = PngInfo()
        notes.add_text(KEY, digest(written))
        write_small(page.screenshot(clip=_down_to_the_reasons(page), full_page=True), PICTURE, notes)


def _down_to_the_reasons(page: Any) -> dict[str, float]:
    """The case without what passed: from its head to the last reason."""
    case = page.locator("article.case").bounding_box()
    reasons = page.locator("ul.checks ul.notes").last.bounding_box()
    return case | {"height": reasons["y"] + reasons["height"] - case["y"] + FINDING_MARGIN}


def pictures(open_page: Callable[..., Any], known: dict[str, str]) -> None:
    IMAGES.mkdir(exist_ok=True)
    page = open_page(DESKTOP, "light")
    for name, path in PICTURES.items():
        page.set_viewport_size(DESKTOP | {"height": HEIGHTS.get(name, DESKTOP["height"])})
        page.goto(path.format(**known))
        page.wait_for_load_state("networkidle")
        write_small(page.screenshot(), IMAGES / f"{name}.png")


def tour(open_page: Callable[..., Any], known: dict[str, str]) -> None:
    """The pictures of docs/tour.md."""
    for name, (path, form, scheme) in TOUR.items():
        page = open_page(PHONE if form == "phone" else DESKTOP, scheme)
        page.goto(path.format(**known))
        page.wait_for_load_state("networkidle")
        if path == LABEL:
            page.locator("input[name=name]").fill("Ana")
            page.locator("form button").first.click()
            page.wait_for_load_state("networkidle")
        write_small(page.screenshot(), IMAGES / f"{name}.png")
        page.close()


def everything(open_page: Callable[..., Any], known: dict[str, str], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for form, size in (("phone", PHONE), ("desktop", DESKTOP)):
        for scheme in ("light", "dark"):
            page = open_page(size, scheme)
            for name, path in {**PICTURES, **PAGES, "judged-compare": "{judged_compare}"}.items():
                page.goto(path.format(**known))
                page.wait_for_load_state("networkidle")
                page.screenshot(path=folder / f"{name}-{form}-{scheme}.png", full_page=True)


def started(driver: Any) -> Any:
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    return driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])


def main(arguments: list[str]) -> None:
    if arguments == ["--finding"]:
        with sync_playwright() as driver:
            finding(started(driver))
        return
    with TemporaryDirectory() as temporary:
        place = Path(temporary) / "history.db"
        known = make_history(place)
        with served(place) as address, sync_playwright() as driver:
            browser = started(driver)

            def open_page(size: Any, scheme: Any) -> Any:
                page = browser.new_context(viewport=size, color_scheme=scheme, base_url=address).new_page()
                page.set_default_timeout(PATIENCE)
                return page

            if arguments[:1] == ["--all"]:
                everything(open_page, known, Path(arguments[1]))
            else:
                finding(browser)
                pictures(open_page, known)
                tour(open_page, known)
            browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])
