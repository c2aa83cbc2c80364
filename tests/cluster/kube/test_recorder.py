"""The event recorder on a real API server."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from lynq.kube import (
    Backoff,
    Client,
    ObjectReference,
    Recorder,
    Request,
    Response,
    RuntimeMetrics,
    Send,
)
from lynq.kube.errors import ConnectionFailed
from lynq.kube.resource import CONFIG_MAPS, EVENTS, NAMESPACES
from waiting import eventually


@pytest.fixture
async def about(client: Client, namespace: str) -> ObjectReference:
    """The involved object of the events."""
    created = await client.create(CONFIG_MAPS, {"metadata": {"name": "acme"}}, namespace)
    metadata = created["metadata"]
    return ObjectReference(
        "v1", "ConfigMap", "acme", namespace, metadata["uid"], metadata["resourceVersion"]
    )


@asynccontextmanager
async def recording(recorder: Recorder) -> AsyncIterator[None]:
    """Run a recorder during the block, then let it flush."""
    async with asyncio.TaskGroup() as group:
        group.create_task(recorder.run())
        await asyncio.sleep(0)
        yield
        recorder.stop()


async def events_in(client: Client, namespace: str) -> list[dict[str, Any]]:
    listing = await client.list(EVENTS, namespace)
    ours = [item for item in listing.items if item["source"].get("component") == "lynq"]
    return sorted(ours, key=lambda event: event["metadata"]["name"])


async def test_fields_of_an_event(client: Client, namespace: str, about: ObjectReference) -> None:
    recorder = Recorder(client, "lynq")
    async with recording(recorder):
        recorder.record(about, "Warning", "ApplyFailed", "rejected by the API server")
    [event] = await events_in(client, namespace)
    name, _, suffix = event["metadata"]["name"].rpartition(".")
    assert name == "acme"
    assert int(suffix, 16) > 0
    assert event["involvedObject"] == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": "acme",
        "namespace": namespace,
        "uid": about.uid,
        "resourceVersion": about.resource_version,
    }
    assert (event["type"], event["reason"]) == ("Warning", "ApplyFailed")
    assert event["message"] == "rejected by the API server"
    assert event["reportingComponent"] == event["source"]["component"] == "lynq"
    assert event["reportingInstance"] == ""
    assert event["count"] == 1
    assert event["firstTimestamp"] == event["lastTimestamp"]


async def test_repeats_increment_the_count_of_one_event(
    client: Client, namespace: str, about: ObjectReference
) -> None:
    recorder = Recorder(client, "lynq")
    async with recording(recorder):
        recorder.record(about, "Normal", "Applied", "5 resources")
        first = await eventually(lambda: events_in(client, namespace))
        for _ in range(3):
            recorder.record(about, "Normal", "Applied", "5 resources")
    [event] = await events_in(client, namespace)
    assert event["metadata"]["uid"] == first[0]["metadata"]["uid"]
    assert event["count"] == 4


async def test_repeats_at_a_slow_api_server_are_one_write(
    client: Client, namespace: str, about: ObjectReference
) -> None:
    registry = CollectorRegistry()
    recorder = Recorder(client, "lynq", metrics=RuntimeMetrics(registry).events())
    for _ in range(20):
        recorder.record(about, "Normal", "Applied", "5 resources")
    async with recording(recorder):
        pass
    [event] = await events_in(client, namespace)
    assert event["count"] == 20
    assert _sample(registry, "written") == 1


async def test_many_different_messages_are_combined(
    client: Client, namespace: str, about: ObjectReference
) -> None:
    recorder = Recorder(client, "lynq")
    async with recording(recorder):
        for number in range(15):
            recorder.record(about, "Warning", "Failed", f"row {number}")
    events = await events_in(client, namespace)
    assert len(events) == 10
    combined = [event for event in events if event["message"].startswith("(combined from")]
    assert [event["message"] for event in combined] == ["(combined from similar events): row 14"]
    assert combined[0]["count"] == 6


async def test_events_of_an_object_are_rate_limited(
    client: Client, namespace: str, about: ObjectReference
) -> None:
    registry = CollectorRegistry()
    recorder = Recorder(client, "lynq", metrics=RuntimeMetrics(registry).events())
    async with recording(recorder):
        for _ in range(40):
            recorder.record(about, "Normal", "Applied", "5 resources")
    assert _sample(registry, "rate_limited") == 15
    assert len(await events_in(client, namespace)) == 1


async def test_expired_event_is_re_created(
    client: Client, namespace: str, about: ObjectReference
) -> None:
    recorder = Recorder(client, "lynq")
    async with recording(recorder):
        recorder.record(about, "Normal", "Applied", "5 resources")
        [event] = await eventually(lambda: events_in(client, namespace))
        await client.delete(EVENTS, event["metadata"]["name"], namespace)
        recorder.record(about, "Normal", "Applied", "5 resources")
    [event] = await events_in(client, namespace)
    assert event["count"] == 2


async def test_full_queue_drops_and_counts_the_oldest_events_but_warnings(
    client: Client, namespace: str, about: ObjectReference
) -> None:
    registry = CollectorRegistry()
    recorder = Recorder(client, "lynq", limit=2, metrics=RuntimeMetrics(registry).events())
    recorder.record(about, "Warning", "ApplyFailed", "rejected")
    for number in range(5):
        recorder.record(about, "Normal", "Applied", f"message {number}")
    assert _sample(registry, "dropped") == 4
    async with recording(recorder):
        pass
    messages = [event["message"] for event in await events_in(client, namespace)]
    assert messages == ["rejected", "message 4"]


@asynccontextmanager
async def many_requests(client: Client, namespace: str) -> AsyncIterator[None]:
    """Keep so many requests in flight that it is not quiet."""
    release = asyncio.Event()

    async def hold(request: Request, send: Send) -> Response:
        await release.wait()
        return await send(request)

    busy = client.intercepted(hold)
    async with asyncio.TaskGroup() as group:
        for _ in range(8):
            group.create_task(busy.get(NAMESPACES, namespace))
        await asyncio.sleep(0)
        yield
        release.set()


async def test_warning_does_not_wait_until_other_requests_are_few(
    client: Client, namespace: str, about: ObjectReference
) -> None:
    recorder = Recorder(client, "lynq", max_delay=60)
    async with recording(recorder):
        async with many_requests(client, namespace):
            # More than there are writers of Normal Events.
            for number in range(5):
                recorder.record(about, "Normal", "Applied", f"{number} resources")
            await asyncio.sleep(0.1)
            recorder.record(about, "Warning", "ApplyFailed", "rejected")
            [event] = await eventually(lambda: events_in(client, namespace))
            assert event["reason"] == "ApplyFailed"
        await eventually(lambda: _has_events(client, namespace, 6))


@pytest.mark.timing
async def test_events_wait_together_until_other_requests_are_few(
    client: Client, namespace: str, about: ObjectReference
) -> None:
    """Two writers that waited for each Event by itself would take half a minute."""
    recorder = Recorder(client, "lynq", max_delay=5)
    async with many_requests(client, namespace), recording(recorder):
        for number in range(20):
            recorder.record(about, "Normal", f"Applied{number}", "5 resources")
        await asyncio.sleep(1)
        assert await events_in(client, namespace) == []
        await eventually(lambda: _has_events(client, namespace, 20), within=12)


@pytest.mark.timing
async def test_event_waits_for_no_event_that_is_younger(
    client: Client, namespace: str, about: ObjectReference
) -> None:
    """Of objects in other namespaces, for example."""
    recorder = Recorder(client, "lynq", max_delay=4)
    async with many_requests(client, namespace), recording(recorder):
        for number in range(6):
            recorder.record(about, "Normal", f"Applied{number}", "5 resources")
        await asyncio.sleep(2)
        for number in range(4):
            other = replace(about, namespace=f"absent-{number}", uid=str(number))
            recorder.record(other, "Normal", "Applied", "5 resources")
        # The younger ones are due two seconds later.
        await eventually(lambda: _has_events(client, namespace, 6), within=3.5)


async def test_events_do_not_wait_after_stop(
    client: Client, namespace: str, about: ObjectReference
) -> None:
    recorder = Recorder(client, "lynq", max_delay=60, grace=10)
    async with many_requests(client, namespace):
        async with recording(recorder):
            for number in range(5):
                recorder.record(about, "Normal", "Applied", f"{number} resources")
            await asyncio.sleep(0.1)
        assert len(await events_in(client, namespace)) == 5


async def _has_events(client: Client, namespace: str, count: int) -> bool:
    return len(await events_in(client, namespace)) == count


async def test_failed_write_is_retried(
    client: Client, namespace: str, about: ObjectReference
) -> None:
    failures = iter([ConnectionFailed("cut"), ConnectionFailed("cut"), None])

    async def fail(request: Request, send: Send) -> Response:
        failure = next(failures)
        if failure:
            raise failure
        return await send(request)

    quick = Backoff(base=0.01, cap=0.1)
    recorder = Recorder(client.intercepted(fail), "lynq", backoff=quick)
    async with recording(recorder):
        recorder.record(about, "Normal", "Applied", "5 resources")
        await eventually(lambda: events_in(client, namespace))


async def test_write_with_a_lost_response_creates_one_event(
    client: Client, namespace: str, about: ObjectReference
) -> None:
    lost = iter([True])

    async def lose_the_first_answer(request: Request, send: Send) -> Response:
        response = await send(request)
        if next(lost, False):
            raise ConnectionFailed("cut after the request was carried out")
        return response

    quick = Backoff(base=0.01, cap=0.1)
    recorder = Recorder(client.intercepted(lose_the_first_answer), "lynq", backoff=quick)
    async with recording(recorder):
        recorder.record(about, "Normal", "Applied", "5 resources")
        await eventually(lambda: events_in(client, namespace))
        recorder.record(about, "Normal", "Applied", "5 resources")
    [event] = await events_in(client, namespace)
    assert event["count"] == 2


async def test_events_in_a_deleted_namespace_are_dropped_silently(
    client: Client, namespace: str
) -> None:
    doomed = f"{namespace}-doomed"
    finalizer = {"metadata": {"name": "held", "finalizers": ["lynq.sh/test"]}}
    await client.create(NAMESPACES, {"metadata": {"name": doomed}})
    await client.create(CONFIG_MAPS, finalizer, doomed)
    await client.delete(NAMESPACES, doomed)
    registry = CollectorRegistry()
    recorder = Recorder(client, "lynq", metrics=RuntimeMetrics(registry).events())
    async with recording(recorder):
        recorder.record(
            ObjectReference("v1", "ConfigMap", "held", doomed), "Normal", "Kept", "still"
        )
    assert _sample(registry, "failed") == 0
    assert _sample(registry, "written") == 0
    await client.patch(CONFIG_MAPS, "held", {"metadata": {"finalizers": None}}, doomed)


async def test_events_of_a_cluster_scoped_object_are_in_default(
    client: Client, namespace: str
) -> None:
    recorder = Recorder(client, "lynq")
    async with recording(recorder):
        recorder.record(
            ObjectReference("v1", "Namespace", namespace), "Normal", "Seen", "by a test"
        )
    events = await client.list(EVENTS, "default", fields=f"involvedObject.name={namespace}")
    assert [event["message"] for event in events.items] == ["by a test"]


def _sample(registry: CollectorRegistry, outcome: str) -> float | None:
    return registry.get_sample_value("lynq_event_records_total", {"outcome": outcome})
