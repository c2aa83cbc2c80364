"""One cluster and one operator per file of tests, shared by its pages."""

import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from docs.blocks import ROOT
from docs.operator_process import OperatorProcess
from docs.playground import reader_environment, rows_prefix, run_page
from docs.terminal import Terminal
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


@pytest.fixture(scope="module")
def docs_rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that the pages of a file see as /tmp/lynq; every page begins with an empty one."""
    return tmp_path_factory.mktemp("rows")


@pytest.fixture(scope="module")
def docs_operator(
    docs_cluster: LocalCluster, docs_rows: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[OperatorProcess]:
    """The operator of the pages of a file."""
    folder = tmp_path_factory.mktemp("operator")
    environment = reader_environment(folder, docs_cluster)
    operator = OperatorProcess(Terminal(folder, environment, rows_prefix(docs_rows)))
    yield operator
    operator.stop()


@pytest.fixture
def run(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[Path], None]:
    """Run the blocks of a page."""
    return lambda page: run_page(page, request, tmp_path)
