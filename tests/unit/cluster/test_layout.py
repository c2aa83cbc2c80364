"""The directory of a cluster: lock, record and ports."""

import fcntl
import socket
import threading
from pathlib import Path

import pytest

from lynq.cluster import ClusterError
from lynq.cluster.layout import ClusterPhase, ClusterRecord, Layout, Ports, are_free, choose_ports


def test_record_round_trip(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    assert layout.read() is None
    record = ClusterRecord(1, Ports(3), ClusterPhase.READY, components={"etcd": 4})
    layout.write(record)
    assert layout.read() == record


def test_ports_of_etcd_in_a_former_record_are_ignored(tmp_path: Path) -> None:
    former = b'{"supervisor":1,"ports":{"etcd":1,"etcd_peer":2,"apiserver":3},"phase":"ready"}'
    (tmp_path / "record.json").write_bytes(former)
    record = Layout(tmp_path).read()
    assert record
    assert record.ports == Ports(3)


def test_cluster_lock_is_exclusive(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    with layout.hold():
        assert layout.alive
        with pytest.raises(ClusterError, match="already running"), layout.hold():
            pass
    assert not Layout(tmp_path).alive


def test_missing_directory_is_not_alive(tmp_path: Path) -> None:
    assert not Layout(tmp_path / "gone").alive


def test_chosen_port_is_free() -> None:
    ports = choose_ports()
    assert are_free(ports)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", ports.apiserver))
        taken.listen()
        assert not are_free(ports)


def test_ports_are_not_ephemeral() -> None:
    """A client that retries could occupy the port of a stopped server."""
    for _ in range(20):
        assert choose_ports().apiserver < 30000


def test_liveness_check_does_not_block_the_lock(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    with layout.hold():
        pass
    with (tmp_path / "lock").open() as looking:
        fcntl.flock(looking, fcntl.LOCK_SH)
        assert not layout.alive
        threading.Timer(0.1, lambda: fcntl.flock(looking, fcntl.LOCK_UN)).start()
        with layout.hold():
            assert layout.alive
