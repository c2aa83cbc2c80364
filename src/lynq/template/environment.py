"""The inputs of a render: time, seeded randomness and limits, and what is left of them.

`Environment` comes from the caller. `Context` is the state of one render. `SeededRandom` is
repeatable: the same seed gives the same passwords forever.
"""

from __future__ import annotations

import hashlib
import secrets
import time
from itertools import count
from time import monotonic
from typing import TypeAlias, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from lynq.template.errors import LimitError, UnavailableError
from lynq.template.gofmt.printf import show
from lynq.template.limits import DEFAULT_LIMITS, Deadline, Limits


class SeededRandom:
    """A stream of bytes determined by the seed, and unpredictable without it.

    The seed has to be a secret. `derive` returns an independent source for a part of it:
    editing one field of a resource does not change the values of another.
    """

    __slots__ = ("_blocks", "_given", "_left", "_seed")

    def __init__(self, seed: bytes) -> None:
        self._given = seed
        self._seed = hashlib.sha256(seed).digest()
        self._blocks = count()
        self._left = b""

    def derive(self, *parts: str) -> SeededRandom:
        """Return the source of one position, such as a resource id and a field's path."""
        lengths = "".join(f"{len(part)}:{part}" for part in parts)
        return SeededRandom(self._seed + lengths.encode("utf-8", "surrogatepass"))

    def restarted(self) -> SeededRandom:
        """Return the same source, restarted."""
        return SeededRandom(self._given)

    def bytes(self, size: int) -> bytes:
        """Draw `size` bytes."""
        pieces = [self._left]
        have = len(self._left)
        while have < size:
            block = hashlib.sha256(self._seed + next(self._blocks).to_bytes(8, "big")).digest()
            pieces.append(block)
            have += len(block)
        drawn = b"".join(pieces)
        self._left = drawn[size:]
        return drawn[:size]

    def below(self, bound: int) -> int:
        """Draw an integer uniformly from 0 to `bound` - 1."""
        size = (bound.bit_length() + 7) // 8 + 1
        fair = (1 << 8 * size) // bound * bound
        while True:
            drawn = int.from_bytes(self.bytes(size), "big")
            if drawn < fair:
                return drawn % bound


class UnavailableRandom:
    """Randomness without a seed: every draw fails with the problem."""

    __slots__ = ("_problem",)

    def __init__(self, problem: str) -> None:
        self._problem = problem

    def derive(self, *_parts: str) -> UnavailableRandom:
        """Return the source of one position: the same."""
        return self

    def restarted(self) -> UnavailableRandom:
        """Return the same source."""
        return self

    def bytes(self, _size: int) -> bytes:
        """Fail; raises UnavailableError."""
        raise UnavailableError(self._problem)

    def below(self, _bound: int) -> int:
        """Fail; raises UnavailableError."""
        raise UnavailableError(self._problem)


RandomSource: TypeAlias = SeededRandom | UnavailableRandom

_T = TypeVar("_T")
_WIDE_BYTES = 4
_SHARED_BYTES = 8
_ITEM_BYTES = 64
_MANY_PIECES = 10_000
_NO_RANDOM = SeededRandom(b"")


