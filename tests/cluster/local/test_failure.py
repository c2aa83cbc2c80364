"""A cluster that cannot start reports why, and is cleaned up."""

from pathlib import Path

import pytest

from lynq.cluster import ClusterError, LocalCluster

BROKEN = """#!/bin/sh
echo "$1: no such disk" >&2
exit 1
"""


def test_failed_start_reports_the_tail_of_every_log(
    clusters: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    binary = tmp_path / "controlplane"
    binary.write_text(BROKEN)
    binary.chmod(0o755)
    monkeypatch.setattr("lynq.cluster.local.controlplane_binary", lambda: binary)
    cluster = LocalCluster("broken", clusters)

    with pytest.raises(ClusterError, match="exits immediately after its start") as error:
        cluster.up(owned=True)

    assert "etcd: etcd: no such disk" in str(error.value)
    assert "kube-apiserver: kube-apiserver: no such disk" in str(error.value)
    assert not cluster.exists
