"""Runs the tests once more, at the end and alone, whose failure may be the machine's.

Two cores run API servers and databases beside the tests. Three failures of a test on real servers
depend on the machine: a wait that ran out, an error of the environment, and any failure of a test
with the marker `timing`. Such a test runs a second time after all others, with servers of its own.
The summary lists it under RERUN with the text of its first failure. A run with more than three of
them fails: that many are no accident.

A condition of `stays` that ceased to hold is red at once, and so is every failure of a test with
the marker `history` and of a test without servers.
"""

import fcntl
import subprocess
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import asyncmy.errors
import asyncpg
import pytest

from databases import ServerError
from lynq.cluster import ClusterError
from lynq.kube.errors import ConnectionFailed
from waiting import DeadlineError, InvariantError

MAX_RERUNS: Final = 3
HELD: Final = "rerun"
"""The outcome of a test that runs once more."""

_DEADLINES: Final = (DeadlineError, TimeoutError, subprocess.TimeoutExpired)
_ENVIRONMENT: Final = (
    ServerError,
    ClusterError,
    ConnectionFailed,
    ConnectionError,
    asyncmy.errors.OperationalError,
    asyncpg.PostgresConnectionError,
)


def may_pass_again(error: BaseException | None, *, depends_on_time: bool) -> bool:
    """Check that a failure may be the machine's, also within an exception group."""
    if isinstance(error, BaseExceptionGroup):
        members = error.exceptions
        return all(may_pass_again(each, depends_on_time=depends_on_time) for each in members)
    if isinstance(error, InvariantError):
        return False
    return depends_on_time or isinstance(error, (*_DEADLINES, *_ENVIRONMENT))


class Reruns:
    """The plugin: each worker runs its own held tests, after the last test of all workers."""

    def __init__(self, lock: Path, servers: tuple[Path, ...]) -> None:
        """Hold tests below the folders `servers`; `lock` is a file of all processes of the run."""
        self._lock = lock
        self._servers = servers
        self._items: dict[str, pytest.Item] = {}
        self._held: dict[str, pytest.TestReport] = {}
        self._is_last_try = False

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: "pytest.CallInfo[None]"
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Hold a failure that may pass."""
        report = yield
        error = call.excinfo.value if call.excinfo else None
        if report.failed and not self._is_last_try and self._may_pass_again(item, error):
            report.outcome = HELD  # type: ignore[assignment]
            self._items[item.nodeid] = item
        return report

    def _may_pass_again(self, item: pytest.Item, error: BaseException | None) -> bool:
        is_among_servers = any(item.path.is_relative_to(folder) for folder in self._servers)
        uses_servers = is_among_servers or item.get_closest_marker("server")
        if not uses_servers or item.get_closest_marker("history"):
            return False
        return may_pass_again(error, depends_on_time=bool(item.get_closest_marker("timing")))

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Keep the first failure of a held test, in the workers and in the controller."""
        if report.outcome == HELD:
            self._held.setdefault(report.nodeid, report)

    def pytest_report_teststatus(self, report: Any) -> tuple[str, str, Any] | None:
        """Show a held test as RERUN."""
        return (HELD, "R", ("RERUN", {"yellow": True})) if report.outcome == HELD else None

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """Run the held tests when the loops of all workers have ended."""
        if session.config.pluginmanager.has_plugin("dsession"):
            # The controller of the workers runs no tests.
            return (yield)
        with self._locked(fcntl.LOCK_SH):
            result = yield
        if len(self._items) <= MAX_RERUNS:
            with self._locked(fcntl.LOCK_EX):
                self._run_again(session)
        return result

    def _run_again(self, session: pytest.Session) -> None:
        self._is_last_try = True
        plugins = session.config.pluginmanager.get_plugins()
        worker: Any = next((each for each in plugins if hasattr(each, "item_index")), None)
        for item in self._items.values():
            if worker:
                # xdist checks that each report is of the item that it sent last.
                worker.item_index = session.items.index(item)
            item._initrequest()  # type: ignore[attr-defined] # no public way to run an item twice
            item.ihook.pytest_runtest_protocol(item=item, nextitem=None)

    @contextmanager
    def _locked(self, operation: int) -> Iterator[None]:
        with self._lock.open("a") as file:
            fcntl.flock(file, operation)
            yield

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Fail the run if too many tests were held."""
        if len(self._held) > MAX_RERUNS:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """List the held tests with their first failures."""
        if not self._held:
            return
        terminalreporter.section("RERUN")
        for nodeid, report in self._held.items():
            terminalreporter.write_line(f"RERUN {nodeid}, after its {report.when} failed:")
            terminalreporter.write_line(report.longreprtext)
        if len(self._held) > MAX_RERUNS:
            terminalreporter.write_line(
                f"FAILED: {len(self._held)} tests would have to run once more, "
                f"and at most {MAX_RERUNS} may.",
                red=True,
            )
