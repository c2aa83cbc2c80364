"""Tells a person what a long step is doing, for how long, and how long it usually takes."""

import sys
import time
from types import TracebackType
from typing import Self, TextIO

QUIET_SECONDS = 15.0
"""Without a terminal, a line at most this often: logs stay readable."""


class ProgressStep:
    """One long step; `update` may be called as often as one likes."""

    def __init__(self, title: str, *, usually: str, out: TextIO | None = None) -> None:
        self._title = title
        self._usually = usually
        self._out = out or sys.stderr
        self._live = self._out.isatty()
        self._started = time.monotonic()
        self._shown = self._started

    def __enter__(self) -> Self:
        """Announce the step."""
        self._write(f"{self._title} (usually {self._usually}) …")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Say how it ended."""
        outcome = "done" if kind is None else "failed"
        self._write(f"{self._title}: {outcome} after {self._elapsed()}", last=True)

    def update(self, detail: str) -> None:
        """Show where the step is now."""
        now = time.monotonic()
        if now - self._shown < (0.1 if self._live else QUIET_SECONDS):
            return
        self._shown = now
        self._write(f"{self._title}: {detail}, {self._elapsed()} so far (usually {self._usually})")

    def _elapsed(self) -> str:
        seconds = int(time.monotonic() - self._started)
        return f"{seconds // 60}:{seconds % 60:02}"

    def _write(self, line: str, *, last: bool = False) -> None:
        if self._live:
            self._out.write(f"\r\x1b[K{line}" + ("\n" if last else ""))
        else:
            self._out.write(f"{line}\n")
        self._out.flush()
