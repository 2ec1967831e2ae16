"""The documentation site: every page is in its menu once, every link and anchor leads somewhere."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
sys.path.append(str(ROOT / "docs"))

import site_pages  # noqa: E402

REPOSITORY = "https://example.org/blob/main/"


def test_every_link_leads_somewhere_and_every_page_is_in_the_menu() -> None:
    assert site_pages.problems() == []


def test_every_document_of_the_repository_is_a_page() -> None:
    documents = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    assert set(site_pages.pages()) == {path.relative_to(ROOT).as_posix() for path in documents}


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda menu: menu[:-1], "is not in the navigation"),
        (lambda menu: [*menu, "gone.md"], "does not exist"),
        (lambda menu: [*menu, menu[0]], "is in the navigation twice"),
    ],
)
def test_a_wrong_menu_is_noticed(monkeypatch: pytest.MonkeyPatch, change: object, problem: str) -> None:
    menu = site_pages.navigation()
    monkeypatch.setattr(site_pages, "navigation", lambda: change(menu))  # type: ignore[operator]
    assert [line for line in site_pages.problems() if problem in line]


def test_wrong_links_and_anchors_are_noticed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("# A\n[x](b.md) [y](#gone) [z](#a)\n```text\n[no](link.md)\n```\n")
    monkeypatch.setattr(site_pages, "ROOT", tmp_path)
    found = list(site_pages._link_problems("docs/a.md"))
    assert found == ["docs/a.md: b.md does not exist", "docs/a.md: docs/a.md has no heading #gone"]


@pytest.mark.parametrize(
    ("page", "link", "leads_to"),
    [
        ("readme.md", "docs/judge.md#claims", "judge.md#claims"),
        ("readme.md", "docs/images/try.png", "images/try.png"),
        ("checks/flattery.md", "../profiles.md", "../profiles.md"),
        (
            "profiles.md",
            "../src/synthesis/checks/tables/shared.yaml",
            f"{REPOSITORY}src/synthesis/checks/tables/shared.yaml",
        ),
        ("questions.md", "../SECURITY.md", "security.md"),
        ("index.md", "https://example.org/", "https://example.org/"),
    ],
)
def test_a_link_between_files_becomes_one_between_pages(page: str, link: str, leads_to: str) -> None:
    assert site_pages.for_site(f"See [it]({link}).", page, REPOSITORY) == f"See [it]({leads_to})."


def test_code_stays_as_it_is_and_a_files_name_becomes_a_title() -> None:
    block = "```text\n[a](../x.md)\n```\n"
    assert site_pages.for_site(block, "index.md", REPOSITORY) == block
    assert site_pages.for_site("```json a.json\n{}\n```\n", "index.md", REPOSITORY).startswith('```json title="a.json"')


@pytest.mark.parametrize(
    ("heading", "anchor"), [("How topic_pivot decides", "how-topic_pivot-decides"), ("`a b`: c, d", "a-b-c-d")]
)
def test_anchors_are_made_as_the_site_makes_them(heading: str, anchor: str) -> None:
    assert site_pages.anchors(f"# T\n\n## {heading}\n") == {"t", anchor}


def test_the_site_asks_for_nothing_from_elsewhere() -> None:
    settings = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert "font: false" in settings
    assert "repo_url:" not in settings.replace("`repo_url`", "")
    own = (ROOT / "docs" / "site").iterdir()
    assert not [path.name for path in own if "http" in path.read_text(encoding="utf-8")]
