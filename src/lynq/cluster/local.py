"""Local clusters by name: start, inspect and stop them.

The directory of clusters has one entry per name: a directory that is deleted with the cluster, or a
link to a data directory that is kept.
"""

import fcntl
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from lynq.cluster.build import controlplane_binary
from lynq.cluster.layout import (
    ClusterError,
    ClusterPhase,
    ClusterRecord,
    Layout,
    clusters_directory,
)

DEFAULT_NAME = "default"
START_SECONDS = 120.0
STOP_SECONDS = 60.0
POLL_SECONDS = 0.05

_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_LOG = "supervisor.log"


@dataclass(slots=True)
class LocalCluster:
    """A local cluster, running or not."""

    name: str
    root: Path = field(default_factory=clusters_directory)
    # Keeps the stdin of an owned supervisor open; it stops when that closes.
    _supervisor: "subprocess.Popen[bytes] | None" = field(default=None, repr=False)

    def __post_init__(self) -> None:
        """Reject names that are not one path segment: `down` deletes the directory."""
        if not _NAME.fullmatch(self.name):
            raise ClusterError(
                f"{self.name!r} is not a valid cluster name: use lower case letters, digits and -"
            )

    @property
    def layout(self) -> Layout:
        """The paths of its files."""
        return Layout(self._entry.resolve())

    @property
    def kubeconfig(self) -> Path:
        """The admin's kubeconfig."""
        return self.layout.kubeconfig

    @property
    def exists(self) -> bool:
        """Whether this cluster has an entry on this machine."""
        return self._entry.is_symlink() or self._entry.is_dir()

    @property
    def alive(self) -> bool:
        """Whether its supervisor runs."""
        return self.exists and self.layout.alive

    @property
    def record(self) -> ClusterRecord:
        """The last record of the supervisor; raises ClusterError if there is none."""
        record = self.layout.read()
        if record is None:
            raise ClusterError(
                f"cluster {self.name!r} not found;"
                f" start it with: lynq cluster up --name {self.name}"
            )
        return record

    def pid(self, component: str) -> int:
        """Return the process id of a component."""
        return self.record.components[component]

    def up(
        self, *, directory: Path | None = None, owned: bool = False, audit_policy: str = ""
    ) -> None:
        """Start the cluster and wait until pods can be scheduled.

        The data is in `directory` and kept, or in a directory that is deleted with the cluster. An
        `owned` cluster stops with this process, however that ends. With an `audit_policy`, in YAML,
        the API server writes `layout.audit_log`.
        """
        binary = controlplane_binary()
        with self._exclusive_lock():
            if self.alive:
                raise ClusterError(
                    f"cluster {self.name!r} is already running; "
                    f"stop it with: lynq cluster down --name {self.name}"
                )
            self._create_entry(directory)
            if audit_policy:
                self.layout.audit_policy.write_text(audit_policy)
            supervisor = self._supervisor = self._start(binary, owned=owned)
            try:
                # The lock is held until others can read the record and stop the supervisor.
                self._wait_for_phase(supervisor, (ClusterPhase.STARTING, ClusterPhase.READY))
            except BaseException:
                self._undo_start(supervisor)
                raise
        try:
            self._wait_for_phase(supervisor, (ClusterPhase.READY,))
        except BaseException:
            with self._exclusive_lock():
                self._undo_start(supervisor)
            raise

    def down(self) -> None:
        """Stop the cluster and delete its directory; a data directory is kept."""
        if not self.exists:
            raise ClusterError(
                f"cluster {self.name!r} not found; list clusters with: lynq cluster status"
            )
        with self._exclusive_lock():
            if self.alive:
                with suppress(ProcessLookupError):  # it ended by itself
                    os.kill(self.record.supervisor, signal.SIGTERM)
            self._wait_for_end()

    def _undo_start(self, supervisor: "subprocess.Popen[bytes]") -> None:
        """Clean up after a failed start."""
        if supervisor.poll() is None:
            supervisor.terminate()
            self._wait_for_end()
        elif not self.alive:  # unless it was started again meanwhile
            self._remove_entry()

    def _wait_for_end(self) -> None:
        deadline = time.monotonic() + STOP_SECONDS
        while self.alive:
            if time.monotonic() > deadline:
                raise ClusterError(
                    f"cluster {self.name!r} did not stop within {STOP_SECONDS:.0f} s"
                )
            time.sleep(POLL_SECONDS)
        if self._supervisor:
            self._supervisor.communicate()
            self._supervisor = None
        self._remove_entry()

    @contextmanager
    def _exclusive_lock(self) -> Iterator[None]:
        """Exclude concurrent starts and stops.

        The lock is on the directory of clusters itself, so that no lock file is left.
        """
        with _translated_errors():
            self.root.mkdir(parents=True, exist_ok=True)
        folder = os.open(self.root, os.O_RDONLY)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            yield
        finally:
            os.close(folder)

    @property
    def _entry(self) -> Path:
        return self.root / self.name

    def _create_entry(self, directory: Path | None) -> None:
        if self.exists:  # of a supervisor that was killed
            self._remove_entry()
        with _translated_errors():
            if directory is None:
                self._entry.mkdir(mode=0o700)
            else:
                directory.mkdir(mode=0o700, parents=True, exist_ok=True)
                _check_data_directory(directory)
                self._entry.symlink_to(directory.resolve())

    def _remove_entry(self) -> None:
        if self._entry.is_symlink():
            self._entry.unlink()
        else:
            shutil.rmtree(self._entry, ignore_errors=True)

    def _start(self, binary: Path, *, owned: bool) -> "subprocess.Popen[bytes]":
        directory = self.layout.directory
        # -P: the working directory may contain a module of any name.
        command = [sys.executable, "-P", "-m", "lynq.cluster.supervisor", str(directory)]
        command += ["--binary", str(binary)]
        command += ["--lifeline"] if owned else []
        command += [] if self._entry.is_symlink() else ["--temporary"]
        with _translated_errors(), (directory / _LOG).open("wb") as log:
            return subprocess.Popen(  # noqa: S603
                command,
                stdin=subprocess.PIPE if owned else subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def _wait_for_phase(
        self, supervisor: "subprocess.Popen[bytes]", phases: tuple[ClusterPhase, ...]
    ) -> None:
        """Wait until this supervisor reports one of these phases."""
        deadline = time.monotonic() + START_SECONDS
        while True:
            record = self.layout.read()
            if record and record.supervisor == supervisor.pid:
                if record.phase in phases:
                    return
                if record.phase is ClusterPhase.FAILED:
                    raise ClusterError(f"cluster {self.name!r} did not start: {record.error}")
            if supervisor.poll() is not None or time.monotonic() > deadline:
                raise ClusterError(f"cluster {self.name!r} did not start: {self._log_tail()}")
            time.sleep(POLL_SECONDS)

    def _log_tail(self) -> str:
        try:
            return (self.layout.directory / _LOG).read_text()[-2000:].strip() or "its log is empty"
        except FileNotFoundError:
            return "it was stopped"


@contextmanager
def _translated_errors() -> Iterator[None]:
    """Raise errors of the file system as ClusterError."""
    try:
        yield
    except OSError as error:
        raise ClusterError(f"{error.filename}: {error.strerror}") from None


def _check_data_directory(directory: Path) -> None:
    """Reject a directory with other content, which would be overwritten."""
    if Layout(directory).alive:
        raise ClusterError(f"another cluster is running in {directory}")
    if any(directory.iterdir()) and not (directory / _LOG).exists():
        raise ClusterError(
            f"{directory} is not empty and not the data directory of a cluster; use another"
        )


def all_clusters() -> list[LocalCluster]:
    """Return the clusters of this machine, by name."""
    root = clusters_directory()
    names = sorted(entry.name for entry in root.iterdir()) if root.is_dir() else []
    clusters = (LocalCluster(name) for name in names if _NAME.fullmatch(name))
    return [cluster for cluster in clusters if cluster.exists]


def kubectl(kubeconfig: Path, *command: str) -> "subprocess.CompletedProcess[str]":
    """Run the kubectl that comes with the control plane."""
    return subprocess.run(  # noqa: S603
        [controlplane_binary(), "kubectl", f"--kubeconfig={kubeconfig}", *command],
        capture_output=True,
        text=True,
        check=False,
    )
