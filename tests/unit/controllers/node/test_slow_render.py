"""Manifests that take long are rendered in background threads; their node is requeued."""

import asyncio
import threading
import time
from collections.abc import Callable
from functools import partial

import pytest

from lynq.api.metadata import ObjectKey
from lynq.controllers.node.slow_render import (
    LOOP_SECONDS,
    HeavyTemplates,
    LoopTime,
    PendingRender,
    RenderPool,
    TemplateKey,
)
from lynq.core.node.objects import ObjectRef
from lynq.core.node.render import Rendered, RenderError
from lynq.template import Deadline
from lynq.template.errors import LimitError

RENDERED = Rendered(ObjectRef("v1", "Secret", "shop", "acme-key"), {"kind": "Secret"})
NODE = ObjectKey("shop", "acme-web")


async def finished(render: Callable[[], Rendered]) -> PendingRender:
    """Submit a render, and wait until its node is requeued."""
    requeued: asyncio.Queue[ObjectKey] = asyncio.Queue()
    pending = RenderPool(requeued.put_nowait, threads=2).submit(NODE, "shop", render)
    assert await asyncio.wait_for(requeued.get(), 10) == NODE
    return pending


def ignore(_: ObjectKey) -> None:
    """Requeue nothing."""


async def test_slow_manifest_is_rendered_in_another_thread() -> None:
    threads: set[int] = set()

    def render() -> Rendered:
        threads.add(threading.get_ident())
        return RENDERED

    pending = await finished(render)
    assert pending.result() is RENDERED
    assert threading.get_ident() not in threads


async def test_render_error_is_raised_by_the_result() -> None:
    def render() -> Rendered:
        raise RenderError("key", "data.key", "no")

    pending = await finished(render)
    with pytest.raises(RenderError):
        pending.result()


async def test_two_renders_run_at_a_time_and_a_canceled_one_never_starts() -> None:
    pool = RenderPool(ignore, threads=2)
    proceed, started = threading.Event(), threading.Semaphore(0)

    def render() -> Rendered:
        started.release()
        proceed.wait(10)
        return RENDERED

    first, second, third, fourth = (pool.submit(NODE, "shop", render) for _ in range(4))
    for _ in range(2):
        assert await asyncio.to_thread(started.acquire, timeout=10)
    assert third.cancel()
    proceed.set()
    await asyncio.gather(*(asyncio.wrap_future(pending) for pending in (first, second, fourth)))
    assert started.acquire(blocking=False)
    assert not started.acquire(blocking=False)


async def test_queued_renders_are_canceled_on_close() -> None:
    pool, proceed = RenderPool(ignore, threads=2), threading.Event()

    def render() -> Rendered:
        proceed.wait(10)
        return RENDERED

    renders = [pool.submit(NODE, "shop", render) for _ in range(5)]
    pool.close()
    proceed.set()
    assert sum(pending.cancelled() for pending in renders) >= 3


async def test_render_threads_do_not_block_the_process_exit() -> None:
    await finished(lambda: RENDERED)
    assert all(thread.daemon for thread in threading.enumerate() if thread.name == "renders")


async def test_node_is_requeued_once_all_of_its_renders_are_done() -> None:
    requeued: asyncio.Queue[ObjectKey] = asyncio.Queue()
    pool = RenderPool(requeued.put_nowait)
    renders = [pool.submit(NODE, "shop", lambda: RENDERED) for _ in range(3)]
    assert await asyncio.wait_for(requeued.get(), 10) == NODE
    assert all(pending.done() for pending in renders)
    assert requeued.empty()


async def test_render_of_another_hub_does_not_wait_for_all_of_the_first() -> None:
    pool, proceed, order = RenderPool(ignore), threading.Event(), list[str]()

    def render(hub: str) -> Rendered:
        proceed.wait(10)
        order.append(hub)
        return RENDERED

    renders = [
        pool.submit(ObjectKey("shop", f"n{number}"), hub, partial(render, hub))
        for number, hub in enumerate(["a", "a", "a", "a", "b"])
    ]
    proceed.set()
    await asyncio.gather(*map(asyncio.wrap_future, renders))
    assert order.index("b") <= 2


KEY = TemplateKey(ObjectKey("shop", "web"), 1, "settings", with_body=True)


def compute(deadline: Deadline) -> Rendered:
    """Compute until the deadline, as a template does."""
    while True:
        try:
            deadline.check()
        except LimitError as error:
            raise RenderError("settings", "data", str(error)) from None


def test_quick_render_stays_on_the_event_loop() -> None:
    assert LoopTime().try_render(lambda _: RENDERED) is RENDERED


def test_render_beyond_its_budget_gives_no_result() -> None:
    started = time.thread_time()
    assert LoopTime().try_render(compute) is None
    assert time.thread_time() - started < 5 * LOOP_SECONDS


def test_error_within_the_budget_is_raised() -> None:
    def render(_: Deadline) -> Rendered:
        raise RenderError("settings", "data", "no")

    with pytest.raises(RenderError):
        LoopTime().try_render(render)


def test_reconcile_has_one_budget_for_all_of_its_renders() -> None:
    loop_time = LoopTime(LOOP_SECONDS)
    # Each takes at least half of its time by the CPU clock, however busy the machine is.
    for _ in range(20):
        assert loop_time.try_render(compute) is None
    assert loop_time.try_render(lambda _: RENDERED) is None


def test_template_is_heavy_until_a_background_render_is_quick() -> None:
    heavy = HeavyTemplates()
    assert KEY not in heavy
    heavy.add(KEY)
    assert KEY in heavy
    assert heavy.measured(KEY, lambda: RENDERED)() is RENDERED
    assert KEY not in heavy
