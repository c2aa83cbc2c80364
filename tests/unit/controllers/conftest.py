"""The fixtures of cluster tests, on an API server in memory and in virtual time.

A test that uses `api_server`, `client`, `namespace` or `env` runs on a loop of its own, whose time
passes only while every task waits. The operator, the API server and `time.monotonic` follow it.
"""

import asyncio
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from lynq.api.crds import build as definitions
from lynq.controllers.node.slow_render import RenderPool
from lynq.kube import Client, Discovery
from lynq.sources.sqlite.thread import WorkerThread
from memory.api_server import MemoryApiServer
from operated.environment import Environment
from virtual_time import VirtualTimeLoop

_EPOCH = datetime(2026, 1, 1, tzinfo=UTC)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give each test on the API server in memory a loop of its own."""
    for item in items:
        if "virtual_loop" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.asyncio(loop_scope="function"), append=False)


@pytest.fixture
def _function_scoped_runner() -> Iterator[asyncio.Runner]:
    """Replace the runner of pytest-asyncio for tests with a loop of their own."""
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        yield runner


@pytest.fixture
def virtual_loop(
    _function_scoped_runner: asyncio.Runner, monkeypatch: pytest.MonkeyPatch
) -> VirtualTimeLoop:
    """The loop of the test; `time.monotonic` and the threads of the operator follow it."""
    loop = _function_scoped_runner.get_loop()
    assert isinstance(loop, VirtualTimeLoop)
    monkeypatch.setattr(time, "monotonic", loop.time)
    # The default of a parameter was read at import.
    defaults = {**(Discovery.__init__.__kwdefaults__ or {}), "clock": loop.time}
    monkeypatch.setattr(Discovery.__init__, "__kwdefaults__", defaults)
    for owner in (WorkerThread, RenderPool):
        _hold_during(owner, loop, monkeypatch)
    return loop


def _hold_during(owner: type[Any], loop: VirtualTimeLoop, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let time stand still while the work that a class submits is outstanding."""
    submit = owner.submit

    def submitted(*args: Any, **kwargs: Any) -> Any:
        future = submit(*args, **kwargs)
        loop.hold(future)
        return future

    monkeypatch.setattr(owner, "submit", submitted)


@pytest.fixture
def api_server(virtual_loop: VirtualTimeLoop) -> MemoryApiServer:
    """An API server whose clock follows the loop; clients that answer each other take time."""
    started = virtual_loop.time()

    def clock() -> datetime:
        return _EPOCH + timedelta(seconds=virtual_loop.time() - started)

    return MemoryApiServer(clock=clock, latency=0.001)


@pytest.fixture
def client(api_server: MemoryApiServer) -> Client:
    return api_server.client()


@pytest.fixture
def namespace(api_server: MemoryApiServer) -> str:
    api_server.create_namespace("test")
    return "test"


@pytest.fixture(scope="session")
def built_crds() -> list[dict[str, Any]]:
    """The three Lynq CRDs, built once."""
    return definitions()


@pytest.fixture
def crds(api_server: MemoryApiServer, built_crds: list[dict[str, Any]]) -> None:
    for definition in built_crds:
        api_server.install(definition)


@pytest.fixture
def env(
    api_server: MemoryApiServer,
    client: Client,
    namespace: str,
    crds: None,  # noqa: ARG001
    tmp_path: Path,
) -> Environment:
    return Environment(client, namespace, tmp_path, clock=api_server.clock)
