"""Watches of node resources: responses to writes in the cache, and shutdown."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress

import pytest
from msgspec.structs import replace

from built_in_resources import DEPLOYMENTS
from lynq.api import Metadata, NodeStatus, ResourceState, ResourceStatus
from lynq.api.metadata import ObjectKey
from lynq.controllers.children import ChildChange, Children, FullObject, WatchedKind
from lynq.controllers.options import UNSHARDED, Shard
from lynq.kube import Client, ClusterConfig, Discovery, PartialObject, Resource, RuntimeMetrics
from lynq.kube.resource import CONFIG_MAPS
from unit.core.node.nodes import a_node

READY = ResourceState.READY
KEY = ObjectKey("shop", "acme")
OWN, OTHER = {"lynq.sh/bucket": "1"}, {"lynq.sh/bucket": "2"}
MANAGED = {"lynq.sh/managed": "true"}


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    async with Client.connect(ClusterConfig("http://127.0.0.1:1")) as client:
        yield client


def watched(client: Client, shard: Shard, resource: Resource = CONFIG_MAPS) -> WatchedKind:
    return WatchedKind(client, resource, RuntimeMetrics.unexposed(), (), shard=shard)


def response(version: int, labels: dict[str, str], uid: str = "u1") -> PartialObject:
    key, resource_version = KEY._asdict(), str(version)
    metadata = Metadata(**key, uid=uid, labels=labels, resource_version=resource_version)
    return PartialObject(metadata=metadata)


def cached_version(kind: WatchedKind) -> str:
    child = kind.child(KEY)
    return child.resource_version if child else ""


@pytest.mark.parametrize(
    ("shard", "labels"),
    [
        (Shard(1, 2), MANAGED),
        (Shard(1, 2), MANAGED | OTHER),
        (Shard(1, 2), OWN),
        (Shard(0, 2), MANAGED | OWN),
        (UNSHARDED, OWN),
    ],
)
async def test_object_that_the_watch_no_longer_selects_leaves_the_cache(
    client: Client, shard: Shard, labels: dict[str, str]
) -> None:
    kind = watched(client, shard)
    kind.store_if_selected(response(1, labels))
    assert cached_version(kind) == ""
    kind.store_response(response(1, MANAGED | {"lynq.sh/bucket": str(shard.number)}))
    kind.store_if_selected(response(2, labels))
    assert cached_version(kind) == ""
    kind.store_response(response(3, MANAGED | {"lynq.sh/bucket": str(shard.number)}))
    assert cached_version(kind) == "3"


@pytest.mark.parametrize(
    ("shard", "labels"),
    [
        (Shard(1, 2), MANAGED | OWN),
        (Shard(0, 2), MANAGED | OTHER),
        (Shard(0, 2), MANAGED),
        (UNSHARDED, MANAGED),
        (UNSHARDED, MANAGED | OWN),
    ],
)
async def test_response_that_the_watch_selects_is_cached(
    client: Client, shard: Shard, labels: dict[str, str]
) -> None:
    kind = watched(client, shard)
    kind.store_if_selected(response(1, labels))
    assert cached_version(kind) == "1"


async def test_shard_of_the_hubs_caches_the_workloads_of_all_shards(client: Client) -> None:
    kind = watched(client, Shard(0, 2), DEPLOYMENTS)
    kind.store_if_selected(FullObject(metadata=response(1, MANAGED | OWN).metadata))
    assert cached_version(kind) == "1"


@pytest.mark.parametrize("late", [response(1, MANAGED), response(3, MANAGED, uid="u0")])
async def test_late_response_of_an_unselected_object_removes_no_other(
    client: Client, late: PartialObject
) -> None:
    kind = watched(client, Shard(1, 2))
    kind.store_response(response(2, MANAGED | OWN))
    kind.store_if_selected(late)
    assert cached_version(kind) == "2"


async def test_own_patch_that_unselects_an_object_wakes_no_node(client: Client) -> None:
    changes: list[ChildChange] = []
    kind = WatchedKind(
        client,
        CONFIG_MAPS,
        RuntimeMetrics.unexposed(),
        (),
        shard=Shard(1, 2),
        on_change=changes.append,
    )
    kind.store_response(response(1, MANAGED | OWN))
    kind.store_if_selected(response(2, MANAGED))
    assert [change.is_own_write for change in changes] == [True, True]


async def test_node_change_during_shutdown_starts_no_watch(client: Client) -> None:
    resource = ResourceStatus(id="a", api_version="v1", kind="Secret", name="a", state=READY)
    node = replace(a_node(), status=NodeStatus(resources=(resource,)))
    children = Children(
        client, Discovery(client), RuntimeMetrics.unexposed(), on_change=lambda _: None
    )
    running = asyncio.create_task(children.run())
    await asyncio.sleep(0)
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running
    children.start_watches(node)


async def test_held_back_drift_is_delivered_as_more_than_progress(client: Client) -> None:
    """The stage of a workload replaces a change that another manager made before it."""
    changes: list[ChildChange] = []
    kind = WatchedKind(
        client, DEPLOYMENTS, RuntimeMetrics.unexposed(), (), on_change=changes.append
    )

    def observe(version: int, owner: str, updated: int) -> None:
        metadata = response(version, MANAGED | {"lynq.sh/node": owner}).metadata
        status = {"observedGeneration": 0, "replicas": 2, "updatedReplicas": updated}
        obj = FullObject(metadata=metadata, spec={"replicas": 2}, status=status)
        kind.cache.store_response(obj)

    observe(1, "acme-web", 0)
    observe(2, "acme-web", 1)
    with kind.writing(KEY):
        observe(3, "other", 1)
        observe(4, "other", 0)
    assert [change.is_progress for change in changes] == [False, True, False, True, False]
    assert [change.is_own_write for change in changes] == [False, False, True, True, False]
