"""The `env` fixture of controller tests."""

from pathlib import Path

import pytest

from cluster.controllers.environment import Environment
from lynq.kube import Client


@pytest.fixture
def env(client: Client, namespace: str, crds: None, tmp_path: Path) -> Environment:  # noqa: ARG001
    return Environment(client, namespace, tmp_path)
