"""What a caller gives to the engine: the time it is, the source of chance, and the limits."""

import secrets
import time
from dataclasses import dataclass, field, replace

from lynq.template.chance import SeededRandom
from lynq.template.context import Context
from lynq.template.deadline import Deadline
from lynq.template.limits import DEFAULT_LIMITS, Limits


@dataclass(frozen=True, slots=True)
class Environment:
    """A render's surroundings. The engine itself reads no clock and draws nothing by itself.

    The defaults, for a single string rendered by hand, are the time of the call and a fresh seed.
    """

    now: int = field(default_factory=time.time_ns)
    """Nanoseconds since 1970."""
    chance: SeededRandom = field(default_factory=lambda: SeededRandom(secrets.token_bytes(32)))
    limits: Limits = DEFAULT_LIMITS
    deadline: Deadline | None = None
    """When to stop; by default each string has its own time."""

    def at(self, *position: str) -> "Environment":
        """Give the surroundings of one position: the same, but for what is drawn by chance."""
        return replace(self, chance=self.chance.derive(*position))

    def within_one_deadline(self) -> "Environment":
        """Give surroundings in which all renders from now on share one span of time."""
        if self.deadline is not None:
            return self
        return replace(self, deadline=Deadline(self.limits.seconds))

    def context(self) -> Context:
        """Start a render. What it draws begins anew, so that it can be repeated."""
        return Context(
            now=self.now,
            chance=self.chance.again(),
            limits=self.limits,
            deadline=self.deadline,
        )
