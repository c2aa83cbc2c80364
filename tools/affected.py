#!/usr/bin/env python3
"""Runs the tests that reach what has changed since the merge base with main; `make affected`.

A change of src concerns the files of tests whose recorded lines it touches: line_coverage.changes.
A file without a record is chosen by its imports, and if it starts processes by any change of src:
that runs more. So does a change of a file that this module does not know: it runs everything.

    python tools/affected.py [--list] [PYTEST OPTIONS]      with --list: name the files only
"""

import ast
import shlex
import subprocess
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Final

from line_coverage.changes import SourceChange, source_change
from line_coverage.records import ROOT, Record, Records

_FOLDERS: Final = ("src", "tests", "tools")
"""The roots of import."""
_PURE: Final = ("tests/unit/", "tests/template/")
_PROCESSES: Final = tuple(
    f"tests/{name}/" for name in ("browser", "cluster", "dashboard", "deploy", "docs", "faults")
)
"""Tests that start `lynq`: without records, any change of src concerns them."""
_UNRECORDED: Final = "tests/deploy/"
"""Tests that start processes in a clean environment, which does not tell them to record."""
_READ_ALL: Final = ("tests/unit/docs/", "tests/unit/tools/")
"""Tests that read files of the repository as text: they are quick, and always run."""
_HOUSES: Final[Mapping[str, tuple[str, ...]]] = {
    "docs/": ("tests/docs/",),
    "examples/": ("tests/docs/",),
    "README.md": ("tests/docs/",),
    "deploy/": ("tests/deploy/", "tests/cluster/deploy/", "tests/unit/api/"),
    "src/lynq/dashboard/static/": ("tests/browser/", "tests/dashboard/"),
    "ui/": ("tests/browser/",),
    "tools/helm/": ("tests/deploy/",),
    "scripts/": (),
    ".github/": (),
    "CHANGELOG.md": (),
    "CONTRIBUTING.md": (),
    ".pre-commit-config.yaml": (),
    "Makefile": (),
}
"""Which tests need a file that is no Python; the first entry that begins its path decides."""


