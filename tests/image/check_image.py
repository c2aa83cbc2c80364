"""The image of `make image`: the operator runs from inside it, as in a pod.

`make image-test` runs these tests. They unpack the archive and start its programs with chroot: as
user 65532 of the image, with its environment, on a read-only root file system with a writable /tmp.
"""

import json
import os
import re
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from deploy.manifests import ROOT, VERSION, image, loaded, manager
from image import LIMIT, ImageArchive
from waiting import eventually

USER = 65532

# Each step replaces the shell by the next program, so that a signal reaches the operator.
IN_IMAGE = """
set -eu
mount --bind "$ROOT" "$ROOT"
mount --rbind /dev "$ROOT/dev"
mount -t proc proc "$ROOT/proc"
mount --bind "$FOLDER" "$ROOT/tmp"
mount -o remount,bind,ro "$ROOT"
exec chroot --userspec="$USER" --groups= "$ROOT" /usr/bin/env -i "$@"
"""

HUB = """\
apiVersion: operator.lynq.sh/v1
kind: LynqHub
metadata:
  name: shop
spec:
  source:
    type: sqlite
    changes: Push
    syncInterval: 30s
    sqlite: {path: shop.db, table: tenants}
  valueMappings: {uid: id, activate: active}
---
apiVersion: operator.lynq.sh/v1
kind: LynqForm
metadata:
  name: shop
spec:
  hubId: shop
  configMaps:
  - id: settings
    nameTemplate: "{{ .uid }}-settings"
    spec:
      apiVersion: v1
      kind: ConfigMap
      data:
        tenant: "{{ .uid }}"
"""


@dataclass(frozen=True, slots=True)
class Container:
    """The unpacked image and a folder that is its /tmp."""

    archive: ImageArchive
    root: Path
    folder: Path

    def command(self, *arguments: str) -> list[str]:
        environment = self.archive.config["Env"]
        return ["unshare", "--mount", "sh", "-c", IN_IMAGE, "sh", *environment, *arguments]

    @property
    def environment(self) -> dict[str, str]:
        user = self.archive.config["User"]
        paths = {"ROOT": str(self.root), "FOLDER": str(self.folder), "USER": user}
        return {**os.environ, **paths}

    def run(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            self.command(*arguments),
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )


@pytest.fixture(scope="module")
def archive() -> ImageArchive:
    path = ROOT / "dist" / f"lynq-{VERSION}.oci.tar"
    if not path.exists():
        pytest.fail(f"{path} does not exist: run `make image`")
    return ImageArchive(path)


@pytest.fixture(scope="module")
def container(
    archive: ImageArchive, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Container]:
    if os.geteuid() != 0:
        pytest.fail("chroot requires root: run `sudo make image-test`")
    root, folder = tmp_path_factory.mktemp("root"), tmp_path_factory.mktemp("tmp")
    archive.unpack(root)
    # pytest makes folders for its own user only.
    root.chmod(0o755)
    os.chown(folder, USER, USER)
    yield Container(archive, root, folder)
    subprocess.run(["rm", "-rf", root], check=True)


def test_image_has_our_name_and_is_small(archive: ImageArchive) -> None:
    assert archive.name == image()
    assert archive.size < LIMIT
    assert archive.config["User"] == f"{USER}:{USER}"
    assert archive.config["Entrypoint"] == ["/manager"]
    assert archive.config["Labels"]["org.opencontainers.image.version"] == VERSION


def test_image_has_neither_caches_nor_settings_of_the_build_machine(container: Container) -> None:
    for path in ("etc/resolv.conf", "etc/hostname", "etc/pip.conf", "root/.config", "wheelhouse"):
        assert not (container.root / path).exists(), path
    assert not list((container.root / "var/lib/apt").rglob("*Packages*"))
    assert not list((container.root / "opt/lynq").rglob("pip"))
    # Python compiles a module without bytecode at every start.
    for source in (container.root / "opt/lynq/lib").rglob("lynq/**/*.py"):
        assert list((source.parent / "__pycache__").glob(f"{source.stem}.*.pyc")), source


def test_sbom_lists_python_and_debian_packages(container: Container) -> None:
    sbom = json.loads((container.root / "usr/share/sbom/lynq.cdx.json").read_text())
    names = {component["purl"].partition("@")[0] for component in sbom["components"]}
    assert {"pkg:pypi/aiohttp", "pkg:deb/debian/python3.11-minimal"} <= names


def test_manager_prints_version_on_a_read_only_root(container: Container) -> None:
    result = container.run("/manager", "--version")
    assert result.stdout == f"lynq, version {VERSION}\n", result.stderr
    assert container.run("id", "-u").stdout == f"{USER}\n"
    assert "Read-only file system" in container.run("touch", "/opt/lynq/written").stderr


@pytest.fixture
def account(container: Container, kubeconfig: Path) -> str:
    """The path of the kubeconfig inside the image."""
    copy = container.folder / "kubeconfig"
    copy.write_bytes(kubeconfig.read_bytes())
    os.chown(copy, USER, USER)
    return "/tmp/kubeconfig"


def rows(path: Path) -> None:
    with sqlite3.connect(path) as database:
        database.execute("create table tenants (id text primary key, active integer)")
        database.execute("insert into tenants values ('acme', 1)")
    database.close()
    os.chown(path, USER, USER)


def operator_arguments(account: str, namespace: str) -> list[str]:
    """Return the arguments of install.yaml, without ports, for one namespace."""
    installed = manager(loaded("install.yaml"))["args"]
    return [
        *(argument for argument in installed if not re.search("bind|cert", argument)),
        f"--kubeconfig={account}",
        f"--leader-election-namespace={namespace}",
        f"--installation-key-namespace={namespace}",
        f"--watch-namespaces={namespace}",
        "--metrics-bind-address=0",
        "--health-probe-bind-address=0",
        "--enable-webhooks=false",
        "--sqlite-dir=/tmp",
    ]


async def test_operator_in_the_image_makes_a_row_ready(
    container: Container,
    account: str,
    namespace: str,
    kubectl: Callable[..., str],
    tmp_path: Path,
) -> None:
    installed = container.run(f"KUBECONFIG={account}", "lynq", "install")
    assert installed.returncode == 0, installed.stderr
    (tmp_path / "hub.yaml").write_text(HUB)
    rows(container.folder / "shop.db")
    arguments = operator_arguments(account, namespace)
    log = tmp_path / "log"
    with log.open("wb") as out:
        command = container.command(*manager(loaded("install.yaml"))["command"], *arguments)
        process = subprocess.Popen(command, env=container.environment, stdout=out, stderr=out)
    try:
        kubectl("apply", "-n", namespace, "-f", str(tmp_path / "hub.yaml"))

        def ready() -> bool:
            assert process.poll() is None, log.read_text()
            nodes = json.loads(kubectl("get", "lynqnodes", "-n", namespace, "-o", "json"))["items"]
            conditions = [
                condition["status"]
                for node in nodes
                for condition in node.get("status", {}).get("conditions", [])
                if condition["type"] == "Ready"
            ]
            return conditions == ["True"]

        await eventually(ready, within=60, every=0.5)
        settings = kubectl("get", "configmap", "acme-settings", "-n", namespace, "-o", "json")
        assert json.loads(settings)["data"] == {"tenant": "acme"}
    finally:
        process.terminate()
        code = process.wait(20)
    assert code == 0, log.read_text()
