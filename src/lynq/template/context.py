"""What one render may use: its clock, its chance, and what is left of its limits."""

from time import monotonic
from typing import TypeVar

from lynq.template.chance import Chance
from lynq.template.errors import LimitError
from lynq.template.limits import DEFAULT_LIMITS, Limits

_T = TypeVar("_T")
_SMALL = 2_048
_ITEM_BYTES = 64


class Context:
    """One render's clock (`now`, nanoseconds since 1970), chance and budgets."""

    __slots__ = ("calls", "chance", "deadline", "depth", "limits", "memory", "now", "slow", "turns")

    def __init__(self, *, now: int, chance: Chance, limits: Limits = DEFAULT_LIMITS) -> None:
        self.now = now
        self.chance = chance
        self.limits = limits
        self.deadline = monotonic() + limits.seconds
        self.memory = limits.memory
        self.turns = limits.turns
        self.calls = limits.calls
        self.slow = limits.slow_calls
        self.depth = 0

    def check_deadline(self) -> None:
        """Fail once the render has had its time."""
        if monotonic() > self.deadline:
            raise LimitError(f"rendering took longer than {self.limits.seconds} s")

    def meter(self, value: _T) -> _T:
        """Charge a value that was made where many can be: in a loop, or in a long template."""
        if monotonic() > self.deadline:
            self.check_deadline()
        if isinstance(value, str | list | dict) and len(value) > _SMALL:
            self.memory -= len(value) * (1 if isinstance(value, str) else _ITEM_BYTES)
            if self.memory < 0:
                raise LimitError(f"values of more than {self.limits.memory} bytes in one render")
        return value

    def turn(self) -> None:
        """Count a turn of a loop."""
        self.turns -= 1
        if self.turns < 0:
            raise LimitError(f"more than {self.limits.turns} turns of loops")
        if monotonic() > self.deadline:
            self.check_deadline()

    def slow_call(self) -> None:
        """Count a call of a function that is slow by nature."""
        self.slow -= 1
        if self.slow < 0:
            raise LimitError(f"more than {self.limits.slow_calls} calls of slow functions")
        self.check_deadline()
