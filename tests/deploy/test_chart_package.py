"""`make chart`: a reproducible package, an OCI archive and an index."""

import hashlib
import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
import yaml

from deploy.manifests import CHART, ROOT, VERSION, rendered


def packaged(folder: Path) -> Path:
    command = [sys.executable, str(ROOT / "tools" / "chart.py"), str(folder)]
    environment = {**os.environ, "SOURCE_DATE_EPOCH": "1700000000"}
    subprocess.run(command, capture_output=True, check=True, env=environment)
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return packaged(tmp_path_factory.mktemp("chart"))


def test_two_packages_are_identical(folder: Path, tmp_path: Path) -> None:
    again = packaged(tmp_path)
    assert {path.name for path in folder.iterdir()} == {path.name for path in again.iterdir()}
    for path in folder.iterdir():
        assert path.read_bytes() == (again / path.name).read_bytes(), path.name


def test_helm_renders_the_package_like_the_folder(folder: Path) -> None:
    assert rendered(path=folder / f"lynq-{VERSION}.tgz") == rendered(path=CHART)


def test_index_has_the_digest_of_the_package(folder: Path) -> None:
    index = yaml.safe_load((folder / "index.yaml").read_text())
    (entry,) = index["entries"]["lynq"]
    assert (entry["version"], entry["urls"]) == (VERSION, [f"lynq-{VERSION}.tgz"])
    content = (folder / entry["urls"][0]).read_bytes()
    assert entry["digest"] == hashlib.sha256(content).hexdigest()
    # No image is published, and another one must not be scanned in its place.
    assert "artifacthub.io/images" not in entry["annotations"]


def test_oci_archive_has_the_chart_with_the_media_types_of_helm(folder: Path) -> None:
    with tarfile.open(folder / f"lynq-chart-{VERSION}.oci.tar") as archive:
        files = {
            member.name: file.read()
            for member in archive
            if (file := archive.extractfile(member)) is not None
        }
    for name, content in files.items():
        if name.startswith("blobs/"):
            assert name == f"blobs/sha256/{hashlib.sha256(content).hexdigest()}"
    (descriptor,) = json.loads(files["index.json"])["manifests"]
    assert descriptor["annotations"]["org.opencontainers.image.ref.name"] == VERSION
    manifest = json.loads(files["blobs/" + descriptor["digest"].replace(":", "/")])
    assert manifest["config"]["mediaType"] == "application/vnd.cncf.helm.config.v1+json"
    (layer,) = manifest["layers"]
    assert layer["mediaType"] == "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
    package = (folder / f"lynq-{VERSION}.tgz").read_bytes()
    assert layer["size"] == len(package)
    assert files["blobs/" + layer["digest"].replace(":", "/")] == package
