#!/usr/bin/env python3
"""Tells which of the locked packages the operator needs to run, its tools left out.

Asks the metadata of what is installed, so it has to run in the virtual environment.
As a command it prints their names.
"""

import re
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, requires

_OUR_EXTRAS = ("push",)
_NAME = re.compile(r"[A-Za-z0-9._-]+")
_EXTRAS = re.compile(r"^[A-Za-z0-9._-]+\s*\[([^\]]*)\]")
_ASKED = re.compile(r"""extra\s*==\s*['"]([^'"]+)['"]""")


def runtime_names() -> set[str]:
    """Return the normal names of all packages that lynq[push] needs, directly or not."""
    found: set[str] = set()
    waiting: list[tuple[str, tuple[str, ...]]] = [("lynq", _OUR_EXTRAS)]
    seen = set(waiting)
    while waiting:
        name, extras = waiting.pop()
        for needed in _needs(name, extras):
            found.add(needed[0])
            if needed not in seen:
                seen.add(needed)
                waiting.append(needed)
    return found


def runtime_lines(constraints: str) -> Iterator[str]:
    """Yield the lines of a constraints file that are about those packages."""
    names = runtime_names()
    is_wanted = False
    for line in constraints.splitlines(keepends=True):
        if not line.startswith((" ", "#")):
            is_wanted = normal(line.partition("==")[0]) in names
        if is_wanted:
            yield line


def normal(name: str) -> str:
    """Return a name as registries compare it."""
    return re.sub(r"[-_.]+", "-", name.strip()).lower()


def _needs(name: str, extras: tuple[str, ...]) -> Iterator[tuple[str, tuple[str, ...]]]:
    try:
        texts = requires(name) or []
    except PackageNotFoundError:
        # Of another platform or Python: locked, but not installed here.
        return
    for text in texts:
        asked = _ASKED.search(text)
        if asked and asked.group(1) not in extras:
            continue
        wanted = _EXTRAS.match(text)
        also = tuple(each.strip() for each in wanted.group(1).split(",")) if wanted else ()
        match = _NAME.match(text)
        if match:
            yield normal(match.group()), also


if __name__ == "__main__":
    sys.stdout.writelines(f"{name}\n" for name in sorted(runtime_names()))
