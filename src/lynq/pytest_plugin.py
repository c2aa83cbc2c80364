"""A plugin for pytest: forms and a cluster as fixtures.

pytest imports this module at every start, so it imports the rest of Lynq in the fixtures only.
"""

from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lynq.testing.cluster import OperatedCluster
    from lynq.testing.form import FormUnderTest

LoadForm: TypeAlias = "Callable[..., FormUnderTest]"
"""Loads the form of a file, `lynq_form("web.yaml", hub="hub.yaml")`."""


@pytest.fixture
def lynq_form(request: pytest.FixtureRequest) -> LoadForm:
    """Load a form: `lynq_form("web.yaml").render(uid="acme")["web"].spec.replicas`.

    Paths are relative to the folder of the test.
    """
    from lynq.testing.form import FormUnderTest  # noqa: PLC0415 - slow to import

    folder = request.path.parent

    def load(path: str | Path, hub: str | Path | None = None) -> FormUnderTest:
        return FormUnderTest.load(folder / path, folder / hub if hub else None)

    return load


@pytest.fixture(scope="session")
def lynq_cluster(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[OperatedCluster]":
    """Start a cluster with a real API server and an operator, once per session.

    Needs neither containers nor root. The first start on a machine builds the control plane.
    """
    from lynq.testing.cluster import OperatedCluster  # noqa: PLC0415 - slow to import

    cluster = OperatedCluster.start(tmp_path_factory.mktemp("lynq"))
    yield cluster
    cluster.stop()
