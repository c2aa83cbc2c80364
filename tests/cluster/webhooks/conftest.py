"""Webhooks for one namespace of the shared cluster."""

from collections.abc import AsyncIterator

import pytest

from cluster.webhooks.admission import Admission
from lynq.kube import Client


@pytest.fixture
def admission(client: Client, namespace: str, crds: None) -> Admission:  # noqa: ARG001
    return Admission(client, namespace)


@pytest.fixture
async def admitting(admission: Admission) -> AsyncIterator[Admission]:
    """One replica that reviews everything in the namespace."""
    async with admission.replica() as server, admission.configured(server):
        yield admission
