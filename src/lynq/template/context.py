"""What one render may use: its clock, its chance, and what is left of its limits."""

from time import monotonic
from typing import TypeVar

from lynq.template.chance import SeededRandom
from lynq.template.deadline import Deadline
from lynq.template.errors import LimitError
from lynq.template.gofmt.printing import show
from lynq.template.limits import DEFAULT_LIMITS, Limits

_T = TypeVar("_T")
_WIDE_BYTES = 4
_SHARED_BYTES = 8
_ITEM_BYTES = 64
_MANY_PIECES = 10_000
_NO_CHANCE = SeededRandom(b"")


class Context:
    """One render's clock (`now`, nanoseconds since 1970), chance and budgets."""

    __slots__ = (
        "calls",
        "chance",
        "deadline",
        "depth",
        "limits",
        "memory",
        "now",
        "out",
        "slow",
        "turns",
    )

    def __init__(
        self,
        *,
        now: int = 0,
        chance: SeededRandom | None = None,
        limits: Limits = DEFAULT_LIMITS,
        deadline: Deadline | None = None,
    ) -> None:
        self.now = now
        self.chance = chance or _NO_CHANCE
        self.limits = limits
        self.deadline = deadline or Deadline(limits.seconds)
        self.out: list[object] = []
        self.memory = limits.memory
        self.turns = limits.turns
        self.calls = limits.calls
        self.slow = limits.slow_calls
        self.depth = 0

    def check_deadline(self) -> None:
        """Fail once the render has had its time."""
        self.deadline.check()

    def meter(self, value: _T) -> _T:
        """Charge a value that was made where many can be: in a loop, or in a long template."""
        if monotonic() > self.deadline.at:
            self.check_deadline()
        if isinstance(value, str):
            self.charge(len(value) * (1 if value.isascii() else _WIDE_BYTES))
        elif isinstance(value, list | dict):
            self.charge(len(value) * _ITEM_BYTES)
        return value

    def meter_texts(self, value: _T) -> _T:
        """Charge a new list of new texts."""
        if isinstance(value, list):
            self.charge(sum(map(len, value)))
        return self.meter(value)

    def meter_shared(self, value: _T) -> _T:
        """Charge a new list of items that were there before."""
        if monotonic() > self.deadline.at:
            self.check_deadline()
        if isinstance(value, list):
            self.charge(len(value) * _SHARED_BYTES)
        return value

    def charge(self, size: int) -> None:
        """Take from what this render may make."""
        self.memory -= size
        if self.memory < 0:
            raise LimitError(f"values of more than {self.limits.memory} bytes in one render")

    def turn(self) -> None:
        """Count a turn of a loop."""
        self.turns -= 1
        if self.turns < 0:
            raise LimitError(f"more than {self.limits.turns} turns of loops")
        if monotonic() > self.deadline.at:
            self.check_deadline()
        if len(self.out) > _MANY_PIECES:
            self.compact()

    def enter(self) -> None:
        """Count a template inside a template."""
        self.calls -= 1
        self.depth += 1
        if self.calls < 0:
            raise LimitError(f"more than {self.limits.calls} calls of templates")
        if self.depth > self.limits.template_depth:
            raise LimitError(f"exceeded maximum template depth ({self.limits.template_depth})")
        self.check_deadline()

    def compact(self) -> None:
        """Join the output so far, once it is known to be within the limit."""
        pieces = [piece if isinstance(piece, str) else show(piece) for piece in self.out]
        if sum(map(len, pieces)) > self.limits.output:
            raise LimitError(f"output of more than {self.limits.output} bytes")
        self.out[:] = ["".join(pieces)]

    def slow_call(self) -> None:
        """Count a call of a function that is slow by nature."""
        self.slow -= 1
        if self.slow < 0:
            raise LimitError(f"more than {self.limits.slow_calls} calls of slow functions")
        self.check_deadline()
