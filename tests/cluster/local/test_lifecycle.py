"""The lifecycle of a local cluster, from start to cleanup."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from lynq.cluster import ClusterError, LocalCluster
from lynq.cluster.local import kubectl
from waiting import eventually

OWNER = """
import signal, sys
from pathlib import Path
from lynq.cluster import LocalCluster
LocalCluster("owned", Path(sys.argv[1])).up(owned=True)
print("up", flush=True)
signal.pause()
"""


def processes_of(folder: Path) -> list[str]:
    """Return the command lines of processes that contain a directory."""
    lines = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue
        if str(folder) in line and path.parent.name != str(os.getpid()):
            lines.append(line)
    return lines


async def test_down_deletes_processes_and_files(own_cluster: LocalCluster) -> None:
    folder = own_cluster.layout.directory
    assert len(processes_of(folder)) == 6
    own_cluster.down()
    assert not processes_of(folder)
    assert not folder.exists()
    with pytest.raises(ClusterError, match="not found"):
        own_cluster.down()


@pytest.mark.timing
async def test_killed_supervisor_leaves_no_processes(own_cluster: LocalCluster) -> None:
    folder = own_cluster.layout.directory
    os.kill(own_cluster.record.supervisor, signal.SIGKILL)
    await eventually(lambda: not processes_of(folder), within=15)
    assert own_cluster.exists
    assert not own_cluster.alive


@pytest.mark.timing
async def test_killed_owner_leaves_no_processes_and_files(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", OWNER, str(tmp_path)], stdout=subprocess.PIPE
    ) as owner:
        assert owner.stdout
        assert owner.stdout.readline() == b"up\n"
        folder = tmp_path / "owned"
        assert len(processes_of(folder)) == 6
        owner.kill()
    await eventually(lambda: not processes_of(folder) and not folder.exists(), within=15)


@pytest.mark.timing
async def test_killed_component_is_restarted(own_cluster: LocalCluster) -> None:
    first = own_cluster.pid("kube-scheduler")
    os.kill(first, signal.SIGKILL)
    await eventually(lambda: own_cluster.pid("kube-scheduler") != first)


def test_second_start_is_rejected(cluster: LocalCluster) -> None:
    with pytest.raises(ClusterError, match="already running"):
        cluster.up()


def test_data_directory_is_reused(clusters: Path, tmp_path: Path) -> None:
    cluster = LocalCluster("resumed", clusters)
    tmp_path /= 'a "folder", with é'
    cluster.up(directory=tmp_path, owned=True)
    created = kubectl(cluster.kubeconfig, "create", "configmap", "kept").stdout
    assert "created" in created
    port = cluster.record.ports.apiserver
    cluster.down()
    assert not processes_of(tmp_path)

    cluster.up(directory=tmp_path, owned=True)
    try:
        assert cluster.record.ports.apiserver == port
        assert "kept" in kubectl(cluster.kubeconfig, "get", "configmap", "kept").stdout
    finally:
        cluster.down()
    assert (tmp_path / "etcd").is_dir()


@pytest.mark.parametrize("name", ["", "Upper", "../escape", "-dash", "a" * 64])
def test_cluster_name_must_be_valid(clusters: Path, name: str) -> None:
    with pytest.raises(ClusterError, match="not a valid cluster name"):
        LocalCluster(name, clusters).up()
