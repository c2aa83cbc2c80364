"""Code blocks of Markdown pages: what they say, how they are checked, and what output matches.

| block | check |
|---|---|
| `sh` | the whole block is a script that must succeed |
| `console` | lines that begin with `$ ` are commands, the lines below each the expected output |
| any, with `title="FILE"` | equals examples/PAGE/FILE byte for byte |
| `yaml` | complete manifests: a server-side dry run accepts them |
| `text` | none |
| any, below `<!-- not run: REASON -->` | none, and the reason is counted |

A page says what it needs in `<!-- run with: WORDS -->`; see `playground.Needs`.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import count
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"

_FENCE = re.compile(r"^(?P<indent> *)(?P<fence>```+|~~~+)(?P<info>[^`]*)$")
_HEADING = re.compile(r"#+ (.+)")
_TITLE = re.compile(r'title="([^"]+)"')
_NOT_RUN = re.compile(r"<!-- not run: (.+?) -->")
_NEEDS = re.compile(r"^<!-- run with: (.+?) -->$", re.MULTILINE)
_AGE = re.compile(r"(?<![\w.:/=-])(?:\d+(?:ms|[dhms]))+(?![\w-])")
_PROSE = frozenset({"text"})


class Check(StrEnum):
    """How a block is checked."""

    SCRIPT = "script"
    SESSION = "session"
    MANIFEST = "manifest"
    EXAMPLE = "example"
    NOT_RUN = "not run"
    PROSE = "prose"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced code block of a page."""

    page: str
    line: int
    language: str
    text: str
    title: str = ""
    reason: str = ""
    """Why the block is not run."""
    section: str = ""
    """The last heading above the block, in lower case with dashes, as links name it."""

    @property
    def location(self) -> str:
        """The page and the line of the fence."""
        return f"{self.page}:{self.line}"

    @property
    def example(self) -> str:
        """The path of the file that a block with a title shows."""
        if self.title.startswith("examples/"):
            return self.title
        return f"examples/{Path(self.page).stem}/{self.title}"

    @property
    def check(self) -> Check:
        """How the block is checked; `NONE` is an error of the page."""
        if self.reason:
            return Check.NOT_RUN
        if self.title:
            return Check.EXAMPLE
        if self.language in _PROSE:
            return Check.PROSE
        kinds = {"sh": Check.SCRIPT, "console": Check.SESSION, "yaml": Check.MANIFEST}
        return kinds.get(self.language, Check.NONE)


@dataclass(frozen=True, slots=True)
class Command:
    """A command of a `console` block and the lines that it prints."""

    line: int
    text: str
    output: tuple[str, ...]


def blocks(page: str, text: str) -> list[Block]:
    """Return the fenced blocks of a page in their order."""
    found = []
    lines = enumerate(text.splitlines(), start=1)
    reason = section = ""
    for number, line in lines:
        if comment := _NOT_RUN.search(line):
            reason = comment[1]
        elif opening := _FENCE.match(line):
            language, _, _ = opening["info"].strip().partition(" ")
            title = _TITLE.search(opening["info"])
            content = "".join(_content(lines, opening))
            found.append(
                Block(page, number, language, content, title[1] if title else "", reason, section)
            )
            reason = ""
        elif line.strip():
            reason = ""
            if heading := _HEADING.match(line):
                section = re.sub(r"[^\w -]", "", heading[1]).lower().replace(" ", "-")
    return found


def _content(lines: Iterator[tuple[int, str]], opening: re.Match[str]) -> Iterator[str]:
    """Yield the lines up to the closing fence, without the indentation of the opening one."""
    indent = len(opening["indent"])
    for _, line in lines:
        if line.strip() == opening["fence"]:
            return
        if line.strip().startswith(opening["fence"]):
            # A longer fence around it would make this line part of the block.
            raise ValueError(f"the block before {line.strip()!r} is not closed")
        yield line[min(indent, len(line) - len(line.lstrip())) :] + "\n"
    raise ValueError(f"the block {opening['info']!r} is not closed")


def indented(text: str) -> list[int]:
    """Return the lines where code begins that is indented instead of fenced."""
    found, fence, before = [], "", ""
    for number, line in enumerate(text.splitlines(), start=1):
        if fence:
            fence = "" if line.strip() == fence else fence
        elif opening := _FENCE.match(line):
            fence = opening["fence"]
        elif line.startswith("    ") and not before.strip() and not _in_list(text, number):
            found.append(number)
        before = line
    return found


def _in_list(text: str, number: int) -> bool:
    """Return whether the last line above that is not indented is an item of a list."""
    above = (line for line in reversed(text.splitlines()[: number - 1]) if line.strip())
    flush = next((line for line in above if not line.startswith("  ")), "")
    return re.match(r"([-*]|\d+\.) ", flush) is not None


def needs(text: str) -> tuple[str, ...]:
    """Return the words of `<!-- run with: WORDS -->`."""
    comment = _NEEDS.search(text)
    return tuple(comment[1].split()) if comment else ()


def commands(block: Block) -> list[Command]:
    """Return the commands of a `console` block.

    A command continues in the next line after a backslash.
    """
    found: list[Command] = []
    continues = False
    for number, line in zip(count(block.line + 1), block.text.splitlines(), strict=False):
        if continues:
            last = found.pop()
            found.append(Command(last.line, f"{last.text}\n{line}", ()))
            continues = line.endswith("\\")
        elif line.startswith("$ "):
            found.append(Command(number, line.removeprefix("$ "), ()))
            continues = line.endswith("\\")
        elif found:
            last = found.pop()
            found.append(Command(last.line, last.text, (*last.output, line)))
        else:
            raise ValueError(f"{block.page}:{number}: a console block begins with a command: $ …")
    return found


def matches(expected: Sequence[str], output: str) -> bool:
    """Return whether output is as expected.

    `...` in a line is any text, a line `...` any number of lines. Ages are equal to each other, and
    so are runs of blanks. Blank lines at the end do not count.
    """
    return _matches(_normal(expected), _normal(output.splitlines()))


def _normal(lines: Sequence[str]) -> list[str]:
    normal = [_AGE.sub("<age>", " ".join(line.split())) for line in lines]
    while normal and not normal[-1]:
        normal.pop()
    return normal


def _matches(expected: list[str], output: list[str]) -> bool:
    # The lines from each `...` on match at the first possible place: trying later ones for an
    # earlier gap cannot help, as in the matching of `*` in file names.
    row, gap, retry, index = 0, None, 0, 0
    while index < len(output):
        if row < len(expected) and expected[row] == "...":
            gap, retry = row, index
            row += 1
        elif row < len(expected) and _line_matches(expected[row], output[index]):
            row, index = row + 1, index + 1
        elif gap is not None:
            retry += 1
            row, index = gap + 1, retry
        else:
            return False
    return all(line == "..." for line in expected[row:])


def _line_matches(expected: str, line: str) -> bool:
    pattern = ".*".join(re.escape(part) for part in expected.split("..."))
    return re.fullmatch(pattern, line) is not None


def pages() -> list[Path]:
    """Return README.md and all pages of the documentation."""
    return [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]


def name_of(page: Path) -> str:
    """Return the path of a page below the root of the repository."""
    return str(page.relative_to(ROOT))


def blocks_of(page: Path) -> list[Block]:
    """Return the blocks of a page."""
    return blocks(name_of(page), page.read_text())


def runs(page: Path) -> bool:
    """Return whether a page has a block that is run."""
    run = (Check.SCRIPT, Check.SESSION, Check.MANIFEST)
    return any(block.check in run for block in blocks_of(page))