class Tree:
    """The Python files of the repository, and what they import."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @cached_property
    def imports(self) -> dict[str, set[str]]:
        """The files that a file imports; those of tests also import the conftest.py above them."""
        modules = dict(self._modules())
        return {
            path: {modules[name] for name in self._imported(path) if name in modules} - {path}
            for path in modules.values()
        }

    @cached_property
    def importers(self) -> dict[str, set[str]]:
        """The files that import a file, or a facade that exports it."""
        importers: dict[str, set[str]] = {path: set() for path in self.imports}
        for path, imported in self.imports.items():
            for each in imported:
                importers[each].add(path)
        for facade in (path for path in importers if path.endswith("/__init__.py")):
            for each in self.imports[facade]:
                importers[each] |= importers[facade]
        return importers

    @cached_property
    def test_files(self) -> list[str]:
        """All files of tests that `make test` runs."""
        return [path for path in self.imports if path.startswith("tests/") and "/test_" in path]

    def reached(self, path: str) -> set[str]:
        """Return the file, and all that it imports, directly or not."""
        reached, ahead = {path}, [path]
        while ahead:
            new = self.imports.get(ahead.pop(), set()) - reached
            reached |= new
            ahead += new
        return reached

    def _modules(self) -> Iterator[tuple[str, str]]:
        for folder in _FOLDERS:
            for file in (self.root / folder).rglob("*.py"):
                parts = file.relative_to(self.root / folder).with_suffix("").parts
                name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
                yield name, str(file.relative_to(self.root))

    def _imported(self, path: str) -> Iterator[str]:
        for node in ast.walk(ast.parse((self.root / path).read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module:
                yield node.module
                yield from (f"{node.module}.{alias.name}" for alias in node.names)
        if path.startswith("tests/"):
            folders = Path(path).relative_to("tests").parent.parts
            for depth in range(len(folders) + 1):
                yield ".".join((*folders[:depth], "conftest"))


@dataclass(frozen=True, slots=True)
class Selection:
    """Chooses the files of tests that changed files concern."""

    tree: Tree
    record_of: Callable[[str], Record | None]
    """Returns the record of a file of tests."""
    source_at: Callable[[str, str], str | None]
    """Returns the text of a file at a commit; None if the commit is unknown."""

    def files(self, changed: Collection[str]) -> list[str]:
        """Return the files of tests, the pure ones first."""
        tests = self.tree.test_files
        sources = {path for path in changed if _is_python(path) and path.startswith("src/")}
        modules = {path for path in changed if _is_python(path)} - sources
        others = [self._readers(path) for path in changed if not _is_python(path)]
        if not changed:
            return []
        if None in others or "tests/conftest.py" in modules:
            chosen = set(tests)
        else:
            folders = (*_READ_ALL, *(folder for each in others for folder in each or ()))
            chosen = {path for path in tests if path.startswith(folders)}
            chosen |= {path for path in tests if modules & self.tree.reached(path)}
            chosen |= {path for path in tests if self._is_concerned(path, sources)}
        return sorted(chosen, key=lambda path: (not path.startswith(_PURE), path))

    def _readers(self, path: str) -> tuple[str, ...] | None:
        """Return the folders of tests that need a file; None if all tests may need it."""
        if path.startswith("tests/"):
            # The folder with tests that is nearest.
            folders = (f"{folder}/" for folder in Path(path).parents)
            tests = self.tree.test_files
            return next(((each,) for each in folders if _begins(each, tests)), None)
        return next((tests for start, tests in _HOUSES.items() if path.startswith(start)), None)

    def _is_concerned(self, test: str, sources: Collection[str]) -> bool:
        if not sources:
            return False
        record = None if test.startswith(_UNRECORDED) else self.record_of(test)
        changes = {path: self._change(record, path) for path in sources} if record else {}
        if record and None not in changes.values():
            return any(self._touches(record, path, change) for path, change in changes.items())
        return test.startswith(_PROCESSES) or bool(self.tree.reached(test) & set(sources))

    def _change(self, record: Record, path: str) -> SourceChange | None:
        old = self.source_at(record.commit, path)
        file = self.tree.root / path
        new = file.read_text(encoding="utf-8") if file.exists() else ""
        return None if old is None else source_change(old, new)

    def _touches(self, record: Record, path: str, change: SourceChange | None) -> bool:
        if change is None or record.lines.get(path, frozenset()) & change.lines:
            return True
        importing = {path, *self.tree.importers.get(path, ())}
        return change.at_import and not importing.isdisjoint(record.lines)


def _begins(folder: str, paths: Iterable[str]) -> bool:
    return any(path.startswith(folder) for path in paths)


def _is_python(path: str) -> bool:
    return path.endswith(".py") and path.startswith(tuple(f"{folder}/" for folder in _FOLDERS))


def _changed_files() -> list[str]:
    """Return what differs from the merge base with main, also if it is not committed."""
    names = ("refs/heads/main", "refs/remotes/origin/main")
    known = _git("for-each-ref", "--format=%(refname)", *names)
    base = _git("merge-base", "HEAD", known[-1]) if known else ["HEAD"]
    new = _git("ls-files", "--others", "--exclude-standard")
    return [*_git("diff", "--name-only", "--no-renames", *base), *new]


@cache
def _source_at(commit: str, path: str) -> str | None:
    """Return the text of a file at a commit; a file that did not exist is empty."""
    if _run("git", "cat-file", "-e", f"{commit}^{{commit}}"):
        return None
    if not _git("ls-tree", "--name-only", commit, path):
        return ""
    return "\n".join(_git("show", f"{commit}:{path}"))


def _git(*arguments: str) -> list[str]:
    command = ["git", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)  # noqa: S603
    return done.stdout.splitlines()


def _run(*command: str) -> int:
    return subprocess.run(command, cwd=ROOT, check=False).returncode  # noqa: S603


def main(arguments: list[str]) -> int:
    """Run the tests, the pure ones first; return the exit code."""
    records = Records.of_checkout()
    selection = Selection(
        Tree(ROOT), lambda test: records.read(records.name_of(ROOT / test)), _source_at
    )
    files = selection.files(_changed_files())
    if "--list" in arguments:
        sys.stdout.writelines(f"{path}\n" for path in files)
        return 0
    pure = [path for path in files if path.startswith(_PURE)]
    servers = files[len(pure) :]
    sys.stdout.write(f"{len(pure)} files of pure tests, {len(servers)} of tests on servers\n")
    sys.stdout.flush()
    if pure and _run(".venv/bin/pytest", "-n2", "--dist=worksteal", *arguments, *pure):
        return 1
    return _run("make", "test", f"ARGS={shlex.join([*arguments, *servers])}") if servers else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
