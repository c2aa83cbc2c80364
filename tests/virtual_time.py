"""An event loop with virtual time: a test of hours runs in milliseconds, deterministically.

When no task is ready, the clock jumps to the next timer. A loop without timers has deadlocked,
which is an error. Threads take real time: while work in one is outstanding, time stands still, and
the loop waits for it. Work of `run_in_executor` is known to the loop; other threads are announced
by `hold`.
"""

import asyncio
import functools
import selectors
from collections.abc import Callable, Coroutine
from threading import Lock
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, TypeVarTuple, cast

if TYPE_CHECKING:
    from concurrent.futures import Future

P = ParamSpec("P")
T = TypeVar("T")
Ts = TypeVarTuple("Ts")

_THREAD_SECONDS = 0.5
"""Seconds of real time after which the loop looks again whether a thread has ended."""


class _JumpingSelector(selectors.SelectSelector):
    def __init__(self) -> None:
        super().__init__()
        self.now = 1000.0
        self.held = 0
        """Number of works in threads that time waits for."""
        self._lock = Lock()

    def hold(self) -> None:
        with self._lock:
            self.held += 1

    def release(self) -> None:
        with self._lock:
            self.held -= 1

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        while not ready and self.held and timeout != 0:
            ready = super().select(_THREAD_SECONDS)
        if not ready:
            # A thread announces its result before it releases the time.
            ready = super().select(0)
        if not ready:
            if timeout is None:
                raise RuntimeError("deadlock: every task waits and no timer is set")
            self.now += timeout
        return ready


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """A loop that starts at 1000 s and never waits, except for threads."""

    def __init__(self) -> None:
        self._jumping = _JumpingSelector()
        super().__init__(self._jumping)

    def time(self) -> float:
        """Return the virtual time."""
        return self._jumping.now

    def advance(self, seconds: float) -> None:
        """Let time pass within a task, as if it blocked the loop."""
        self._jumping.now += seconds

    def hold(self, work: "Future[Any] | asyncio.Future[Any]") -> None:
        """Let time stand still until a future that a thread settles is done."""
        self._jumping.hold()
        work.add_done_callback(lambda _: self._jumping.release())

    def run_in_executor(
        self, executor: Any, func: Callable[[*Ts], T], *args: *Ts
    ) -> asyncio.Future[T]:
        """Run a function in a thread, which time waits for."""
        future = cast("asyncio.Future[T]", super().run_in_executor(executor, func, *args))
        self.hold(future)
        return future

    async def shutdown_default_executor(self, timeout: float | None = None) -> None:  # noqa: ASYNC109
        """End the threads of the executor, which time waits for."""
        self._jumping.hold()
        try:
            await super().shutdown_default_executor(*() if timeout is None else (timeout,))
        finally:
            self._jumping.release()


def virtual_time(test: Callable[P, Coroutine[Any, Any, None]]) -> Callable[P, None]:
    """Run an async test on its own loop, in virtual time."""

    @functools.wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
            runner.run(test(*args, **kwargs))

    return run
