"""Random histories of deletion, ownership, hand-over, finalizers and rollout."""

import pytest

from memory.api_server import MemoryApiServer
from operated.environment import Environment
from unit.controllers.node.random_history import OPERATIONS, History


@pytest.mark.parametrize("seed", range(60))
async def test_random_history_loses_no_object_and_leaves_none_behind(
    api_server: MemoryApiServer, env: Environment, seed: int
) -> None:
    await History(seed, api_server, env).run(OPERATIONS, chapters=1, length=8)
