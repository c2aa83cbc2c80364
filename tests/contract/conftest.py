"""Each test of the contract runs against both API servers."""

import uuid
from collections.abc import AsyncIterator
from contextlib import suppress

import pytest

from lynq.kube import Client, load_config
from lynq.kube.errors import NotFound
from lynq.kube.resource import NAMESPACES


@pytest.fixture(scope="session", params=[pytest.param("real", marks=pytest.mark.server)])
async def client(request: pytest.FixtureRequest) -> AsyncIterator[Client]:
    """An admin client of one of the two API servers."""
    kubeconfig = request.getfixturevalue("kubeconfig")
    async with Client.connect(load_config(kubeconfig=kubeconfig)) as client:
        yield client


@pytest.fixture
async def other_namespace(client: Client) -> AsyncIterator[str]:
    """A second namespace for one test, which may delete it."""
    name = f"other-{uuid.uuid4().hex[:10]}"
    await client.create(NAMESPACES, {"metadata": {"name": name}})
    yield name
    with suppress(NotFound):
        await client.delete(NAMESPACES, name)
