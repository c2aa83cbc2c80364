#!/usr/bin/env python3
"""Builds the documentation site into site/; `make docs` runs it.

Zensical builds the HTML. Every page is also there as Markdown, at its path in docs, so that the
links between the pages hold. llms.txt lists the pages with one line each.
"""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[1]
GENERATOR = ROOT / ".venv-docs" / "bin" / "zensical"

_HEADING = re.compile(r"^# (.+)$", re.MULTILINE)
_LINK = re.compile(r"\[([^\]]+)\]\([^)]*\)")
_NO_PROSE = ("#", "|", "```", "<!--", "- ", "    ", "![")
_SENTENCE_END = re.compile(r"(?<=[.:])\s")


@dataclass(frozen=True, slots=True)
class Page:
    """A page of the navigation."""

    section: str
    path: str
    """Relative to docs."""


def pages(project: Path) -> list[Page]:
    """Return the pages of mkdocs.yml in the order of the navigation."""
    configuration = yaml.safe_load((project / "mkdocs.yml").read_text())
    return list(_pages(configuration["nav"], ""))


def _pages(entries: Sequence[Any], section: str) -> Iterator[Page]:
    for entry in entries:
        items: Mapping[str, Any] = entry if isinstance(entry, dict) else {"": entry}
        for title, item in items.items():
            if isinstance(item, str):
                yield Page(section, item)
            else:
                yield from _pages(item, section or title)


def title_of(text: str) -> str:
    """Return the heading of a page."""
    heading = _HEADING.search(text)
    return _plain(heading[1]) if heading else ""


def summary_of(text: str) -> str:
    """Return the first sentence of a page."""
    body = _HEADING.sub("", text, count=1)
    for paragraph in re.split(r"\n\s*\n", body):
        if paragraph.strip() and not paragraph.lstrip("\n").startswith(_NO_PROSE):
            return _SENTENCE_END.split(_plain(paragraph))[0].rstrip(":")
    return ""


def _plain(text: str) -> str:
    return " ".join(_LINK.sub(r"\1", text).replace("`", "").replace("**", "").split())


def llms_txt(project: Path) -> str:
    """Return the list of all pages: https://llmstxt.org has the format."""
    configuration = yaml.safe_load((project / "mkdocs.yml").read_text())
    lines = [f"# {configuration['site_name']}", "", f"> {configuration['site_description']}"]
    section = None
    for page in pages(project):
        if page.section != section:
            section = page.section
            lines += ["", f"## {section or 'Home'}", ""]
        text = (project / "docs" / page.path).read_text()
        summary = summary_of(text)
        lines.append(f"- [{title_of(text)}]({page.path})" + (f": {summary}" if summary else ""))
    return "\n".join(lines) + "\n"


def write_markdown(project: Path, site: Path) -> None:
    """Write every page as Markdown, and llms.txt."""
    for page in pages(project):
        target = site / page.path
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(project / "docs" / page.path, target)
    (site / "llms.txt").write_text(llms_txt(project))


def build(project: Path, generator: Path = GENERATOR) -> None:
    """Build the site of a project; warnings are errors."""
    subprocess.run([generator, "build", "--strict", "--clean"], check=True, cwd=project)  # noqa: S603
    write_markdown(project, project / "site")


def main() -> int:
    """Build the site of this repository; return the exit code."""
    try:
        build(ROOT)
    except subprocess.CalledProcessError as error:
        return error.returncode
    return 0


if __name__ == "__main__":
    sys.exit(main())
