"""Records which lines of Lynq's functions a process executes; imports nothing but the language.

Lines of modules and classes run at the first import only, and are not recorded.
"""

import atexit
import os
import sys
import threading
from pathlib import Path
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from _typeshed import TraceFunction

OUTPUT: Final = "LYNQ_LINE_COVERAGE"
"""The variable with the file to which processes append their lines."""
_SOURCE: Final = f"{Path(__file__).parents[2]}/src/lynq/"
_FUNCTION: Final = 0x1
"""The flag of code that is a function's: CO_OPTIMIZED."""

Lines: TypeAlias = dict[CodeType, set[int]]


class LineRecorder:
    """Appends every line to a file when it runs for the first time.

    At once, because processes are killed by tests.
    """

    def __init__(self, path: str) -> None:
        self._outputs: dict[str, tuple[int, Lines]] = {}
        self.write_to(path)

    def start(self) -> None:
        """Record all threads."""
        threading.settrace(self._trace)
        sys.settrace(self._trace)
        # At the end of the interpreter, the names of this module are gone.
        atexit.register(sys.settrace, None)

    def write_to(self, path: str) -> None:
        """Append to this file from now on."""
        if path not in self._outputs:
            output = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
            self._outputs[path] = (output, {})
        self._output, self._lines = self._outputs[path]

    def _trace(self, frame: FrameType, _event: str, _argument: object) -> "TraceFunction | None":
        code = frame.f_code
        if not code.co_flags & _FUNCTION or not code.co_filename.startswith(_SOURCE):
            return None
        return self._line if self._left(code) else None

    def _line(self, frame: FrameType, event: str, _argument: object) -> "TraceFunction | None":
        if event == "line":
            left, line = self._left(frame.f_code), frame.f_lineno
            if line in left:
                left.remove(line)
                file = frame.f_code.co_filename.removeprefix(_SOURCE)
                os.write(self._output, f"src/lynq/{file}:{line}\n".encode())
        return self._line

    def _left(self, code: CodeType) -> set[int]:
        """Return the lines that have not run yet."""
        left = self._lines.get(code)
        if left is None:
            left = self._lines[code] = {line for *_, line in code.co_lines() if line}
            if len(left) > 1 and not code.co_name.startswith("<"):
                # The line of `def` runs outside; a lambda has its body there.
                left.discard(code.co_firstlineno)
        return left


def record_process() -> None:
    """Record this process if a recorded test has started it."""
    if path := os.environ.get(OUTPUT):
        LineRecorder(path).start()
