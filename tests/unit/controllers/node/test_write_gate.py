"""Writes that are slow hold no worker, and more of them are deferred until one has finished."""

import asyncio

import pytest

from lynq.api import LynqNode, Metadata, NodeSpec
from lynq.api.metadata import ObjectKey
from lynq.api.names import LABEL_HUB
from lynq.controllers.node.write_gate import WriteGate
from lynq.controllers.timing import Timing
from lynq.core.node.objects import ObjectRef
from lynq.kube.errors import KubeError
from virtual_time import virtual_time


def a_node(name: str, hub: str = "hub") -> LynqNode:
    metadata = Metadata(name=name, namespace="shop", labels={LABEL_HUB: hub})
    return LynqNode(metadata=metadata, spec=NodeSpec(uid=name, template_ref="web"))


def an_object(name: str, kind: str = "Ingress") -> ObjectRef:
    return ObjectRef("networking.k8s.io/v1", kind, "shop", name)


class Api:
    """An API server behind a gate; its answers take `seconds`."""

    def __init__(self, *, slow_limit: int = 2, group_limit: int = 32) -> None:
        self.seconds = 10.0
        self.requeued: list[str] = []
        self.slow: list[str] = []
        self.widest = self.in_flight = 0
        self.gate = WriteGate(
            lambda key: self.requeued.append(key.name),
            slow_limit=slow_limit,
            group_limit=group_limit,
            timing=Timing(
                slow_write=0.5, slow_kind=0.5, deferred_write_delay=0.05, deferred_write_check=1.0
            ),
        )
        self.gate.on_slow_write(self._report)

    def _report(self, key: ObjectKey) -> None:
        if key.name not in self.slow:
            self.slow.append(key.name)

    async def _answer(self) -> str:
        self.in_flight += 1
        self.widest = max(self.widest, self.in_flight)
        try:
            await asyncio.sleep(self.seconds)
        finally:
            self.in_flight -= 1
        return "accepted"

    async def write(self, node: str, hub: str = "hub", kind: str = "Ingress") -> str | None:
        return await self.gate.send(a_node(node, hub), an_object(node, kind), self._answer)


@virtual_time
async def test_quick_write_is_sent_and_reports_nothing() -> None:
    api = Api()
    api.seconds = 0.4
    assert (
        await asyncio.gather(*(api.write(f"n{number}") for number in range(9))) == ["accepted"] * 9
    )
    assert (api.slow, api.requeued) == ([], [])


@virtual_time
async def test_slow_write_is_reported_when_it_is_slow_and_the_next_one_at_once() -> None:
    api = Api()
    async with asyncio.TaskGroup() as group:
        group.create_task(api.write("first"))
        await asyncio.sleep(0.4)
        assert api.slow == []
        await asyncio.sleep(0.2)
        assert api.slow == ["first"]
        group.create_task(api.write("second"))
        await asyncio.sleep(0)
        assert api.slow == ["first", "second"]


@virtual_time
async def test_write_beyond_the_limit_is_deferred_and_its_node_requeued() -> None:
    api = Api()
    async with asyncio.TaskGroup() as group:
        group.create_task(api.write("a"))
        await asyncio.sleep(2)
        group.create_task(api.write("b"))
        await asyncio.sleep(1)
        assert await api.write("c") is None
        assert await api.write("d") is None
        await asyncio.sleep(7.5)
        assert api.requeued == ["c"]


@virtual_time
async def test_all_deferred_nodes_are_requeued_when_the_kind_is_quick_again() -> None:
    api = Api()
    async with asyncio.TaskGroup() as group:
        for name in "ab":
            group.create_task(api.write(name))
        await asyncio.sleep(1)
        for name in "cdefg":
            assert await api.write(name) is None
        await asyncio.sleep(9.1)
        assert api.requeued == ["c", "d"]
        api.seconds = 0.01
        assert await api.write("c") == "accepted"
        await asyncio.sleep(0.1)
    assert sorted(api.requeued) == ["c", "d", "e", "f", "g"]


@virtual_time
async def test_node_waits_for_one_object_although_the_write_of_another_was_admitted() -> None:
    api = Api(slow_limit=1)
    async with asyncio.TaskGroup() as group:
        group.create_task(api.write("a"))
        await asyncio.sleep(1)
        assert await api.write("b") is None
        await asyncio.sleep(9.01)
        group.create_task(api.write("b"))
        await asyncio.sleep(15)
    assert api.requeued == ["b"]


