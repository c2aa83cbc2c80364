"""The long tier: random histories. LYNQ_HISTORIES is their number, LYNQ_HISTORY_SEED the first."""

import os

import pytest

from faults.conftest import Replicas
from faults.history_operations import run_history
from operated.environment import Environment

FIRST = int(os.environ.get("LYNQ_HISTORY_SEED", "100"))
HISTORIES = int(os.environ.get("LYNQ_HISTORIES", "20"))


@pytest.mark.history
@pytest.mark.parametrize("seed", range(FIRST, FIRST + HISTORIES))
async def test_random_histories_lose_no_object(
    env: Environment,
    replicas: Replicas,
    other_namespace: str,
    request: pytest.FixtureRequest,
    seed: int,
) -> None:
    properties = request.node.user_properties
    await run_history(seed, env, replicas, other_namespace, properties, chapters=4, operations=15)
