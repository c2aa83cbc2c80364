"""The `lynq` command as a process: output and exit codes."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from lynq.cli.exit_codes import ExitCode
from lynq.cluster import LocalCluster
from lynq.cluster.layout import Layout

Lynq = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def lynq(tmp_path: Path) -> Lynq:
    """Run `lynq` with its own home and the cache of the machine."""
    home = {"HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "state")}
    cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    kept = {key: value for key, value in os.environ.items() if key != "KUBECONFIG"}
    environment = {**kept, **home, "XDG_CACHE_HOME": cache}

    def run(*arguments: str, **extra: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [sys.executable, "-m", "lynq", *arguments],
            env={**environment, **extra},
            capture_output=True,
            text=True,
            check=False,
        )

    return run


def test_lifecycle_of_a_cluster(lynq: Lynq) -> None:
    assert "No clusters found" in lynq("cluster", "status").stdout
    up = lynq("cluster", "up", "--name", "mine")
    assert up.returncode == 0, up.stderr
    assert "export KUBECONFIG=" in up.stdout
    try:
        status = lynq("cluster", "status").stdout
        assert "mine" in status
        assert "ready" in status
        kubeconfig = lynq("cluster", "kubeconfig", "--name", "mine").stdout.strip()
        assert Path(kubeconfig).stat().st_mode & 0o077 == 0
        nodes = lynq("cluster", "kubectl", "--name", "mine", "get", "nodes", "-o", "name")
        assert nodes.stdout.split() == ["node/node-1", "node/node-2"]
        # A --name behind the command of kubectl is an option of kubectl.
        expose = (
            "expose",
            "service",
            "kubernetes",
            "--name=other",
            "--selector=a=b",
            "--dry-run=client",
        )
        exposed = lynq("cluster", "kubectl", "--name", "mine", *expose)
        assert "is not running" not in exposed.stderr
        assert "service/other" in exposed.stdout
        again = lynq("cluster", "up", "--name", "mine")
        assert again.returncode == ExitCode.ERROR
        assert "already running" in again.stderr
    finally:
        down = lynq("cluster", "down", "--name", "mine")
    assert down.returncode == 0, down.stderr
    assert "No clusters found" in lynq("cluster", "status").stdout


def test_cluster_without_a_record_is_starting(lynq: Lynq, tmp_path: Path) -> None:
    folder = tmp_path / "state" / "lynq" / "clusters" / "new"
    folder.mkdir(parents=True)
    with Layout(folder).hold():
        status = lynq("cluster", "status")
    assert status.returncode == 0, status.stderr
    assert status.stdout.splitlines()[1].split() == ["new", "starting"]


@pytest.mark.parametrize("command", ["down", "kubeconfig", "kubectl"])
@pytest.mark.parametrize("name", ["", "../up", "/"])
def test_invalid_name_is_rejected(lynq: Lynq, command: str, name: str) -> None:
    result = lynq("cluster", command, "--name", name)
    assert result.returncode == ExitCode.ERROR
    assert "not a valid cluster name" in result.stderr


@pytest.mark.parametrize("command", ["down", "kubeconfig"])
def test_missing_cluster_is_reported(lynq: Lynq, command: str) -> None:
    result = lynq("cluster", command, "--name", "absent")
    assert result.returncode == ExitCode.ERROR
    assert "cluster 'absent'" in result.stderr
    assert "Traceback" not in result.stderr


def test_install_creates_crds_once(lynq: Lynq, own_cluster: LocalCluster) -> None:
    kubeconfig = str(own_cluster.kubeconfig)
    dry = lynq("install", "--dry-run", "--kubeconfig", kubeconfig)
    assert dry.stdout.count("created (dry run)") == 3, dry.stderr
    first = lynq("install", "--kubeconfig", kubeconfig)
    assert first.returncode == 0, first.stderr
    assert first.stdout.splitlines() == [
        "lynqhubs.operator.lynq.sh created",
        "lynqforms.operator.lynq.sh created",
        "lynqnodes.operator.lynq.sh created",
    ]
    again = lynq("install", KUBECONFIG=kubeconfig)
    assert again.stdout.count("unchanged") == 3


def test_install_without_a_kubeconfig_is_an_error_with_a_hint(lynq: Lynq) -> None:
    result = lynq("install")
    assert result.returncode == ExitCode.ERROR
    assert "kubeconfig" in result.stderr.lower()
    assert "Traceback" not in result.stderr


def test_install_with_an_unknown_context_names_it(lynq: Lynq, kubeconfig: Path) -> None:
    result = lynq("install", "--kubeconfig", str(kubeconfig), "--context", "elsewhere")
    assert result.returncode == ExitCode.ERROR
    assert "elsewhere" in result.stderr
    assert "Traceback" not in result.stderr
