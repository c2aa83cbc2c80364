"""mkdocs.yml lists every page once; llms.txt says what each is about."""

import re
from pathlib import Path

import docs_site
import pytest

ROOT = Path(__file__).parents[3]
# The changelog names pages as they were.
ROOT_PAGES = [page for page in sorted(ROOT.glob("*.md")) if page.name != "CHANGELOG.md"]
PAGES = [page.path for page in docs_site.pages(ROOT)]


def test_navigation_lists_every_page_once() -> None:
    written = [str(path.relative_to(ROOT / "docs")) for path in (ROOT / "docs").rglob("*.md")]
    assert sorted(PAGES) == sorted(written)


@pytest.mark.parametrize("page", PAGES)
def test_page_has_a_title_and_a_first_sentence(page: str) -> None:
    text = (ROOT / "docs" / page).read_text()
    assert docs_site.title_of(text)
    assert docs_site.summary_of(text)


def test_list_of_pages_has_their_titles_and_first_sentences(tmp_path: Path) -> None:
    (tmp_path / "docs" / "start").mkdir(parents=True)
    (tmp_path / "docs" / "index.md").write_text("# Lynq\n\nRows become objects. More follows.\n")
    (tmp_path / "docs" / "start" / "a.md").write_text(
        "<!-- run with: push -->\n# `lynq` in [short](b.md)\n\n| a |\n|---|\n\n"
        "The **first**\nline:\n"
    )
    (tmp_path / "mkdocs.yml").write_text(
        "site_name: Lynq\nsite_description: An operator\n"
        "nav: [{Home: index.md}, {Start: [start/a.md]}]\n"
    )
    assert docs_site.llms_txt(tmp_path) == (
        "# Lynq\n\n> An operator\n\n## Home\n\n- [Lynq](index.md): Rows become objects.\n\n"
        "## Start\n\n- [lynq in short](start/a.md): The first line\n"
    )


def tracked_files() -> list[Path]:
    """Return the files that may name a page: sources, manifests and the pages of the root."""
    folders = ("src", "deploy", "tools", "scripts", "examples")
    suffixes = {".md", ".py", ".sh", ".toml", ".yaml", ".yml"}
    inside = [path for folder in folders for path in (ROOT / folder).rglob("*")]
    return [path for path in (*ROOT_PAGES, *inside) if path.suffix in suffixes]


def test_pages_named_outside_of_the_site_exist() -> None:
    missing = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in tracked_files()
        for name in re.findall(r"\bdocs/[\w/-]+\.(?:md|json|svg)\b", path.read_text())
        if not (ROOT / name).is_file()
    ]
    assert missing == []


@pytest.mark.parametrize("page", ROOT_PAGES, ids=lambda page: page.name)
def test_links_of_the_pages_in_the_root_resolve(page: Path) -> None:
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text())
    assert [link for link in links if not (ROOT / link).exists()] == []
