"""The documentation site: Zensical and MkDocs both build it, without warnings."""

import re
import shutil
import subprocess
from pathlib import Path

import docs_site
import pytest

from docs.blocks import ROOT

TOOLS = ROOT / ".venv-docs" / "bin"
EXTERNAL = re.compile(r"""<(?:script|link|img|iframe)[^>]+(?:src|href)=["']?https?://[^"'\s>]+""")


@pytest.fixture(scope="module", autouse=True)
def _tools() -> None:
    if not TOOLS.exists():
        lock = ["scripts/environment", ".venv-docs", "constraints-docs.txt"]
        subprocess.run(lock, check=True, cwd=ROOT)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy of the documentation, which a test may break."""
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    shutil.copyfile(ROOT / "mkdocs.yml", tmp_path / "mkdocs.yml")
    return tmp_path


def test_every_page_is_there_as_html_and_as_markdown(project: Path) -> None:
    docs_site.build(project)
    site = project / "site"
    for page in docs_site.pages(ROOT):
        path = Path(page.path)
        folder = path.parent if path.stem in {"index", "README"} else path.with_suffix("")
        assert (site / folder / "index.html").is_file()
        assert (site / path).read_text() == (ROOT / "docs" / path).read_text()
        assert f"]({page.path})" in (site / "llms.txt").read_text()
    # A reader's browser asks no other server.
    assert [
        link for html in site.rglob("*.html") for link in EXTERNAL.findall(html.read_text())
    ] == []


@pytest.mark.parametrize("link", ["missing.md", "index.md#missing"])
def test_broken_link_fails_the_build(project: Path, link: str) -> None:
    page = project / "docs" / "index.md"
    page.write_text(f"{page.read_text()}\n[broken]({link})\n")
    with pytest.raises(subprocess.CalledProcessError):
        docs_site.build(project)


def test_mkdocs_builds_the_same_pages(project: Path) -> None:
    build = [str(TOOLS / "mkdocs"), "build", "--strict", "--quiet", "--theme", "mkdocs"]
    subprocess.run(build, check=True, cwd=project)
    for page in docs_site.pages(ROOT):
        path = Path(page.path)
        folder = path.parent if path.stem in {"index", "README"} else path.with_suffix("")
        assert (project / "site" / folder / "index.html").is_file()
