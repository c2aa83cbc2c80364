"""The database servers of a test run."""

from collections.abc import Iterator

import pytest

import databases
from databases import Server


@pytest.fixture(scope="session")
def mariadb() -> Iterator[Server]:
    with databases.mariadb() as server:
        yield server


@pytest.fixture(scope="session")
def postgresql() -> Iterator[Server]:
    with databases.postgresql() as server:
        yield server
