"""What all tests share: a real cluster per run, a namespace per test."""

import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from lynq.cluster import Cluster
from lynq.kube import NAMESPACES, Client, load_config


@pytest.fixture(scope="session")
def clusters(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where this run keeps its clusters, apart from those of the person who runs it."""
    return tmp_path_factory.mktemp("clusters")


def _running(name: str, root: Path) -> Iterator[Cluster]:
    cluster = Cluster(name, root)
    cluster.up(owned=True)
    yield cluster
    if cluster.exists:
        cluster.down()


@pytest.fixture(scope="session")
def cluster(clusters: Path) -> Iterator[Cluster]:
    """The one cluster that tests share."""
    yield from _running("shared", clusters)


@pytest.fixture
def own_cluster(clusters: Path) -> Iterator[Cluster]:
    """A cluster for one test that breaks things."""
    yield from _running(f"own-{uuid.uuid4().hex[:8]}", clusters)


@pytest.fixture(scope="session")
async def client(cluster: Cluster) -> AsyncIterator[Client]:
    """The admin of the shared cluster."""
    async with Client.connect(load_config(kubeconfig=cluster.kubeconfig)) as client:
        yield client


@pytest.fixture
async def namespace(client: Client) -> AsyncIterator[str]:
    """A namespace for one test."""
    name = f"test-{uuid.uuid4().hex[:10]}"
    await client.create(NAMESPACES, {"metadata": {"name": name}})
    yield name
    await client.delete(NAMESPACES, name)


@pytest.fixture(scope="session")
def kubectl(cluster: Cluster) -> Callable[..., str]:
    """Kubectl as the shared cluster's admin; what it prints, errors too."""

    def run(*command: str) -> str:
        answer = cluster.kubectl(*command)
        return answer.stdout + answer.stderr

    return run
