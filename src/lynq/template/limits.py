"""The limits of a render: sizes are checked before a value is built, time counts the own work."""

from dataclasses import dataclass
from threading import get_ident
from time import monotonic, thread_time

from lynq.template.errors import LimitError

_KIB = 1024
_MIB = 1024 * _KIB


@dataclass(frozen=True, slots=True)
class Limits:
    """The bounds of one render. Go has none of them, so each is a setting."""

    source: int = 256 * _KIB
    """Bytes of a template's source."""
    tokens: int = 8_000
    """Tokens in a source: compiling them takes time and memory too."""
    output: int = _MIB
    """Bytes of one rendered string: a Kubernetes object holds about 1.5 MiB."""
    text: int = _MIB
    """Bytes of any one string that a function returns."""
    items: int = 100_000
    """Items of any one list or map that a function returns."""
    memory: int = 24 * _MIB
    """Bytes of all values created in one render, including discarded ones."""
    iterations: int = 100_000
    """Turns of all loops in one render."""
    calls: int = 10_000
    """Calls of `template` in one render."""
    template_depth: int = 200
    """Templates that are inside one another at a time."""
    value_depth: int = 100
    """Lists and maps within one another, where a function walks them."""
    nesting: int = 100
    """Blocks, or parentheses, within one another in a source."""
    slow_calls: int = 20
    """Calls of functions that are slow by nature, such as `bcrypt` and `genCA`."""
    seconds: float = 0.2
    """Time for a render, excluding slow functions and pauses of the process.

    A render ends within a quarter of a second: the rest is for what runs between two looks at the
    clock.
    """

    def check_text(self, size: int) -> None:
        """Fail for a string of more than `text` bytes."""
        if size > self.text:
            raise LimitError(f"a string of {size} bytes is over the limit of {self.text}")

    def check_items(self, count: int) -> None:
        """Fail for a list or map of more than `items` items."""
        if count > self.items:
            raise LimitError(f"a list of {count} items is over the limit of {self.items}")

    def check_depth(self, depth: int) -> None:
        """Fail for a depth of more than `value_depth`; a value may contain itself."""
        if depth > self.value_depth:
            raise LimitError(f"a value nested deeper than the limit of {self.value_depth}")


DEFAULT_LIMITS = Limits()


class Deadline:
    """A deadline, relative to its creation.

    The wall clock is cheap to read, but continues while the process is stopped, throttled or
    collecting garbage. It measures only the first half; CPU time measures the second.
    """

    __slots__ = ("_doing", "_seconds", "_thread", "_worked", "at", "has_expired")

    def __init__(self, seconds: float, doing: str = "rendering") -> None:
        self._seconds = seconds
        self._doing = doing
        self.start()

    def start(self) -> None:
        """Restart the deadline."""
        self.at = monotonic() + self._seconds / 2
        """The time from which `check` must be called; before it, reading the clock suffices."""
        self._thread = 0
        self._worked = 0.0
        self.has_expired = False
        """Whether a check has failed."""

    def check(self) -> None:
        """Fail after the deadline."""
        now = monotonic()
        if now <= self.at:
            return
        worked, thread = thread_time(), get_ident()
        # Two threads may share the deadline of a template; the work of one does not count for both.
        if thread != self._thread:
            self._thread, self._worked = thread, worked
        left = self._seconds / 2 - (worked - self._worked)
        if left <= 0:
            self.has_expired = True
            raise LimitError(f"{self._doing} took longer than {self._seconds} s")
        self.at = now + left

    def extend(self, seconds: float) -> None:
        """Extend the deadline by the time of a slow function."""
        self.at += seconds
        self._worked += seconds
