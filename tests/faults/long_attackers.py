"""The long tier: a form, rows and a webhook client try to stop the operator for a minute."""

from collections.abc import Callable
from pathlib import Path

import pytest

from faults.conftest import Replicas
from faults.second_hub import assert_durations
from faults.test_attackers import attack
from operated.environment import Environment


@pytest.mark.timing
async def test_attackers_delay_no_row_of_another_hub_for_a_minute(
    env: Environment, replicas: Replicas, kubectl: Callable[..., str], tmp_path: Path
) -> None:
    durations = await attack(env, replicas, kubectl, tmp_path, rows=60)
    # The attackers and the API server have the two cores of the operator, too.
    assert_durations(durations, within=1, share=0.95)
