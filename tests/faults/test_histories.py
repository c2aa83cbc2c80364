"""A random history of rows, forms, objects and kills keeps every object that nothing removed.

LYNQ_HISTORY_SEED replays another one. The long tier runs many.
"""

import os

import pytest

from cluster.controllers.environment import Environment
from faults.conftest import Replicas
from faults.history_operations import run_history

SEED = int(os.environ.get("LYNQ_HISTORY_SEED", "1232"))


async def test_random_history_loses_no_object(
    env: Environment, replicas: Replicas, other_namespace: str, request: pytest.FixtureRequest
) -> None:
    properties = request.node.user_properties
    await run_history(SEED, env, replicas, other_namespace, properties, chapters=2, operations=15)
