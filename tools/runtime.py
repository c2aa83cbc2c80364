#!/usr/bin/env python3
"""Selects the runtime dependencies of the operator from the locked packages.

It reads the metadata of installed packages, so it must run in the virtual environment. As a command
it prints their names.
"""

import re
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, requires

_OUR_EXTRAS = ("push",)
_NAME = re.compile(r"[A-Za-z0-9._-]+")
_EXTRAS = re.compile(r"^[A-Za-z0-9._-]+\s*\[([^\]]*)\]")
_EXTRA_MARKER = re.compile(r"""extra\s*==\s*['"]([^'"]+)['"]""")


def runtime_names() -> set[str]:
    """Return the normalized names of all direct and transitive dependencies of lynq[push]."""
    names: set[str] = set()
    pending: list[tuple[str, tuple[str, ...]]] = [("lynq", _OUR_EXTRAS)]
    visited = set(pending)
    while pending:
        name, extras = pending.pop()
        for dependency in _dependencies(name, extras):
            names.add(dependency[0])
            if dependency not in visited:
                visited.add(dependency)
                pending.append(dependency)
    return names


def runtime_lines(constraints: str) -> Iterator[str]:
    """Yield the lines of a constraints file of these packages."""
    names = runtime_names()
    is_runtime = False
    for line in constraints.splitlines(keepends=True):
        if not line.startswith((" ", "#")):
            is_runtime = normalized(line.partition("==")[0]) in names
        if is_runtime:
            yield line


def normalized(name: str) -> str:
    """Return the normalized name of a package (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name.strip()).lower()


def _dependencies(name: str, extras: tuple[str, ...]) -> Iterator[tuple[str, tuple[str, ...]]]:
    try:
        requirements = requires(name) or []
    except PackageNotFoundError:
        # Locked for another platform or Python version, and not installed here.
        return
    for requirement in requirements:
        marker = _EXTRA_MARKER.search(requirement)
        if marker and marker.group(1) not in extras:
            continue
        extra = _EXTRAS.match(requirement)
        own_extras = tuple(name.strip() for name in extra.group(1).split(",")) if extra else ()
        match = _NAME.match(requirement)
        if match:
            yield normalized(match.group()), own_extras


if __name__ == "__main__":
    sys.stdout.writelines(f"{name}\n" for name in sorted(runtime_names()))
