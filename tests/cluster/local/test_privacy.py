"""A local cluster answers its admin only: other users of the machine reach nothing behind it."""

import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from lynq.cluster import LocalCluster
from lynq.cluster.layout import Layout
from lynq.cluster.local import kubectl
from waiting import eventually

NOBODY = 65534
CONNECT = """
import os, socket, sys
os.chdir(sys.argv[1])
os.setgroups([]), os.setgid({uid}), os.setuid({uid})
for name in ("run/etcd:2379", "run/etcd:2380"):
    with socket.socket(socket.AF_UNIX) as client:
        try:
            client.connect(name)
        except PermissionError:
            print("denied", name)
for name in ("logs/audit.log", "kubeconfig", "etcd/member", "pki/admin.key"):
    try:
        os.close(os.open(name, os.O_RDONLY))
    except PermissionError:
        print("denied", name)
"""
AUDIT = "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata}]\n"


def ports_of(cluster: LocalCluster) -> dict[int, str]:
    """Return the TCP ports on which components listen."""
    listening = {
        fields[9]: int(fields[1].rpartition(":")[2], 16)
        for table in ("tcp", "tcp6")
        for fields in map(str.split, Path("/proc/net", table).read_text().splitlines()[1:])
        if fields[3] == "0A"
    }
    return {
        listening[inode]: name
        for name, pid in cluster.record.components.items()
        for file in Path(f"/proc/{pid}/fd").iterdir()
        if (inode := _socket(file)) in listening
    }


def _socket(file: Path) -> str:
    try:
        return str(file.readlink()).removeprefix("socket:[").removesuffix("]")
    except FileNotFoundError:
        return ""


def test_only_the_api_server_listens_on_a_port(cluster: LocalCluster) -> None:
    assert ports_of(cluster) == {cluster.record.ports.apiserver: "kube-apiserver"}


@pytest.fixture
def shared_folder(clusters: Path, tmp_path: Path) -> Iterator[Path]:
    """The data directory of a running cluster; other users may enter it."""
    # A socket's path has at most 108 bytes.
    folder = tmp_path / ("a-long-name-" * 10)
    folder.mkdir(mode=0o755)
    cluster = LocalCluster("shared-folder", clusters)
    cluster.up(directory=folder, owned=True, audit_policy=AUDIT)
    yield folder
    cluster.down()


def test_other_users_cannot_reach_etcd_keys_and_logs(shared_folder: Path) -> None:
    layout = Layout(shared_folder)
    assert "default" in kubectl(layout.kubeconfig, "get", "namespaces").stdout
    for folder in (layout.run, layout.logs, layout.pki, layout.etcd):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700, folder
    assert layout.audit_log.exists()
    if os.geteuid():
        pytest.skip("becoming another user needs root; the modes are checked above")
    code = CONNECT.format(uid=NOBODY)
    result = subprocess.run(
        [sys.executable, "-c", code, str(shared_folder)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert len(result.stdout.splitlines()) == 6, result.stdout


@pytest.mark.timing
async def test_killed_etcd_takes_its_socket_back(own_cluster: LocalCluster) -> None:
    killed = own_cluster.pid("etcd")
    os.kill(killed, signal.SIGKILL)
    await eventually(lambda: own_cluster.pid("etcd") != killed)

    def created() -> bool:
        return "created" in kubectl(own_cluster.kubeconfig, "create", "ns", "after").stdout

    await eventually(created, within=30)
