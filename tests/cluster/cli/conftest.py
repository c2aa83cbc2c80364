"""Runs `lynq` commands in the test process, against the shared cluster."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from structlog.testing import capture_logs

from lynq.cli.root import lynq as root
from lynq.kube import Client
from operated.environment import Environment

Lynq = Callable[..., Coroutine[Any, Any, Result]]
"""Runs a command with its arguments; the result has `stdout`, `stderr` and `exit_code`."""


@pytest.fixture(autouse=True)
def without_logs() -> Iterator[None]:
    """Keep the logs of controllers in the same process out of the output of commands."""
    with capture_logs():
        yield


@pytest.fixture
def env(client: Client, namespace: str, crds: None, tmp_path: Path) -> Environment:  # noqa: ARG001
    return Environment(client, namespace, tmp_path)


@pytest.fixture
def run_lynq(kubeconfig: Path, namespace: str) -> Lynq:
    """Run `lynq` as admin in the namespace of the test."""

    async def run(*arguments: str) -> Result:
        where = ("--kubeconfig", str(kubeconfig), "--namespace", namespace)
        # A thread, because a command runs an event loop of its own.
        return await asyncio.to_thread(CliRunner().invoke, root, [*arguments, *where])

    return run
