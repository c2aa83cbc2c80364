"""The folder of one cluster: which file is where, and who holds it.

A cluster is alive exactly while its supervisor holds the lock in its folder. Process ids in the
record are meaningful only then; the kernel drops the lock however the supervisor ends.

Where the local control plane keeps its things on this machine.

What can go wrong with a local cluster, told so that the reader knows what to do.
"""

import fcntl
import os
import random
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import Final, TextIO

import msgspec


def cache_directory() -> Path:
    """Return the folder for what can be made again: toolchains and binaries."""
    return _base("XDG_CACHE_HOME", ".cache") / "lynq"


def clusters_directory() -> Path:
    """Return the folder that holds one record per running cluster."""
    return _base("XDG_STATE_HOME", ".local/state") / "lynq" / "clusters"


def controlplane_source() -> Path:
    """Return the Go module of the control plane: in the wheel, or in the source tree."""
    packaged = Path(__file__).parent / "controlplane"
    return packaged if packaged.is_dir() else Path(__file__).parents[3] / "tools" / "controlplane"


def _base(variable: str, fallback: str) -> Path:
    return Path(os.environ.get(variable) or Path.home() / fallback)


class ClusterError(Exception):
    """A local cluster could not be built, started, found or stopped."""


_PORTS: Final = range(20000, 30000)
"""Below those that the kernel gives to outgoing connections: a client that keeps calling a server
that is down would sooner or later sit on the server's port, and below those of NodePorts."""
_TRIES: Final = 10
_TRY_SECONDS: Final = 0.05


class ClusterPhase(StrEnum):
    """How far a cluster has come."""

    STARTING = "starting"
    READY = "ready"
    FAILED = "failed"


class Ports(msgspec.Struct, frozen=True):
    """The loopback ports of one cluster."""

    etcd: int
    etcd_peer: int
    apiserver: int


class ClusterRecord(msgspec.Struct, frozen=True):
    """What a supervisor tells about its cluster."""

    supervisor: int
    ports: Ports
    phase: ClusterPhase = ClusterPhase.STARTING
    error: str = ""
    components: dict[str, int] = {}


@dataclass(frozen=True, slots=True)
class Layout:
    """Paths inside a cluster's folder."""

    directory: Path

    @property
    def kubeconfig(self) -> Path:
        """The admin's kubeconfig."""
        return self.directory / "kubeconfig"

    @property
    def pki(self) -> Path:
        """Keys and certificates."""
        return self.directory / "pki"

    @property
    def etcd(self) -> Path:
        """The data of etcd."""
        return self.directory / "etcd"

    @property
    def logs(self) -> Path:
        """One log per component."""
        return self.directory / "logs"

    def log(self, component: str) -> Path:
        """Return the log file of a component."""
        return self.logs / f"{component}.log"

    def read(self) -> ClusterRecord | None:
        """Return the record, or None before the supervisor wrote one."""
        try:
            return msgspec.json.decode(self._record.read_bytes(), type=ClusterRecord)
        except FileNotFoundError:
            return None

    def write(self, record: ClusterRecord) -> None:
        """Replace the record in one step: a reader never sees half of it."""
        unfinished = self._record.with_suffix(".new")
        unfinished.write_bytes(msgspec.json.encode(record))
        unfinished.replace(self._record)

    @property
    def alive(self) -> bool:
        """Whether a supervisor holds this cluster."""
        try:
            with self._lock.open() as lock:
                # Shared, so that two who look do not take each other for the supervisor.
                return not _locked(lock, fcntl.LOCK_SH)
        except FileNotFoundError:
            return False

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Be the one that holds the cluster, or fail within a moment."""
        with self._lock.open("a") as lock:
            # Somebody who only looks is gone by the next try.
            for _ in range(_TRIES):
                if _locked(lock, fcntl.LOCK_EX):
                    break
                time.sleep(_TRY_SECONDS)
            else:
                raise ClusterError(f"the cluster in {self.directory} is already running")
            yield

    @property
    def _lock(self) -> Path:
        return self.directory / "lock"

    @property
    def _record(self) -> Path:
        return self.directory / "record.json"


def choose_ports() -> Ports:
    """Return ports that were free a moment ago."""
    shuffled = random.sample(_PORTS, len(_PORTS))
    return Ports(*islice(filter(_is_free, shuffled), len(Ports.__struct_fields__)))


def are_free(ports: Ports) -> bool:
    """Tell whether all these ports can be bound now."""
    return all(map(_is_free, msgspec.structs.astuple(ports)))


def _is_free(port: int) -> bool:
    try:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", port))
    except OSError:
        return False
    return True


def _locked(lock: TextIO, kind: int) -> bool:
    try:
        fcntl.flock(lock, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