class Context:
    """One render's time (`now`, nanoseconds since 1970), randomness and budgets."""

    __slots__ = (
        "calls",
        "deadline",
        "depth",
        "iterations",
        "limits",
        "memory",
        "now",
        "out",
        "random",
        "slow",
    )

    def __init__(
        self,
        *,
        now: int = 0,
        random: RandomSource | None = None,
        limits: Limits = DEFAULT_LIMITS,
        deadline: Deadline | None = None,
    ) -> None:
        self.now = now
        self.random = random or _NO_RANDOM
        self.limits = limits
        self.deadline = deadline or Deadline(limits.seconds)
        self.out: list[object] = []
        self.memory = limits.memory
        self.iterations = limits.iterations
        self.calls = limits.calls
        self.slow = limits.slow_calls
        self.depth = 0

    def check_deadline(self) -> None:
        """Fail after the deadline."""
        self.deadline.check()

    def meter(self, value: _T) -> _T:
        """Charge a new value, in a loop or a long template."""
        if monotonic() > self.deadline.at:
            self.check_deadline()
        if isinstance(value, str):
            self.charge(len(value) * (1 if value.isascii() else _WIDE_BYTES))
        elif isinstance(value, list | dict):
            self.charge(len(value) * _ITEM_BYTES)
        return value

    def meter_texts(self, value: _T) -> _T:
        """Charge a new list of new strings."""
        if isinstance(value, list):
            self.charge(sum(map(len, value)))
        return self.meter(value)

    def meter_shared(self, value: _T) -> _T:
        """Charge a new list of existing items."""
        if monotonic() > self.deadline.at:
            self.check_deadline()
        if isinstance(value, list):
            self.charge(len(value) * _SHARED_BYTES)
        return value

    def charge(self, size: int) -> None:
        """Charge bytes to the render's memory limit."""
        self.memory -= size
        if self.memory < 0:
            raise LimitError(f"values of more than {self.limits.memory} bytes in one render")

    def count_iteration(self) -> None:
        """Count an iteration of a loop."""
        self.iterations -= 1
        if self.iterations < 0:
            raise LimitError(f"more than {self.limits.iterations} loop iterations")
        if monotonic() > self.deadline.at:
            self.check_deadline()
        if len(self.out) > _MANY_PIECES:
            self.compact()

    def enter(self) -> None:
        """Count a nested template."""
        self.calls -= 1
        self.depth += 1
        if self.calls < 0:
            raise LimitError(f"more than {self.limits.calls} calls of templates")
        if self.depth > self.limits.template_depth:
            raise LimitError(f"exceeded maximum template depth ({self.limits.template_depth})")
        self.check_deadline()

    def compact(self) -> None:
        """Join the output so far after its size has been checked."""
        pieces = [piece if isinstance(piece, str) else show(piece) for piece in self.out]
        if sum(map(len, pieces)) > self.limits.output:
            raise LimitError(f"output of more than {self.limits.output} bytes")
        self.out[:] = ["".join(pieces)]

    def slow_call(self) -> None:
        """Count a call of a slow function, such as the generation of a key."""
        self.slow -= 1
        if self.slow < 0:
            raise LimitError(f"more than {self.limits.slow_calls} calls of slow functions")
        self.check_deadline()


class Environment(Struct, frozen=True):
    """The inputs of a render. The engine itself reads no clock and has no randomness of its own.

    The defaults, for a single string rendered by hand, are the time of the call and a fresh seed.
    """

    now: int = field(default_factory=time.time_ns)
    """Nanoseconds since 1970."""
    random: RandomSource = field(default_factory=lambda: SeededRandom(secrets.token_bytes(32)))
    limits: Limits = DEFAULT_LIMITS
    deadline: Deadline | None = None
    """When to stop; by default each string has its own time."""

    @classmethod
    def fixed(cls, limits: Limits = DEFAULT_LIMITS) -> Environment:
        """Return an environment without clock and randomness, for templates that need neither."""
        return cls(now=0, random=_NO_RANDOM, limits=limits)

    def at(self, *position: str) -> Environment:
        """Return the environment of one position: the same, with its own randomness."""
        return replace(self, random=self.random.derive(*position))

    def within_one_deadline(self) -> Environment:
        """Return an environment whose renders share one deadline."""
        if self.deadline is not None:
            return self
        return replace(self, deadline=Deadline(self.limits.seconds))

    def context(self) -> Context:
        """Start a render. Its random stream restarts, so that the render is repeatable."""
        return Context(
            now=self.now,
            random=self.random.restarted(),
            limits=self.limits,
            deadline=self.deadline,
        )
