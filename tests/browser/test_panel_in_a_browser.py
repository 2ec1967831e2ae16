"""A panel in a real browser: from the list to the page by ticking runs, without a script, at phone width too."""

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the extra `serve` is not installed")

from panel_samples import fill_panel
from serving import serving

pytestmark = pytest.mark.browser
PHONE, DESKTOP = {"width": 390, "height": 844}, {"width": 1280, "height": 900}


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    folder = tmp_path_factory.mktemp("panel")
    return folder / "history.db", fill_panel(folder)


@pytest.mark.parametrize("size", [PHONE, DESKTOP], ids=["phone", "desktop"])
def test_two_ticked_runs_become_a_panel_that_fits(
    browser: Any, saved: tuple[Path, dict[str, str]], size: dict[str, int], tmp_path: Path, weak_contrasts: Any
) -> None:
    place, ids = saved
    with serving(tmp_path, history=str(place)) as address:
        context = browser.new_context(viewport=size, base_url=address, java_script_enabled=False)
        page = context.new_page()
        page.goto("/judged")
        for name in ("offline", "mild"):
            page.check(f"input[value='{ids[name]}']")
        page.click("text=Panel of several judges")
        assert page.locator("h1").inner_text() == "Panel of judges"
        assert page.locator("article.case").count() == 1
        context.close()
        context = browser.new_context(viewport=size, base_url=address)
        page = context.new_page()
        page.goto(f"/panel?run={ids['offline']}&run={ids['mild']}")
        assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
        assert weak_contrasts(page) == []
        page.screenshot(path=str(tmp_path / "panel.png"), full_page=True)
        context.close()
