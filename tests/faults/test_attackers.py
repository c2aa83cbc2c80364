"""A form, rows and a webhook client try to stop the operator."""

import asyncio
import json
import os
import re
import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from faults import webhook_client
from faults.attackers import VALUES, Attackers
from faults.conftest import Replicas
from faults.second_hub import (
    assert_lease_was_kept,
    durations_to_ready,
    start_leader,
)
from operated.environment import Environment
from ports import free_port

MEMORY_LIMIT_MIB = 512
"""The limit of the manifests."""


@asynccontextmanager
async def attacked(attackers: Attackers, port: int) -> AsyncIterator[Counter[str]]:
    """Attack the operator during the block; then the counts are complete."""
    program = Path(webhook_client.__file__)
    environment = {**os.environ, "PYTHONPATH": str(program.parents[1])}
    client = await asyncio.create_subprocess_exec(
        sys.executable, str(program), str(port), stdout=asyncio.subprocess.PIPE, env=environment
    )
    attacking = asyncio.create_task(attackers.run())
    counts = Counter[str]()
    try:
        yield counts
    finally:
        attacking.cancel()
        await asyncio.wait([attacking])
        with_errors = client.returncode
        if with_errors is None:
            client.terminate()
        output, _ = await client.communicate()
    assert attacking.cancelled(), attacking.exception()
    assert with_errors is None, "the webhook client has ended early"
    counts.update(attackers.counts)
    counts.update(json.loads(output))


def peak_mib(pid: int) -> int:
    """Return the most memory that a process has had."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(re.findall(r"VmHWM:\s+(\d+) kB", status)[0]) // 1024


def total(counts: Counter[str], word: str) -> int:
    return sum(count for name, count in counts.items() if name.startswith(word))


async def attack(
    env: Environment,
    replicas: Replicas,
    kubectl: Callable[..., str],
    tmp_path: Path,
    *,
    rows: int,
) -> list[float]:
    """Attack the operator while rows of another hub are inserted, one per second.

    The process that was attacked keeps the lease, stays below the limit of the manifests, and ends
    when it is asked to. Return the seconds of each row.
    """
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
    attackers = Attackers(env, kubectl, tmp_path, seconds=0.9 * rows)
    async with attacked(attackers, port) as counts:
        durations = await durations_to_ready(env, rows=rows)
    print(dict(counts))  # noqa: T201
    assert total(counts, "row") >= len(VALUES)
    for word in ("form", "answer", "connection"):
        assert total(counts, word) >= rows / 4, word
    peak = peak_mib(replica.pid)
    print(f"peak of the memory: {peak} MiB")  # noqa: T201
    assert peak < MEMORY_LIMIT_MIB
    await assert_lease_was_kept(env, replica)
    await replica.stop()
    return durations


@pytest.mark.timing
async def test_attackers_stop_neither_the_operator_nor_another_hub(
    env: Environment, replicas: Replicas, kubectl: Callable[..., str], tmp_path: Path
) -> None:
    """Each attack is tried once; `long_attackers.py` takes a minute, and counts the seconds."""
    await attack(env, replicas, kubectl, tmp_path, rows=12)
