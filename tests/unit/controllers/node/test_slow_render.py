"""What takes long is rendered beside the loop, and the loop is told."""

import asyncio
import threading
from collections.abc import Callable

import pytest

from lynq.api.metadata import ObjectKey
from lynq.controllers.node.slow_render import PendingRender, RenderPool
from lynq.core.node.objects import ObjectRef
from lynq.core.node.render import Rendered, RenderError

MADE = Rendered(ObjectRef("v1", "Secret", "shop", "acme-key"), {"kind": "Secret"})


NODE = ObjectKey("shop", "acme-web")


async def done(render: Callable[[], Rendered]) -> PendingRender:
    """Have an object made, and wait until its node is woken."""
    woken: asyncio.Queue[ObjectKey] = asyncio.Queue()
    making = RenderPool(woken.put_nowait).submit(NODE, render)
    assert await asyncio.wait_for(woken.get(), 10) == NODE
    return making


def nobody(_: ObjectKey) -> None:
    """Wake nobody."""


async def test_it_is_made_in_another_thread() -> None:
    makers: set[int] = set()

    def render() -> Rendered:
        makers.add(threading.get_ident())
        return MADE

    making = await done(render)
    assert making.result() is MADE
    assert threading.get_ident() not in makers


async def test_why_it_could_not_be_made_is_raised_where_it_is_asked_for() -> None:
    def render() -> Rendered:
        raise RenderError("key", "data.key", "no")

    making = await done(render)
    with pytest.raises(RenderError):
        making.result()


async def test_two_are_made_at_a_time_and_what_is_no_longer_wanted_is_not() -> None:
    makers, go_on, begun = RenderPool(nobody), threading.Event(), threading.Semaphore(0)

    def render() -> Rendered:
        begun.release()
        go_on.wait(10)
        return MADE

    first, second, third, fourth = (makers.submit(NODE, render) for _ in range(4))
    for _ in range(2):
        assert await asyncio.to_thread(begun.acquire, timeout=10)
    assert third.cancel()
    go_on.set()
    await asyncio.gather(*(asyncio.wrap_future(each) for each in (first, second, fourth)))
    assert begun.acquire(blocking=False)
    assert not begun.acquire(blocking=False)


async def test_what_waits_is_dropped_at_the_end() -> None:
    makers, go_on = RenderPool(nobody), threading.Event()

    def render() -> Rendered:
        go_on.wait(10)
        return MADE

    makings = [makers.submit(NODE, render) for _ in range(5)]
    makers.close()
    go_on.set()
    assert sum(each.cancelled() for each in makings) >= 3


async def test_nobody_keeps_the_process_from_ending() -> None:
    await done(lambda: MADE)
    assert all(each.daemon for each in threading.enumerate() if each.name == "keys")
