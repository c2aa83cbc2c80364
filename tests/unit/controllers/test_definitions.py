"""Reads of a CRD: shared by all objects whose deletion was observed before the read began."""

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest

from lynq.api import LynqNode, Metadata
from lynq.controllers.definitions import DefinitionReader
from lynq.kube import PartialObject
from lynq.kube.resource import resource_of
from virtual_time import virtual_time

READ = 0.1


class Definitions:
    """Serves a definition, each read in a tenth of a second."""

    def __init__(self) -> None:
        self.reads = 0
        self.is_deleting = False

    async def get(self, *_: object, **__: object) -> PartialObject:
        self.reads += 1
        deleted_at = datetime.now(UTC) if self.is_deleting else None
        await asyncio.sleep(READ)
        return PartialObject(metadata=Metadata(deletion_timestamp=deleted_at))


@pytest.fixture
def definitions() -> Definitions:
    return Definitions()


@pytest.fixture
def reader(definitions: Definitions) -> DefinitionReader:
    client: Any = definitions
    return DefinitionReader(client, resource_of(LynqNode.definition))


@virtual_time
async def test_deletions_that_were_observed_before_a_read_share_it(
    definitions: Definitions, reader: DefinitionReader
) -> None:
    observed_at = asyncio.get_running_loop().time()
    await asyncio.sleep(1)
    for _ in range(3):
        assert not await reader.is_deleted(observed_at)
    assert definitions.reads == 1


@virtual_time
async def test_deletion_that_was_observed_during_a_read_needs_another(
    definitions: Definitions, reader: DefinitionReader
) -> None:
    first = asyncio.create_task(reader.is_deleted())
    await asyncio.sleep(READ / 2)
    definitions.is_deleting = True
    assert await reader.is_deleted(asyncio.get_running_loop().time())
    assert not await first
    assert definitions.reads == 2


@virtual_time
async def test_deletion_without_a_time_is_observed_now(
    definitions: Definitions, reader: DefinitionReader
) -> None:
    await reader.is_deleted()
    definitions.is_deleting = True
    assert await reader.is_deleted()
