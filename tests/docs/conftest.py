"""One cluster per file of tests, shared by its pages."""

import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from docs.blocks import ROOT
from docs.playground import run_page
from lynq.cluster import LocalCluster


@pytest.fixture(scope="module")
def docs_cluster(clusters: Path) -> Iterator[LocalCluster]:
    """A cluster that has nothing but the CRDs."""
    cluster = LocalCluster(f"docs-{uuid.uuid4().hex[:8]}", clusters)
    cluster.up(owned=True)
    install = [sys.executable, "-m", "lynq", "install", f"--kubeconfig={cluster.kubeconfig}"]
    subprocess.run(install, check=True, capture_output=True, cwd=ROOT / "src")
    yield cluster
    cluster.down()


@pytest.fixture
def run(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[Path], None]:
    """Run the blocks of a page."""
    return lambda page: run_page(page, request, tmp_path)
