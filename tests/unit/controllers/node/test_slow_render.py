"""Slow manifests are rendered in background threads, and their node is requeued."""

import asyncio
import threading
from collections.abc import Callable

import pytest

from lynq.api.metadata import ObjectKey
from lynq.controllers.node.slow_render import PendingRender, RenderPool
from lynq.core.node.objects import ObjectRef
from lynq.core.node.render import Rendered, RenderError

RENDERED = Rendered(ObjectRef("v1", "Secret", "shop", "acme-key"), {"kind": "Secret"})
NODE = ObjectKey("shop", "acme-web")


async def finished(render: Callable[[], Rendered]) -> PendingRender:
    """Submit a render, and wait until its node is requeued."""
    requeued: asyncio.Queue[ObjectKey] = asyncio.Queue()
    pending = RenderPool(requeued.put_nowait).submit(NODE, render)
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
    pool, proceed, started = RenderPool(ignore), threading.Event(), threading.Semaphore(0)

    def render() -> Rendered:
        started.release()
        proceed.wait(10)
        return RENDERED

    first, second, third, fourth = (pool.submit(NODE, render) for _ in range(4))
    for _ in range(2):
        assert await asyncio.to_thread(started.acquire, timeout=10)
    assert third.cancel()
    proceed.set()
    await asyncio.gather(*(asyncio.wrap_future(pending) for pending in (first, second, fourth)))
    assert started.acquire(blocking=False)
    assert not started.acquire(blocking=False)


async def test_queued_renders_are_canceled_on_close() -> None:
    pool, proceed = RenderPool(ignore), threading.Event()

    def render() -> Rendered:
        proceed.wait(10)
        return RENDERED

    renders = [pool.submit(NODE, render) for _ in range(5)]
    pool.close()
    proceed.set()
    assert sum(pending.cancelled() for pending in renders) >= 3


async def test_render_threads_do_not_block_the_process_exit() -> None:
    await finished(lambda: RENDERED)
    assert all(thread.daemon for thread in threading.enumerate() if thread.name == "keys")
