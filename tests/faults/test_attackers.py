"""A form, a row and a webhook client try to stop the operator for a minute."""

import asyncio
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from faults.attackers import Attackers
from faults.conftest import Replicas
from faults.second_hub import assert_lease_was_kept, assert_rows_are_ready, start_leader
from operated.environment import Environment
from ports import free_port

ROWS = 55
"""Rows of the other hub, one per second."""
MEMORY_LIMIT_MIB = 512
"""The limit of the manifests."""


def peak_mib(pid: int) -> int:
    """Return the most memory that a process has had."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(re.findall(r"VmHWM:\s+(\d+) kB", status)[0]) // 1024


@pytest.mark.timing
async def test_attackers_delay_no_row_of_another_hub(
    env: Environment, replicas: Replicas, kubectl: Callable[..., str], tmp_path: Path
) -> None:
    port, scratch = free_port(), tmp_path / "scratch"
    replica = await start_leader(
        env,
        replicas,
        "--enable-webhooks=true",
        f"--webhook-port={port}",
        f"--webhook-namespace={env.namespace}",
        f"--webhook-configuration-prefix={env.namespace}-",
        f"--scratch-dir={scratch}",
    )
    attackers = Attackers(env, kubectl, port, tmp_path)
    attacking = asyncio.create_task(attackers.run())
    try:
        await assert_rows_are_ready(env, rows=ROWS, within=1)
    finally:
        attacking.cancel()
        await asyncio.wait([attacking])
    print(dict(attackers.counts))  # noqa: T201
    assert attacking.cancelled()
    assert attackers.counts["row"] >= ROWS
    assert attackers.counts["connection"] >= ROWS
    assert sum(count for name, count in attackers.counts.items() if "form" in name) >= ROWS / 2
    assert sum(count for name, count in attackers.counts.items() if "answer" in name) >= ROWS
    peak = peak_mib(replica.pid)
    print(f"peak of the memory: {peak} MiB")  # noqa: T201
    assert peak < MEMORY_LIMIT_MIB
    # The process that was attacked is the first one: it holds the lease, and ends as it is told.
    await assert_lease_was_kept(env, replica)
    await replica.stop()
