"""How long a render may take: its own work counts, not what its whole process stands still for."""

from threading import get_ident
from time import monotonic, thread_time

from lynq.template.errors import LimitError


class Deadline:
    """A span of time, from now on.

    The wall clock is cheap to read, but goes on while the process is stopped, throttled or
    collecting garbage. So it measures the first half only; the second is measured in work.
    """

    __slots__ = ("_doing", "_seconds", "_thread", "_worked", "at")

    def __init__(self, seconds: float, doing: str = "rendering") -> None:
        self._seconds = seconds
        self._doing = doing
        self.start()

    def start(self) -> None:
        """Begin anew."""
        self.at = monotonic() + self._seconds / 2
        """When to call `check`: a look at the clock is all that it costs until then."""
        self._thread = 0
        self._worked = 0.0

    def check(self) -> None:
        """Fail once the time is used up."""
        now = monotonic()
        if now <= self.at:
            return
        worked, thread = thread_time(), get_ident()
        # Two threads may share it, in one template; what one of them worked is not the other's.
        if thread != self._thread:
            self._thread, self._worked = thread, worked
        left = self._seconds / 2 - (worked - self._worked)
        if left <= 0:
            raise LimitError(f"{self._doing} took longer than {self._seconds} s")
        self.at = now + left

    def prolong(self, seconds: float) -> None:
        """Leave out what took so long on purpose."""
        self.at += seconds
        self._worked += seconds
