"""`make dist`: a wheel that comes out the same every time, and the bill of what it is made of."""

import hashlib
import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from deploy.manifests import ROOT


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist") / "new"
    command = [ROOT / "scripts" / "dist", Path(sys.executable).parent, folder]
    # Builds the wheel twice, and fails if the two differ.
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return folder


def test_wheel_contains_operator_and_local_cluster(dist: Path) -> None:
    (wheel,) = dist.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {"lynq/cli/run.py", "lynq/py.typed", "lynq/cluster/controlplane/main.go"} <= names
    assert not [name for name in names if "__pycache__" in name]


def test_sbom_lists_wheel_and_runtime_dependencies(dist: Path) -> None:
    (wheel,) = dist.glob("*.whl")
    bill = json.loads((dist / "sbom.cdx.json").read_text())
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.5")
    (known,) = bill["metadata"]["component"]["hashes"]
    assert known["content"] == hashlib.sha256(wheel.read_bytes()).hexdigest()
    parts = {component["name"] for component in bill["components"]}
    assert {"aiohttp", "msgspec", "asyncpg", "mysql-replication", "uvloop"} <= parts
    # Tools are no part of what runs.
    assert not {"ruff", "mypy", "pytest", "hypothesis"} & parts
    assert all(component["purl"].startswith("pkg:pypi/") for component in bill["components"])
    assert all(component.get("licenses") for component in bill["components"])


def test_image_requirements_match_sbom(dist: Path) -> None:
    bill = json.loads((dist / "sbom.cdx.json").read_text())
    listed = (ROOT / "deploy" / "requirements.txt").read_text()
    assert all(
        f"{component['name']}=={component['version']}" in listed for component in bill["components"]
    )
    assert listed.count("==") >= len(bill["components"])


def test_generated_files_are_up_to_date() -> None:
    check = [sys.executable, str(ROOT / "tools" / "manifests.py"), "--check"]
    result = subprocess.run(check, capture_output=True, text=True, check=False)
    assert result.stderr == ""
    assert result.returncode == 0
