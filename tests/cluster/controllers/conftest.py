"""The `env` fixture of controller tests, and the database servers of those that need one."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import databases
from databases import Server
from lynq.kube import Client
from operated.environment import Environment


@pytest.fixture
def env(client: Client, namespace: str, crds: None, tmp_path: Path) -> Environment:  # noqa: ARG001
    return Environment(client, namespace, tmp_path)


@pytest.fixture(scope="module")
def mariadb() -> Iterator[Server]:
    """A server with a binlog, which push needs."""
    with databases.mariadb("--log-bin=binlog", "--binlog-format=ROW", "--server-id=1") as server:
        yield server


@pytest.fixture(scope="module")
def postgresql() -> Iterator[Server]:
    with databases.postgresql() as server:
        yield server
