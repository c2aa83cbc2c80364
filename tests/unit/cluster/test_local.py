"""Names, directories and failing starts, with a control plane that only waits."""

import os
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from lynq.cluster import ClusterError, LocalCluster, all_clusters

WAITING = """#!/bin/sh
exec sleep 60
"""


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory of clusters, with a control plane that never responds."""
    binary = tmp_path / "controlplane"
    binary.write_text(WAITING)
    binary.chmod(0o755)
    monkeypatch.setattr("lynq.cluster.local.controlplane_binary", lambda: binary)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "lynq" / "clusters"


def supervisors(root: Path) -> list[str]:
    parents = {}
    for process in Path("/proc").glob("[0-9]*"):
        # The process can end in between.
        with suppress(OSError):
            command = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            if f"supervisor {root}" in command:
                parents[process.name] = (process / "stat").read_text().rsplit(")")[-1].split()[1]
    # A child has the command line of its parent until it runs a program of its own.
    return [process for process, parent in parents.items() if parent not in parents]


@pytest.mark.parametrize("name", ["", "..", ".", "a/b", "Upper"])
def test_invalid_cluster_name_is_rejected(root: Path, name: str) -> None:
    precious = root / "precious"
    precious.mkdir(parents=True)
    for target in (name, str(precious)):
        with pytest.raises(ClusterError, match="not a valid cluster name"):
            LocalCluster(target).down()
    assert precious.is_dir()


def test_other_entries_are_not_listed(root: Path) -> None:
    (root / "one").mkdir(parents=True)
    (root / "file").write_text("")
    (root / ".hidden").mkdir()
    assert [cluster.name for cluster in all_clusters()] == ["one"]


def test_liveness_check_creates_no_files(root: Path) -> None:
    (root / "one").mkdir(parents=True)
    assert not LocalCluster("one").alive
    assert not list((root / "one").iterdir())


@pytest.mark.usefixtures("root")
@pytest.mark.parametrize("chosen", [None, "data"])
def test_interrupted_start_is_cleaned_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chosen: str | None
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    # Ctrl-C before the new supervisor has written a record.
    monkeypatch.setattr("lynq.cluster.local.time.sleep", interrupt)
    with pytest.raises(KeyboardInterrupt):
        LocalCluster("one").up(directory=tmp_path / chosen if chosen else None)
    assert not supervisors(tmp_path)
    assert not LocalCluster("one").exists


def test_one_of_two_concurrent_starts_is_rejected(root: Path, tmp_path: Path) -> None:
    refused: list[str] = []

    def up() -> None:
        try:
            LocalCluster("one").up()
        except ClusterError as error:
            refused.append(str(error))

    starts = [threading.Thread(target=up) for _ in range(2)]
    for thread in starts:
        thread.start()
    try:
        while not refused:
            starts[0].join(0.05)
        assert "already running" in refused[0]
        assert len(supervisors(root)) == 1
    finally:
        LocalCluster("one").down()
        for thread in starts:
            thread.join()
    assert not supervisors(tmp_path)
    assert "did not start" in refused[1]


def test_data_directory_with_other_content_is_rejected(root: Path, tmp_path: Path) -> None:
    precious = tmp_path / "home"
    precious.mkdir()
    (precious / "kubeconfig").write_text("precious")
    with pytest.raises(ClusterError, match="is not empty"):
        LocalCluster("one").up(directory=precious)
    assert (precious / "kubeconfig").read_text() == "precious"
    assert not (root / "one").exists()


@pytest.mark.usefixtures("root")
def test_data_directory_that_cannot_be_created_is_an_error() -> None:
    with pytest.raises(ClusterError, match=r"/proc/none: "):
        LocalCluster("one").up(directory=Path("/proc/none"))


def test_working_directory_does_not_shadow_modules(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "yaml.py").write_text("raise SystemExit('not this one')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("lynq.cluster.local.START_SECONDS", 3.0)
    with pytest.raises(ClusterError) as caught:
        LocalCluster("one").up()
    assert "not this one" not in str(caught.value)
    assert os.listdir(root) == []  # noqa: PTH208 - reads best
