"""The control plane is built once per version of its source."""

import shutil
import stat
from pathlib import Path

import pytest

from lynq.cluster import ClusterError, build
from lynq.cluster.layout import controlplane_source


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


def command(folder: Path, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "go"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def test_digest_depends_on_the_source(tmp_path: Path) -> None:
    copy = Path(shutil.copytree(controlplane_source(), tmp_path / "copy"))
    before = build.controlplane(copy).digest
    assert before == build.controlplane().digest
    (copy / "main.go").write_text("package main // changed")
    assert build.controlplane(copy).digest != before


def test_recent_go_on_the_path_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    go = command(tmp_path / "new", "echo go version go1.26.0 linux/amd64")
    monkeypatch.setenv("PATH", str(go.parent))
    assert build.find_go() == go


@pytest.mark.parametrize("answer", ["echo go version go1.25.9 linux/amd64", "exit 1", "echo odd"])
def test_old_or_broken_go_is_ignored(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch, answer: str
) -> None:
    monkeypatch.setenv("PATH", f"{command(tmp_path / 'old', answer).parent}:/usr/bin:/bin")
    monkeypatch.setattr(build, "_pip_install", lambda _, target: target.mkdir(parents=True))
    assert build.find_go().is_relative_to(cache / "lynq" / "go")


def test_failed_build_reports_its_last_lines_and_cleans_up(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = 'case "$1" in version) echo go1.26.0;; *) echo "main.go:1: broken" >&2; exit 1;; esac'
    monkeypatch.setenv("PATH", f"{command(tmp_path / 'bad', script).parent}:/usr/bin:/bin")
    with pytest.raises(ClusterError, match=r"main\.go:1: broken"):
        build.controlplane_binary()
    assert not list(cache.rglob("controlplane.*"))
