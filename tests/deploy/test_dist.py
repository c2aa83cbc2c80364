"""`make dist`: a reproducible wheel and its SBOM."""

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
    # Builds the wheel twice and fails if the results differ.
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
    sbom = json.loads((dist / "sbom.cdx.json").read_text())
    assert (sbom["bomFormat"], sbom["specVersion"]) == ("CycloneDX", "1.5")
    (digest,) = sbom["metadata"]["component"]["hashes"]
    assert digest["content"] == hashlib.sha256(wheel.read_bytes()).hexdigest()
    names = {component["name"] for component in sbom["components"]}
    assert {"aiohttp", "msgspec", "asyncpg", "mysql-replication", "uvloop"} <= names
    # Development tools are not runtime dependencies.
    assert not {"ruff", "mypy", "pytest", "hypothesis"} & names
    assert all(component["purl"].startswith("pkg:pypi/") for component in sbom["components"])
    assert all(component.get("licenses") for component in sbom["components"])


def test_image_requirements_match_sbom(dist: Path) -> None:
    sbom = json.loads((dist / "sbom.cdx.json").read_text())
    listed = (ROOT / "deploy" / "requirements.txt").read_text()
    assert all(
        f"{component['name']}=={component['version']}" in listed for component in sbom["components"]
    )
    assert listed.count("==") >= len(sbom["components"])


def test_generated_files_are_up_to_date() -> None:
    check = [sys.executable, str(ROOT / "tools" / "manifests.py"), "--check"]
    result = subprocess.run(check, capture_output=True, text=True, check=False)
    assert result.stderr == ""
    assert result.returncode == 0
