"""A pytest plugin: keeps which lines of Lynq each file of tests executes, for `make affected`.

A record has the commit of its lines, and stands outside the tree. A file of which a test failed
keeps its last record. What a fixture of the session or a package does once, such as the start of
an operator, belongs to all files below its folder.
"""

import os
import subprocess
import sysconfig
import tempfile
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any, Final

import pytest

from line_coverage.recorder import OUTPUT, LineRecorder
from line_coverage.records import ROOT, Records

_RUN: Final = "LYNQ_LINE_COVERAGE_RUN"
"""The variable with the folder of the run, for the workers."""
_SCOPES: Final = ("session", "package")
"""The scopes of fixtures that many files share."""
_SHARED: Final = "shared:"
"""Begins the names of their lines; the rest is a folder."""


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Record this process, and those that it starts."""
    if not hasattr(config, "workerinput"):
        chooses = config.option.keyword or config.option.markexpr
        if chooses or any("::" in argument for argument in config.args):
            raise pytest.UsageError("A record is of whole files: without -k, -m and ::.")
        if _git("status", "--porcelain", "src"):
            raise pytest.UsageError("A record is of a commit: commit the changes of src first.")
        folder = tempfile.TemporaryDirectory(prefix="lynq-lines-")
        config.add_cleanup(folder.cleanup)
        os.environ[_RUN] = folder.name
        config.add_cleanup(_record_new_processes())
        config.pluginmanager.register(_Keeper(Path(folder.name)))
    config.pluginmanager.register(_Recording(Path(os.environ[_RUN])))


class _Recording:
    """Directs the lines to the record of the file whose test runs."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._name = _SHARED
        self._recorder = LineRecorder(str(folder / _SHARED))
        self._recorder.start()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Record the lines of a test, and of what runs beside it."""
        with self._into(Records.name_of(item.path)):
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Generator[None, Any, Any]:
        """Record what a fixture of many files does."""
        folder = fixturedef.baseid.replace("/", "+")
        with self._into(f"{_SHARED}{folder}" if fixturedef.scope in _SCOPES else self._name):
            return (yield)

    @contextmanager
    def _into(self, name: str) -> Iterator[None]:
        before = self._name
        self._write_to(name)
        try:
            yield
        finally:
            self._write_to(before)

    def _write_to(self, name: str) -> None:
        self._name = name
        os.environ[OUTPUT] = str(self._folder / name)
        self._recorder.write_to(os.environ[OUTPUT])


class _Keeper:
    """Keeps the records of files whose tests passed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._failed: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note the files of failed tests."""
        if report.failed:
            self._failed.add(Records.name_of(ROOT / report.fspath))

    def pytest_sessionfinish(self, exitstatus: int) -> None:
        """Keep the records, unless the run was cut short."""
        if exitstatus not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
            return
        commit = _git("rev-parse", "HEAD")
        lines = {
            path.name: path.read_text(encoding="utf-8").splitlines()
            for path in self._folder.iterdir()
        }
        shared = {name: lines.pop(name) for name in list(lines) if name.startswith(_SHARED)}
        for name in lines.keys() - self._failed:
            above = [more for key, more in shared.items() if f"{_SHARED}{name}".startswith(key)]
            Records.of_checkout().write(name, commit, {*lines[name], *chain(*above)})


def _record_new_processes() -> Callable[[], None]:
    """Let Python processes of this environment record themselves; return how to end this."""
    hook = Path(sysconfig.get_path("purelib")) / "lynq_line_coverage.pth"
    tools = str(Path(__file__).parents[1])
    steps = (
        f"sys.path.append({tools!r})",
        "__import__('line_coverage.recorder').recorder.record_process()",
        f"sys.path.remove({tools!r})",
    )
    hook.write_text(f"import os, sys; {OUTPUT!r} in os.environ and ({', '.join(steps)})\n")
    return hook.unlink


def _git(*arguments: str) -> str:
    command = ["git", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)  # noqa: S603
    return done.stdout.strip()
