"""`lynq run` for the pages of a file: started once, and again if a page needs other flags."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from docs.terminal import Terminal

if TYPE_CHECKING:
    import subprocess

READY_SECONDS = 30.0

_DEFAULTS = (
    "--sqlite-dir=/tmp/lynq",
    "--enable-webhooks=false",
    "--health-probe-bind-address=0",
)


class OperatorProcess:
    """The operator of a file of pages.

    It runs until a page needs other flags, has no operator, or fails: the next page gets a new one.
    Pages are short, and the start of a process is long.
    """

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self._process: subprocess.Popen[bytes] | None = None
        self._flags: tuple[str, ...] = ()

    @property
    def _log(self) -> Path:
        return self._terminal.folder / "operator.log"

    @contextmanager
    def running(self, flags: Sequence[str]) -> Iterator[None]:
        """Run the operator with these flags for a page, and show what it logged meanwhile."""
        if self._process and (self._flags != tuple(flags) or self._process.poll() is not None):
            self.stop()
        if not self._process:
            self._start(tuple(flags))
        before = self._log.stat().st_size
        try:
            yield
        except BaseException:
            self.stop()
            raise
        finally:
            print(self._log.read_bytes()[before:].decode())  # noqa: T201

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Run no operator for a page."""
        self.stop()
        yield

    def stop(self) -> None:
        """Stop the operator, if it runs."""
        if self._process:
            self._process.terminate()
            self._process.wait(READY_SECONDS)
            self._process = None

    def _start(self, flags: tuple[str, ...]) -> None:
        with self._log.open("wb") as output:
            command = ["lynq", "run", *_DEFAULTS, *flags]
            process = self._terminal.start(command, output.fileno())
        self._process, self._flags = process, flags
        deadline = time.monotonic() + READY_SECONDS
        while b"controllers started" not in self._log.read_bytes():
            if process.poll() is not None or time.monotonic() > deadline:
                self.stop()
                pytest.fail(f"the operator did not start:\n{self._log.read_text()}")
            time.sleep(0.05)
