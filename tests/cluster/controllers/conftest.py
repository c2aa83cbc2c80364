"""The stage that hub and form controllers are tested on."""

from pathlib import Path

import pytest

from cluster.controllers.stage import Stage
from lynq.kube import Client


@pytest.fixture
def stage(client: Client, namespace: str, crds: None, tmp_path: Path) -> Stage:  # noqa: ARG001
    return Stage(client, namespace, tmp_path)
