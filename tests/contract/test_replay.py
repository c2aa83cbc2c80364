"""Both API servers answer the recorded requests of cluster tests alike."""

from pathlib import Path

import pytest

from contract.conftest import Server
from contract.differences import judged, listed_differences
from contract.recording import FOLDER, read
from contract.replay import differences
from lynq.api.crds import build as definitions
from lynq.kube.crd_install import install_crd
from memory.api_server import MemoryApiServer

RECORDINGS = sorted(FOLDER.glob("*.json.gz"))
MAX_SIZE = 1 << 20


def test_recordings_are_small() -> None:
    assert RECORDINGS
    assert sum(path.stat().st_size for path in RECORDINGS) < MAX_SIZE


@pytest.mark.usefixtures("crds")
@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.name.removesuffix(".json.gz"))
async def test_recorded_requests_have_the_recorded_answers(server: Server, path: Path) -> None:
    # In a new cluster, the garbage collector waits for its caches for a minute.
    found = await differences(server.client, read(path), within=0.1 if server.memory else 120)
    unexplained = judged(found).unexplained if server.memory else found
    assert not unexplained, "\n".join(str(difference) for difference in unexplained)


async def test_listed_differences_occur() -> None:
    used = set()
    memory = MemoryApiServer()
    async with memory.client() as client:
        for definition in definitions():
            await install_crd(client, definition)
        for path in RECORDINGS:
            used |= set(judged(await differences(client, read(path), within=0.1)).used)
    assert used == set(listed_differences())