@virtual_time
async def test_requeued_nodes_that_write_nothing_do_not_stop_the_others() -> None:
    """They may be deleted or paused meanwhile."""
    api = Api(slow_limit=1)
    async with asyncio.TaskGroup() as group:
        group.create_task(api.write("a"))
        await asyncio.sleep(1)
        for name in "cdef":
            assert await api.write(name) is None
        await asyncio.sleep(15)
    assert api.requeued == ["c", "d", "e", "f"]


@virtual_time
async def test_one_group_does_not_fill_the_requests_in_flight() -> None:
    api = Api(group_limit=4)
    async with asyncio.TaskGroup() as group:
        writes = [group.create_task(api.write(f"n{number}")) for number in range(20)]
        await asyncio.sleep(1)
        assert api.in_flight == 4
        # Those that wait hold no worker either.
        assert len(api.slow) == 20
        assert await api.write("x", kind="Service") == "accepted"
    results = [write.result() for write in writes]
    # When the first are late, the kind is known to be slow.
    assert results.count("accepted") == 4
    assert results.count(None) == 16


@virtual_time
async def test_writes_that_wait_are_deferred_when_the_earlier_ones_turn_out_to_be_slow() -> None:
    """Otherwise the nodes of one hub hold all tasks until the API server has answered them."""
    api = Api(slow_limit=10, group_limit=4)
    async with asyncio.TaskGroup() as group:
        writes = [group.create_task(api.write(f"n{number}")) for number in range(20)]
        await asyncio.sleep(2)
        results = [write.result() for write in writes if write.done()]
        assert results == [None] * 16
        assert await api.write("late") is None


@virtual_time
async def test_write_is_queued_while_earlier_ones_are_answered() -> None:
    api = Api(group_limit=1)
    api.seconds = 0.3
    keys = [ObjectKey("shop", f"n{number}") for number in range(3)]
    async with asyncio.TaskGroup() as group:
        for key in keys:
            group.create_task(api.write(key.name))
        await asyncio.sleep(0.1)
        assert [api.gate.is_queued(key) for key in keys] == [False, True, True]
        await asyncio.sleep(0.3)
        assert [api.gate.is_queued(key) for key in keys] == [False, False, True]
    assert not any(map(api.gate.is_queued, keys))


@virtual_time
async def test_write_behind_slow_ones_is_not_queued() -> None:
    api = Api(group_limit=1)
    key = ObjectKey("shop", "second")
    async with asyncio.TaskGroup() as group:
        group.create_task(api.write("first"))
        group.create_task(api.write("second"))
        await asyncio.sleep(0.4)
        assert api.gate.is_queued(key)
        await asyncio.sleep(0.2)
        assert not api.gate.is_queued(key)


@virtual_time
async def test_canceled_write_is_not_queued() -> None:
    api = Api(group_limit=1)
    first = asyncio.create_task(api.write("first"))
    second = asyncio.create_task(api.write("second"))
    await asyncio.sleep(0.1)
    second.cancel()
    await asyncio.wait([second])
    assert not api.gate.is_queued(ObjectKey("shop", "second"))
    assert await first == "accepted"
    assert await api.write("third") == "accepted"


@virtual_time
async def test_forced_apply_is_deferred_while_a_kind_is_at_its_limit() -> None:
    api = Api(slow_limit=1)
    refs = [an_object("x"), an_object("x", "Service")]
    assert not api.gate.defer_any(a_node("x"), refs)
    async with asyncio.TaskGroup() as group:
        group.create_task(api.write("a"))
        await asyncio.sleep(1)
        assert api.gate.defer_any(a_node("x"), refs)
        assert not api.gate.defer_any(a_node("x"), refs[1:])
        assert not api.gate.defer_any(a_node("x", hub="other"), refs)
        await asyncio.sleep(9.1)
        assert api.requeued == ["x"]


@virtual_time
async def test_closed_gate_requeues_nothing() -> None:
    api = Api(slow_limit=1)
    async with asyncio.TaskGroup() as group:
        group.create_task(api.write("a"))
        await asyncio.sleep(1)
        await api.write("c")
        api.gate.close()
        await asyncio.sleep(20)
    assert api.requeued == []


@virtual_time
async def test_error_of_a_write_is_raised_and_ends_it() -> None:
    api = Api(slow_limit=1)

    async def fail() -> str:
        await asyncio.sleep(1)
        raise KubeError("denied")

    for _ in range(3):
        with pytest.raises(KubeError):
            await api.gate.send(a_node("a"), an_object("a"), fail)
