"""`cd tools && python -m reference [--check]`: writes docs/reference; `--check` compares only."""

import sys
from collections.abc import Iterator
from pathlib import Path

from reference import commands, functions, kinds, metrics, types, words

FOLDER = Path(__file__).parents[2] / "docs" / "reference"
GENERATORS = (kinds, commands, words, metrics, types, functions)


def files() -> Iterator[tuple[str, str]]:
    """Yield name and content of every generated page."""
    for generator in GENERATORS:
        yield from generator.pages()


def stale() -> list[str]:
    """Return the names of the pages that differ from the code."""
    return [
        name
        for name, content in files()
        if not (path := FOLDER / name).is_file() or path.read_text() != content
    ]


def main() -> int:
    """Write or check the pages; return the exit code."""
    if "--check" not in sys.argv[1:]:
        for name, content in files():
            (FOLDER / name).write_text(content)
        return 0
    outdated = stale()
    for name in outdated:
        sys.stderr.write(f"docs/reference/{name} is stale; run `make reference`\n")
    return 1 if outdated else 0


if __name__ == "__main__":
    sys.exit(main())
