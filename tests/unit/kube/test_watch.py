import asyncio
from itertools import pairwise
from typing import Any

import msgspec
import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st

from http_server import Serve
from lynq.api import Metadata
from lynq.api.wire import Wire
from lynq.kube import (
    Bookmark,
    Client,
    ClientOptions,
    ClusterConfig,
    EventType,
    PartialObject,
    WatchEvent,
    errors,
)
from lynq.kube.codec import TOO_DEEP
from lynq.kube.resource import CONFIG_MAPS
from lynq.kube.watch import LineSplitter


def split(chunks: list[bytes], limit: int = 1 << 20) -> list[bytes]:
    splitter = LineSplitter(limit)
    return [line for chunk in chunks for line in splitter.feed(chunk)]


@given(
    lines=st.lists(st.text(min_size=1).filter(lambda text: "\n" not in text), max_size=8),
    cuts=st.lists(st.integers(min_value=0, max_value=400), max_size=20),
)
def test_lines_are_joined_across_any_chunk_boundary(lines: list[str], cuts: list[int]) -> None:
    stream = "".join(f"{line}\n" for line in lines).encode()
    edges = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    chunks = [stream[start:end] for start, end in pairwise(edges)]
    assert [line.decode() for line in split(chunks)] == lines


def test_empty_lines_are_skipped() -> None:
    assert split([b"\n", b"a\n\n", b"\nb\n"]) == [b"a", b"b"]


def test_size_limit_applies_to_one_line() -> None:
    assert split([b"12345\n"] * 100, limit=5) == [b"12345"] * 100
    with pytest.raises(errors.ResponseTooLarge, match="larger than 5 bytes"):
        split([b"123", b"456"], limit=5)


class Strict(Wire, frozen=True):
    metadata: Metadata
    data: dict[str, str]


class Loose(Wire, frozen=True):
    metadata: Metadata
    spec: msgspec.Raw


def line(kind: str, obj: dict[str, Any]) -> bytes:
    return msgspec.json.encode({"type": kind, "object": obj}) + b"\n"


async def collect(
    serve: Serve, chunks: list[bytes], into: type[Any] = Strict, **options: Any
) -> list[Any]:
    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for chunk in chunks:
            await response.write(chunk)
        return response

    config = ClusterConfig(await serve(handler))
    async with Client.connect(config, options=ClientOptions(**options)) as client:
        return [event async for event in client.watch(CONFIG_MAPS, into=into)]


async def test_events_are_decoded_to_the_requested_type(serve: Serve) -> None:
    added = line("ADDED", {"metadata": {"name": "é"}, "data": {"k": "v"}})
    bookmark = line(
        "BOOKMARK",
        {
            "metadata": {
                "resourceVersion": "7",
                "creationTimestamp": None,
                "annotations": {"k8s.io/initial-events-end": "true"},
            }
        },
    )
    cut = added.index("é".encode()) + 1
    events = await collect(serve, [added[:cut], added[cut:] + bookmark])
    assert events == [
        WatchEvent(EventType.ADDED, Strict(metadata=Metadata(name="é"), data={"k": "v"})),
        Bookmark("7", initial_events_end=True),
    ]


@pytest.mark.parametrize("levels", [1_300, 9_990])
async def test_object_that_is_too_deep_does_not_stop_the_watch(serve: Serve, levels: int) -> None:
    deep = b'{"a":' * levels + b"1" + b"}" * levels
    fields = b'[{"manager":"m","fieldsV1":' + deep + b"}]"
    metadata = b'{"managedFields":' + fields + b',"name":"deep","resourceVersion":"5"}'
    event = b'{"type":"ADDED","object":{"metadata":' + metadata + b',"spec":' + deep + b"}}\n"
    after = line("ADDED", {"metadata": {"name": "after"}, "spec": {"a": 1}})
    events = await collect(serve, [event, after], into=Loose)
    assert [(event.object.metadata.name, bytes(event.object.spec)) for event in events] == [
        ("deep", TOO_DEEP),
        ("after", b'{"a":1}'),
    ]
    assert events[0].object.metadata.resource_version == "5"


async def test_error_event_is_raised_as_typed_error(serve: Serve) -> None:
    status = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"}
    with pytest.raises(errors.Gone):
        await collect(serve, [line("ERROR", status)])


@pytest.mark.parametrize(
    "chunk",
    [
        b"no json\n",
        line("RENAMED", {"metadata": {}, "data": {}}),
        line("ADDED", {"metadata": {"name": "x"}, "data": {"password": ["hunter2"]}}),
    ],
)
async def test_invalid_event_is_rejected_unquoted(serve: Serve, chunk: bytes) -> None:
    with pytest.raises(errors.UnexpectedResponse) as caught:
        await collect(serve, [chunk])
    assert "hunter2" not in str(caught.value)
    assert str(caught.value).startswith("watch /api/v1/configmaps: ")


async def test_stream_that_ends_inside_an_event_is_a_failed_connection(serve: Serve) -> None:
    with pytest.raises(errors.ConnectionFailed, match="inside an event"):
        await collect(serve, [line("ADDED", {"metadata": {}, "data": {}})[:-5]])


async def test_large_event_is_rejected(serve: Serve) -> None:
    with pytest.raises(errors.ResponseTooLarge):
        await collect(serve, [b"x" * 2000], max_event=1000)


async def test_silent_watch_ends(serve: Serve) -> None:
    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(line("ADDED", {"metadata": {"name": "a"}}))
        await asyncio.Event().wait()
        return response

    config = ClusterConfig(await serve(handler))
    options = ClientOptions(watch_silence=0.1)
    async with Client.connect(config, options=options) as client:
        events = client.watch(CONFIG_MAPS, into=PartialObject)
        assert isinstance(await anext(events), WatchEvent)
        with pytest.raises(StopAsyncIteration):
            await anext(events)
