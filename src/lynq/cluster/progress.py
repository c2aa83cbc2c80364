"""Reports the progress of a long step: its state, elapsed time and usual duration."""

import sys
import time
from types import TracebackType
from typing import Self, TextIO

from lynq.api.text import shown

LOG_INTERVAL = 15.0
"""Seconds between two lines if the output is not a terminal."""


class ProgressStep:
    """One long step; calls of `update` are rate limited."""

    def __init__(self, title: str, *, usually: str, out: TextIO | None = None) -> None:
        self._title = title
        self._usually = usually
        self._out = out or sys.stderr
        self._is_terminal = self._out.isatty()
        self._started = time.monotonic()
        self._updated = self._started

    def __enter__(self) -> Self:
        """Report the start."""
        self._write(f"{self._title} (usually {self._usually}) …")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Report the result."""
        outcome = "done" if kind is None else "failed"
        self._write(f"{self._title}: {outcome} after {self._elapsed()}", last=True)

    def update(self, detail: str) -> None:
        """Report the current state."""
        now = time.monotonic()
        if now - self._updated < (0.1 if self._is_terminal else LOG_INTERVAL):
            return
        self._updated = now
        self._write(f"{self._title}: {detail}, {self._elapsed()} so far (usually {self._usually})")

    def _elapsed(self) -> str:
        seconds = int(time.monotonic() - self._started)
        return f"{seconds // 60}:{seconds % 60:02}"

    def _write(self, line: str, *, last: bool = False) -> None:
        line = shown(line)
        if self._is_terminal:
            self._out.write(f"\r\x1b[K{line}" + ("\n" if last else ""))
        else:
            self._out.write(f"{line}\n")
        self._out.flush()
