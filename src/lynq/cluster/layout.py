"""The files of local clusters: directories, the record of the supervisor, and its lock.

A cluster is alive exactly while its supervisor holds the lock in its directory. Process ids in the
record are valid only then; the kernel releases the lock however the supervisor ends.
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
from pathlib import Path
from typing import Final, TextIO

import msgspec


def cache_directory() -> Path:
    """Return the directory of toolchains and binaries."""
    return _base("XDG_CACHE_HOME", ".cache") / "lynq"


def clusters_directory() -> Path:
    """Return the directory with one entry per cluster."""
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
"""Below the ephemeral ports, of which a client that retries could occupy the port of a stopped
server, and below NodePorts."""
_LOCK_ATTEMPTS: Final = 10
_LOCK_RETRY_SECONDS: Final = 0.05


ETCD_CLIENTS: Final = "etcd:2379"
"""The socket of etcd, which authenticates no client; etcd demands the form of host and port."""
ETCD_PEERS: Final = "etcd:2380"
"""The socket for other members of etcd, of which there are none."""


class ClusterPhase(StrEnum):
    """The phase of a cluster."""

    STARTING = "starting"
    READY = "ready"
    FAILED = "failed"


class Ports(msgspec.Struct, frozen=True):
    """The loopback ports of one cluster."""

    apiserver: int


class ClusterRecord(msgspec.Struct, frozen=True):
    """The state of a cluster, written by its supervisor."""

    supervisor: int
    ports: Ports
    phase: ClusterPhase = ClusterPhase.STARTING
    error: str = ""
    components: dict[str, int] = {}


@dataclass(frozen=True, slots=True)
class Layout:
    """The paths in the directory of a cluster."""

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
    def run(self) -> Path:
        """The sockets of etcd, and the working directory of the components."""
        return self.directory / "run"

    @property
    def logs(self) -> Path:
        """One log per component."""
        return self.directory / "logs"

    @property
    def audit_policy(self) -> Path:
        """The audit policy of the API server; without the file there is no audit log."""
        return self.directory / "audit-policy.yaml"

    @property
    def audit_log(self) -> Path:
        """The audit log of the API server."""
        return self.logs / "audit.log"

    def log(self, component: str) -> Path:
        """Return the log file of a component."""
        return self.logs / f"{component}.log"

    def read(self) -> ClusterRecord | None:
        """Return the record, or None if there is none yet."""
        try:
            return msgspec.json.decode(self._record.read_bytes(), type=ClusterRecord)
        except FileNotFoundError:
            return None

    def write(self, record: ClusterRecord) -> None:
        """Replace the record atomically."""
        unfinished = self._record.with_suffix(".new")
        unfinished.write_bytes(msgspec.json.encode(record))
        unfinished.replace(self._record)

    @property
    def alive(self) -> bool:
        """Whether the supervisor of this cluster runs."""
        try:
            with self._lock.open() as lock:
                # Shared, so that two readers do not mistake each other for the supervisor.
                return not _try_lock(lock, fcntl.LOCK_SH)
        except FileNotFoundError:
            return False

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Hold the lock of the cluster; raises ClusterError if its supervisor runs."""
        with self._lock.open("a") as lock:
            # A reader holds its shared lock only for a moment.
            for _ in range(_LOCK_ATTEMPTS):
                if _try_lock(lock, fcntl.LOCK_EX):
                    break
                time.sleep(_LOCK_RETRY_SECONDS)
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
    """Return a free port."""
    shuffled = random.sample(_PORTS, len(_PORTS))
    return Ports(next(filter(_is_free, shuffled)))


def are_free(ports: Ports) -> bool:
    """Return whether all these ports can be bound."""
    return _is_free(ports.apiserver)


def _is_free(port: int) -> bool:
    try:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", port))
    except OSError:
        return False
    return True


def _try_lock(lock: TextIO, kind: int) -> bool:
    try:
        fcntl.flock(lock, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
