"""Shared fixtures: one real cluster per run, one namespace per test."""

import asyncio
import os
import tempfile
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import uvloop
from hypothesis import HealthCheck, Phase, settings

from delays import delayed_kubeconfig
from lynq.api import LynqHub, LynqNode
from lynq.api.crds import build as definitions
from lynq.cluster import LocalCluster
from lynq.cluster.local import kubectl as run_kubectl
from lynq.kube import Client, PartialObject, load_config
from lynq.kube.crd_install import install_crd
from lynq.kube.errors import NotFound
from lynq.kube.resource import NAMESPACES, resource_of
from rerun import Reruns

pytest_plugins = ["long_output"]

# Deadlines are meaningless on a machine that runs clusters beside the tests.
settings.register_profile(
    "exploring", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
# Derandomized, so that every run tries the same examples. To explore others, run
# `make test ARGS=--hypothesis-profile=exploring`.
settings.register_profile("repeating", settings.get_profile("exploring"), derandomize=True)
# For tools/mutants.py, which runs each test many times and needs no readable example.
settings.register_profile(
    "mutants",
    settings.get_profile("repeating"),
    max_examples=20,
    phases=(Phase.explicit, Phase.generate),
    database=None,
)
settings.load_profile("repeating")

# The event loop of `lynq run`: its timers, sockets and errors differ from asyncio's.
asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())

_TESTS = Path(__file__).parent
_REAL_SERVERS = tuple(
    _TESTS / name for name in ("browser", "cluster", "dashboard", "docs", "faults", "sources")
)


def pytest_configure(config: pytest.Config) -> None:
    """Share byte code between all processes, and register the plugin of reruns.

    Compiling is a third of a start of `lynq`. With PYTHONDONTWRITEBYTECODE or a read-only checkout,
    every process would compile again.
    """
    if not hasattr(config, "workerinput"):
        run = tempfile.TemporaryDirectory(prefix="lynq-tests-")
        config.add_cleanup(run.cleanup)
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        # The workers inherit the variables.
        os.environ["PYTHONPYCACHEPREFIX"] = str(_cached_bytecode(config) or Path(run.name))
        os.environ["LYNQ_TEST_RUN"] = run.name
    lock = Path(os.environ["LYNQ_TEST_RUN"], "rerun.lock")
    config.pluginmanager.register(Reruns(lock, _REAL_SERVERS), "reruns")


def _cached_bytecode(config: pytest.Config) -> Path | None:
    """Return the folder of byte code that the next run uses, too, if there can be one."""
    # The attribute is that of the cache plugin; a checkout can be read-only.
    with suppress(AttributeError, OSError):
        return config.cache.mkdir("bytecode")
    return None


@pytest.fixture(scope="session")
def clusters(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Directory of this run's clusters, separate from the developer's own clusters."""
    return tmp_path_factory.mktemp("clusters")


def _running(name: str, root: Path) -> Iterator[LocalCluster]:
    cluster = LocalCluster(name, root)
    cluster.up(owned=True)
    yield cluster
    if cluster.exists:
        cluster.down()


@pytest.fixture(scope="session")
def cluster(clusters: Path) -> Iterator[LocalCluster]:
    """The cluster shared by all tests."""
    yield from _running("shared", clusters)


@pytest.fixture
def own_cluster(clusters: Path) -> Iterator[LocalCluster]:
    """A cluster of its own for a test that breaks it."""
    yield from _running(f"own-{uuid.uuid4().hex[:8]}", clusters)


@pytest.fixture(scope="session")
def kubeconfig(request: pytest.FixtureRequest) -> Iterator[Path]:
    """The admin kubeconfig of the shared cluster, or the one in LYNQ_TEST_KUBECONFIG."""
    if existing := os.environ.get("LYNQ_TEST_KUBECONFIG"):
        yield Path(existing)
        return
    cluster: LocalCluster = request.getfixturevalue("cluster")
    with delayed_kubeconfig(cluster.kubeconfig) as path:
        yield path


@pytest.fixture(scope="session")
async def client(kubeconfig: Path) -> AsyncIterator[Client]:
    """A client with admin rights in the shared cluster."""
    async with Client.connect(load_config(kubeconfig=kubeconfig)) as client:
        yield client


@pytest.fixture
async def namespace(client: Client) -> AsyncIterator[str]:
    """A namespace for one test."""
    name = f"test-{uuid.uuid4().hex[:10]}"
    await client.create(NAMESPACES, {"metadata": {"name": name}})
    yield name
    await client.delete(NAMESPACES, name)
    await _remove_finalizers(client, name)


async def _remove_finalizers(client: Client, namespace: str) -> None:
    """Remove the finalizers of hubs and nodes whose operator has stopped.

    Otherwise the namespace stays Terminating and is retried every few seconds; hundreds of such
    namespaces starve the namespace controller in later tests.
    """
    for definition in (LynqHub.definition, LynqNode.definition):
        kind = resource_of(definition)
        try:
            remaining = await client.list(kind, namespace, into=PartialObject)
        except NotFound:
            # The CRDs are not installed yet.
            return
        for obj in remaining.items:
            if not obj.metadata.finalizers:
                continue
            with suppress(NotFound):
                patch = {"metadata": {"finalizers": None}}
                await client.patch(kind, obj.metadata.name, patch, namespace)


@pytest.fixture(scope="session")
async def crds(client: Client) -> None:
    """The three Lynq CRDs, installed and served."""
    for definition in definitions():
        await install_crd(client, definition)


@pytest.fixture(scope="session")
def kubectl(kubeconfig: Path) -> Callable[..., str]:
    """Run kubectl as admin of the shared cluster; returns stdout and stderr."""

    def run(*command: str) -> str:
        result = run_kubectl(kubeconfig, *command)
        return result.stdout + result.stderr

    return run
