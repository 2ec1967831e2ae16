"""The documentation site: which file becomes which page, and whether every link and every page of it is in order.

python docs/site_pages.py --check           exit 1 if a link leads nowhere or a page is missing from the navigation
python docs/site_pages.py --requirements    what the site is built with, from the extra `docs`

MkDocs calls `on_files` and `on_page_markdown` (`hooks` in mkdocs.yml). The documents are written for a reader of the
repository: their links are paths of files. Here the files beside `docs/` become pages too, and links to anything that
is no page lead to the repository. Nothing but PyYAML is needed for `--check`.
"""

import posixpath
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
LINK = re.compile(r"(\]\()(?!https?:|mailto:|#)([^)\s#]+)(#[^)\s]*)?(\))")
ANCHOR = re.compile(r"\]\(([^)\s#]*)#([^)\s]+)\)")
FENCE = re.compile(r"^(```.*?^```)", re.MULTILINE | re.DOTALL)
TITLED_FENCE = re.compile(r"^```(json) (\S+\.json)$", re.MULTILINE)
# Files at the top of the repository that are pages of the site as well.
BESIDE = {
    "CHANGELOG": "changelog",
    "CODE_OF_CONDUCT": "conduct",
    "CONTRIBUTING": "contributing",
    "SECURITY": "security",
}

# Pages that mention everything once: in the search they rank below the page that explains it.
MENTIONS = (
    "readme.",
    "changelog.",
    "upgrading.",
    "releasing.",
    "campaign.",
    "architecture.",
    "design/",
    "reference/rules.",
)
MENTION_BOOST = 0.1
WIDE = "index.md"  # without a menu beside it, so that words and picture fit side by side


def pages() -> dict[str, str]:
    """Path in the repository to path in the site, of every page."""
    inside = {f"docs/{path}": path for path in sorted(_below_docs("*.md"))}
    readmes = {path.name: path.name.replace("README", "readme") for path in sorted(ROOT.glob("README*.md"))}
    return inside | {f"{name}.md": f"{page}.md" for name, page in BESIDE.items()} | readmes


def _below_docs(pattern: str) -> Iterator[str]:
    folder = ROOT / "docs"
    return (path.relative_to(folder).as_posix() for path in folder.rglob(pattern))


# What MkDocs calls.


def on_files(files: Any, config: Any) -> Any:
    from mkdocs.structure.files import File

    for source, page in pages().items():
        if not source.startswith("docs/"):
            files.append(File.generated(config, page, content=(ROOT / source).read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:  # noqa: ARG001
    name = page.file.src_uri
    page.meta["search"] = {"boost": search_boost(name)}
    if name == WIDE:
        page.meta["hide"] = ["navigation", "toc"]
    return for_site(markdown, name, f"{config['extra']['repository']}/blob/main/")


def search_boost(page: str) -> float:
    return MENTION_BOOST if page.startswith(MENTIONS) else 1.0


def for_site(markdown: str, page: str, repository: str) -> str:
    """A document as a page: links lead to pages or to the repository, a file's name is the title of its block."""
    source = next(path for path, name in pages().items() if name == page)

    def moved(match: re.Match[str]) -> str:
        return f"{match[1]}{_target(match[2], source, page, repository)}{match[3] or ''}{match[4]}"

    parts = FENCE.split(markdown)
    parts[::2] = [LINK.sub(moved, part) for part in parts[::2]]
    return TITLED_FENCE.sub(r'```\1 title="\2"', "".join(parts))


def _target(link: str, source: str, page: str, repository: str) -> str:
    path = posixpath.normpath(posixpath.join(posixpath.dirname(source), link))
    target = pages().get(path)
    if target is None and path.startswith("docs/images/"):
        target = path.removeprefix("docs/")
    return posixpath.relpath(target, posixpath.dirname(page) or ".") if target else repository + path


# What the tests ask.


def problems() -> list[str]:
    """What is wrong with links and navigation, one line each."""
    return [*_navigation_problems(navigation()), *(line for source in pages() for line in _link_problems(source))]


def navigation() -> list[str]:
    """The pages in the order of the menu."""
    import yaml

    return list(_leaves(yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"]))


def _leaves(part: Any) -> Iterator[str]:
    if isinstance(part, str):
        yield part
    else:
        for child in part.values() if isinstance(part, dict) else part:
            yield from _leaves(child)


def _navigation_problems(menu: list[str]) -> Iterator[str]:
    known = set(pages().values())
    yield from (f"mkdocs.yml: {page} is in the navigation and does not exist" for page in menu if page not in known)
    yield from (f"mkdocs.yml: {page} is not in the navigation" for page in sorted(known - set(menu)))
    yield from (f"mkdocs.yml: {page} is in the navigation twice" for page in sorted(set(menu)) if menu.count(page) > 1)


def _link_problems(source: str) -> Iterator[str]:
    text = "".join(FENCE.split((ROOT / source).read_text(encoding="utf-8"))[::2])
    folder = (ROOT / source).parent
    for _, link, _, _ in LINK.findall(text):
        if not (folder / link).exists():
            yield f"{source}: {link} does not exist"
    for link, anchor in ANCHOR.findall(text):
        target = folder / link if link else ROOT / source
        if target.suffix == ".md" and target.exists() and anchor not in anchors(target.read_text(encoding="utf-8")):
            yield f"{source}: {link or source} has no heading #{anchor}"


def anchors(markdown: str) -> set[str]:
    """The anchors of a document, as the site and GitHub both make them from headings."""
    plain = "".join(FENCE.split(markdown)[::2])
    headings = re.findall(r"^#+ (.+)$", plain, re.MULTILINE)
    return {_slug(heading) for heading in headings} | set(re.findall(r'<a id="([^"]+)">', plain))


def _slug(heading: str) -> str:
    words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", words).strip().lower())


def requirements() -> list[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return list(project["optional-dependencies"]["docs"])


if __name__ == "__main__":
    if "--requirements" in sys.argv:
        print("\n".join(requirements()))
    else:
        found = problems()
        print("\n".join(found) or "Every link leads somewhere, and every page is in the navigation.")
        sys.exit(1 if found else 0)
