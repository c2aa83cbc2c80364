"""What all tests share: a real cluster per run, a namespace per test."""

import asyncio
import os
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import uvloop
from hypothesis import HealthCheck, settings

from lynq.api import LynqHub, LynqNode
from lynq.api.crds import build as definitions
from lynq.cluster import LocalCluster
from lynq.cluster.local import kubectl as run_kubectl
from lynq.kube import Client, PartialObject, load_config
from lynq.kube.crd_install import install_crd
from lynq.kube.errors import NotFound
from lynq.kube.resource import NAMESPACES, resource_of

# Seconds say little on a machine that runs two clusters beside the tests.
settings.register_profile(
    "exploring", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
# The same examples in every run: what lands must not depend on luck. To look for more, run
# `make test ARGS=--hypothesis-profile=exploring`.
settings.register_profile("repeating", settings.get_profile("exploring"), derandomize=True)
settings.load_profile("repeating")

# The loop that `lynq run` has: its timers, sockets and errors are not quite asyncio's.
asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())


@pytest.fixture(scope="session")
def clusters(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where this run keeps its clusters, apart from those of the person who runs it."""
    return tmp_path_factory.mktemp("clusters")


def _running(name: str, root: Path) -> Iterator[LocalCluster]:
    cluster = LocalCluster(name, root)
    cluster.up(owned=True)
    yield cluster
    if cluster.exists:
        cluster.down()


@pytest.fixture(scope="session")
def cluster(clusters: Path) -> Iterator[LocalCluster]:
    """The one cluster that tests share."""
    yield from _running("shared", clusters)


@pytest.fixture
def own_cluster(clusters: Path) -> Iterator[LocalCluster]:
    """A cluster for one test that breaks things."""
    yield from _running(f"own-{uuid.uuid4().hex[:8]}", clusters)


@pytest.fixture(scope="session")
def kubeconfig(request: pytest.FixtureRequest) -> Path:
    """The admin's kubeconfig of the shared cluster, or of the one in LYNQ_TEST_KUBECONFIG."""
    if existing := os.environ.get("LYNQ_TEST_KUBECONFIG"):
        return Path(existing)
    cluster: LocalCluster = request.getfixturevalue("cluster")
    return cluster.kubeconfig


@pytest.fixture(scope="session")
async def client(kubeconfig: Path) -> AsyncIterator[Client]:
    """The admin of the shared cluster."""
    async with Client.connect(load_config(kubeconfig=kubeconfig)) as client:
        yield client


@pytest.fixture
async def namespace(client: Client) -> AsyncIterator[str]:
    """A namespace for one test."""
    name = f"test-{uuid.uuid4().hex[:10]}"
    await client.create(NAMESPACES, {"metadata": {"name": name}})
    yield name
    await client.delete(NAMESPACES, name)
    await _free(client, name)


async def _free(client: Client, namespace: str) -> None:
    """Let hubs and nodes go whose operator runs no more.

    A namespace that they keep is tried again every few seconds for as long as the cluster lives;
    hundreds of them leave the controller-manager no time for the namespaces of later tests.
    """
    for definition in (LynqHub.definition, LynqNode.definition):
        kind = resource_of(definition)
        try:
            left = await client.list(kind, namespace, into=PartialObject)
        except NotFound:
            # No test has needed our kinds so far.
            return
        for each in left.items:
            with suppress(NotFound):
                nothing = {"metadata": {"finalizers": None}}
                await client.patch(kind, each.metadata.name, nothing, namespace)


@pytest.fixture(scope="session")
async def crds(client: Client) -> None:
    """Our three kinds, installed and served."""
    for definition in definitions():
        await install_crd(client, definition)


@pytest.fixture(scope="session")
def kubectl(kubeconfig: Path) -> Callable[..., str]:
    """Kubectl as the shared cluster's admin; what it prints, errors too."""

    def run(*command: str) -> str:
        answer = run_kubectl(kubeconfig, *command)
        return answer.stdout + answer.stderr

    return run
