"""Builds Go programs, the control plane above all, once per machine and content of sources."""

import fcntl
import hashlib
import os
import platform
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from lynq.cluster.errors import ClusterError
from lynq.cluster.places import cache_directory, controlplane_source
from lynq.cluster.progress import Step
from lynq.cluster.toolchain import build_environment, find_go

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
        with Step(program.title, usually=program.usually) as step:
            _compile(command, program, step)
        unfinished.rename(binary)
    finally:
        unfinished.unlink(missing_ok=True)


def _compile(command: list[str], program: Program, step: Step) -> None:
    with subprocess.Popen(  # noqa: S603
        command, cwd=program.source, env=build_environment(), stderr=subprocess.PIPE, text=True
    ) as build:
        lines = _follow(build, program.packages, step)
    if build.returncode:
        raise ClusterError(f"building {program.name} failed:\n" + "\n".join(lines[-20:]))


def _follow(build: "subprocess.Popen[str]", packages: int, step: Step) -> list[str]:
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
