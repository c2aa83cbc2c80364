"""How long a render may take: its own work counts, not what its whole process stands still for."""

from time import monotonic, process_time

from lynq.template.errors import LimitError


class Deadline:
    """A span of time, from now on.

    The wall clock is cheap to read, but goes on while the process is stopped, throttled or
    collecting garbage. So it measures the first half only; the second is measured in work.
    """

    __slots__ = ("_doing", "_seconds", "_worked", "at")

    def __init__(self, seconds: float, doing: str = "rendering") -> None:
        self._seconds = seconds
        self._doing = doing
        self.start()

    def start(self) -> None:
        """Begin anew."""
        self.at = monotonic() + self._seconds / 2
        """When to call `check`: a look at the clock is all that it costs until then."""
        self._worked: float | None = None

    def check(self) -> None:
        """Fail once the time is used up."""
        now = monotonic()
        if now <= self.at:
            return
        worked = process_time()
        if self._worked is None:
            self._worked = worked
        left = self._seconds / 2 - (worked - self._worked)
        if left <= 0:
            raise LimitError(f"{self._doing} took longer than {self._seconds} s")
        self.at = now + left

    def prolong(self, seconds: float) -> None:
        """Leave out what took so long on purpose."""
        self.at += seconds
        if self._worked is not None:
            self._worked += seconds
