"""Faults of a local control plane: a killed API server, and a compacted history of etcd."""

import os
import signal

import aiohttp

from lynq.cluster import LocalCluster
from lynq.cluster.layout import ETCD_CLIENTS
from lynq.kube import Client, PartialObject
from lynq.kube.errors import KubeError
from lynq.kube.resource import CONFIG_MAPS
from waiting import eventually


async def restart_apiserver(cluster: LocalCluster, client: Client) -> None:
    """Kill the API server and wait until its restart is ready."""
    killed = cluster.pid("kube-apiserver")
    os.kill(killed, signal.SIGKILL)

    async def restarted() -> bool:
        try:
            return cluster.pid("kube-apiserver") != killed and await client.raw("/readyz") == b"ok"
        except KubeError:
            return False

    await eventually(restarted, within=90)


async def compact(cluster: LocalCluster, client: Client) -> None:
    """Compact the history of etcd."""
    now = (await client.list(CONFIG_MAPS, into=PartialObject)).resource_version
    url = "http://etcd/v3/kv/compaction"
    body = {"revision": now, "physical": True}
    socket = aiohttp.UnixConnector(str(cluster.layout.run / ETCD_CLIENTS))
    async with (
        aiohttp.ClientSession(connector=socket) as session,
        session.post(url, json=body) as answer,
    ):
        assert answer.status == 200, await answer.text()
