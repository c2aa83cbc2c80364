"""Informers during faults of the control plane: compacted history, killed API server."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from background_tasks import run_in_background
from control_plane import compact, restart_apiserver
from lynq.cluster import LocalCluster
from lynq.kube import (
    Backoff,
    Client,
    Informer,
    InformerHealth,
    InformerPhase,
    ObjectChange,
    PartialObject,
    Request,
    Response,
    RuntimeMetrics,
    Send,
    load_config,
)
from lynq.kube.errors import KubeError
from lynq.kube.resource import CONFIG_MAPS
from waiting import eventually

QUICK = Backoff(base=0.05, cap=0.5, jitter=1.0)
MANAGED = {"lynq.sh/managed": "true"}
SELECTOR = "lynq.sh/managed=true"


@pytest.fixture
async def own_client(own_cluster: LocalCluster) -> AsyncIterator[Client]:
    """An admin client of a cluster that the test may break."""
    async with Client.connect(load_config(kubeconfig=own_cluster.kubeconfig)) as client:
        yield client


def manifest(name: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "default", "labels": MANAGED}}


async def create(client: Client, *names: str) -> None:
    for name in names:
        await client.create(CONFIG_MAPS, manifest(name))


def names(informer: Informer[PartialObject, PartialObject]) -> set[str]:
    return {obj.metadata.name for obj in informer.store.values()}


class Gate:
    """Blocks lists and watches while it is closed."""

    def __init__(self) -> None:
        self._open = asyncio.Event()
        self._open.set()
        self._streams: list[Response] = []
        self.passed: list[Request] = []

    async def __call__(self, request: Request, send: Send) -> Response:
        await self._open.wait()
        self.passed.append(request)
        response = await send(request)
        self._streams.append(response)
        return response

    def shut(self) -> None:
        """Interrupt streams and block new requests."""
        self._open.clear()
        for stream in self._streams:
            stream.close()

    def open(self) -> None:
        self._open.set()


@pytest.mark.timing
async def test_compacted_history_leads_to_a_new_list(
    own_cluster: LocalCluster, own_client: Client
) -> None:
    registry = CollectorRegistry()
    gate = Gate()
    informer: Informer[PartialObject, PartialObject] = Informer(
        own_client.intercepted(gate),
        CONFIG_MAPS,
        into=PartialObject,
        labels=SELECTOR,
        backoff=QUICK,
        metrics=RuntimeMetrics(registry).informer("configmaps"),
    )
    await create(own_client, "stays", "goes", "changes")
    changes: list[tuple[str, bool, bool]] = []

    def remember(change: ObjectChange[PartialObject]) -> None:
        changes.append((change.key.name, bool(change.old), bool(change.new)))

    async with run_in_background(informer.run()):
        await informer.synced()
        informer.on_change(remember)
        changes.clear()

        gate.shut()
        await own_client.delete(CONFIG_MAPS, "goes", "default")
        await own_client.patch(CONFIG_MAPS, "changes", {"data": {"a": "b"}}, "default")
        await create(own_client, "comes")
        await compact(own_cluster, own_client)
        # The restarted one has an empty watch cache, and the history of etcd is compacted.
        await restart_apiserver(own_cluster, own_client)
        assert names(informer) == {"stays", "goes", "changes"}

        gate.open()
        await eventually(lambda: names(informer) == {"stays", "changes", "comes"}, within=30)
        assert informer.health == InformerHealth(InformerPhase.WATCHING)

    assert sorted(changes) == [
        ("changes", True, True),
        ("comes", False, True),
        ("goes", True, False),
    ]
    labels = {"resource": "configmaps", "mode": "streamed"}
    assert registry.get_sample_value("lynq_informer_lists_total", labels) == 2
    resumed = [request for request in gate.passed if "sendInitialEvents" not in request.query]
    assert resumed, "the list was not preceded by an attempt to resume"


async def test_informer_survives_an_api_server_restart_without_deletions(
    own_cluster: LocalCluster, own_client: Client
) -> None:
    informer: Informer[PartialObject, PartialObject] = Informer(
        own_client, CONFIG_MAPS, into=PartialObject, labels=SELECTOR, backoff=QUICK
    )
    removed: list[str] = []
    informer.on_change(lambda change: None if change.new else removed.append(change.key.name))
    before = [f"before-{number}" for number in range(20)]
    await create(own_client, *before)
    async with run_in_background(informer.run()):
        await informer.synced()
        os.kill(own_cluster.pid("kube-apiserver"), signal.SIGKILL)
        await eventually(lambda: informer.health.phase is InformerPhase.FAILING, within=30)
        assert names(informer) == set(before)

        await eventually(lambda: _created(own_client, "after"), within=60)
        await eventually(lambda: names(informer) == {*before, "after"}, within=30)
        assert informer.health == InformerHealth(InformerPhase.WATCHING)
    assert removed == []


async def _created(client: Client, name: str) -> bool:
    try:
        await create(client, name)
    except KubeError:
        return False
    return True


async def test_failing_projection_does_not_end_the_informer(client: Client, namespace: str) -> None:
    fails = True

    def project(obj: PartialObject) -> str:
        if fails:
            raise KeyError("hunter2")
        return obj.metadata.name

    informer = Informer(
        client, CONFIG_MAPS, into=PartialObject, project=project, namespace=namespace, backoff=QUICK
    )
    await client.create(CONFIG_MAPS, {"metadata": {"name": "a"}}, namespace)
    async with run_in_background(informer.run()):
        await eventually(lambda: informer.health.phase is InformerPhase.FAILING)
        assert "KeyError" in informer.health.problem
        assert "hunter2" not in informer.health.problem
        fails = False
        await eventually(lambda: "a" in informer.store.values())
