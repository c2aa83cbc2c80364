"""Builds the control plane binary once per machine and content of its sources."""

import fcntl
import hashlib
import os
import platform
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lynq.cluster.errors import ClusterError
from lynq.cluster.places import cache_directory, controlplane_source
from lynq.cluster.progress import Step
from lynq.cluster.toolchain import build_environment, find_go

KUBERNETES = "1.36.3"
PACKAGES = 2800
"""Roughly how many packages a build from nothing compiles: the progress line's denominator."""

_VERSION = "k8s.io/component-base/version"
_MAJOR, _MINOR, _ = KUBERNETES.split(".")
_LINKER_FLAGS = (
    f"-s -w -X {_VERSION}.gitVersion=v{KUBERNETES}"
    f" -X {_VERSION}.gitMajor={_MAJOR} -X {_VERSION}.gitMinor={_MINOR}"
)
# Other flags would recompile every package.
_BUILD = ["build", "-v", "-trimpath", "-ldflags", _LINKER_FLAGS]


def controlplane_binary() -> Path:
    """Return the control plane's binary, building it first where this machine has none."""
    source = controlplane_source()
    home = cache_directory() / "controlplane" / _digest(source)
    binary = home / "controlplane"
    if not binary.exists():
        home.mkdir(parents=True, exist_ok=True)
        with _alone(home / "lock"):
            if not binary.exists():
                _build(source, binary)
    return binary


def _digest(source: Path) -> str:
    digest = hashlib.sha256(f"{_BUILD} {platform.system()} {platform.machine()}".encode())
    for path in sorted([*source.glob("*.go"), source / "go.mod", source / "go.sum"]):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _build(source: Path, binary: Path) -> None:
    unfinished = binary.with_name(f"controlplane.{os.getpid()}")
    command = [str(find_go()), *_BUILD, "-o", str(unfinished), "."]
    title = f"Building the Kubernetes {KUBERNETES} control plane, once per machine"
    try:
        with Step(title, usually="7 min on two cores") as step:
            _compile(command, source, step)
        unfinished.rename(binary)
    finally:
        unfinished.unlink(missing_ok=True)


def _compile(command: list[str], source: Path, step: Step) -> None:
    with subprocess.Popen(  # noqa: S603
        command, cwd=source, env=build_environment(), stderr=subprocess.PIPE, text=True
    ) as build:
        lines = _follow(build, step)
    if build.returncode:
        raise ClusterError("building the control plane failed:\n" + "\n".join(lines[-20:]))


def _follow(build: "subprocess.Popen[str]", step: Step) -> list[str]:
    """Count what `go build -v` prints: a line per package compiled or module fetched."""
    lines: list[str] = []
    compiled = 0
    for line in build.stderr or ():
        lines.append(line.rstrip())
        if line.startswith("go: downloading"):
            step.update(f"fetching {line.split()[2]}")
        else:
            compiled += 1
            step.update(f"{compiled} of at most {PACKAGES} packages compiled")
    return lines
