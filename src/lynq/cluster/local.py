"""Local clusters by name: start one, look at it, stop it.

The folder of clusters has one entry per name: a folder that goes with the cluster, or a link to a
data directory that somebody chose and that stays.
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
    # Holds the write end of an owned supervisor's standard input, which is its lifeline.
    _supervisor: "subprocess.Popen[bytes] | None" = field(default=None, repr=False)

    def __post_init__(self) -> None:
        """Refuse what would lead out of the folder of clusters, which `down` removes things in."""
        if not _NAME.fullmatch(self.name):
            raise ClusterError(
                f"{self.name!r} is no name for a cluster: use lower case letters, digits and -"
            )

    @property
    def layout(self) -> Layout:
        """Where its files are."""
        return Layout(self._entry.resolve())

    @property
    def kubeconfig(self) -> Path:
        """The admin's kubeconfig."""
        return self.layout.kubeconfig

    @property
    def exists(self) -> bool:
        """Whether something of this cluster is on this machine."""
        return self._entry.is_symlink() or self._entry.is_dir()

    @property
    def alive(self) -> bool:
        """Whether its supervisor runs."""
        return self.exists and self.layout.alive

    @property
    def record(self) -> ClusterRecord:
        """What the supervisor last told."""
        record = self.layout.read()
        if record is None:
            raise ClusterError(f"there is no cluster named {self.name}: lynq cluster up")
        return record

    def pid(self, component: str) -> int:
        """Return the process id of a component."""
        return self.record.components[component]

    def up(self, *, directory: Path | None = None, owned: bool = False) -> None:
        """Start the cluster and wait until pods can be scheduled.

        The data goes to `directory` and stays there, or to a folder that goes with the cluster.
        An `owned` cluster ends with this process, whatever ends it.
        """
        binary = controlplane_binary()
        with self._alone():
            if self.alive:
                raise ClusterError(
                    f"cluster {self.name} is already running: "
                    f"lynq cluster status, or lynq cluster down --name {self.name}"
                )
            self._make_entry(directory)
            supervisor = self._supervisor = self._start(binary, owned=owned)
            try:
                # Others are let in once they can see that it is there, and whom to stop.
                self._wait_for_word(supervisor, (ClusterPhase.STARTING, ClusterPhase.READY))
            except BaseException:
                self._take_back(supervisor)
                raise
        try:
            self._wait_for_word(supervisor, (ClusterPhase.READY,))
        except BaseException:
            with self._alone():
                self._take_back(supervisor)
            raise

    def down(self) -> None:
        """Stop the cluster and remove its folder; a chosen data directory stays."""
        if not self.exists:
            raise ClusterError(f"there is no cluster named {self.name}: lynq cluster status")
        with self._alone():
            if self.alive:
                with suppress(ProcessLookupError):  # it ended by itself
                    os.kill(self.record.supervisor, signal.SIGTERM)
            self._wait_for_end()

    def _take_back(self, supervisor: "subprocess.Popen[bytes]") -> None:
        """Undo a start that failed, however far it came."""
        if supervisor.poll() is None:
            supervisor.terminate()
            self._wait_for_end()
        elif not self.alive:  # or somebody else has started it anew
            self._remove_entry()

    def _wait_for_end(self) -> None:
        deadline = time.monotonic() + STOP_SECONDS
        while self.alive:
            if time.monotonic() > deadline:
                raise ClusterError(f"cluster {self.name} did not stop in {STOP_SECONDS:.0f} s")
            time.sleep(POLL_SECONDS)
        if self._supervisor:
            self._supervisor.communicate()
            self._supervisor = None
        self._remove_entry()

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep other starts and stops out between a look and what is done about it.

        The lock is on the folder of clusters itself, so that no file stays behind.
        """
        with _said():
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

    def _make_entry(self, directory: Path | None) -> None:
        if self.exists:  # left by a supervisor that was killed
            self._remove_entry()
        with _said():
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
        # -P: the folder we are called from may hold a module of any name.
        command = [sys.executable, "-P", "-m", "lynq.cluster.supervisor", str(directory)]
        command += ["--binary", str(binary)]
        command += ["--lifeline"] if owned else []
        command += [] if self._entry.is_symlink() else ["--temporary"]
        with _said(), (directory / _LOG).open("wb") as log:
            return subprocess.Popen(  # noqa: S603
                command,
                stdin=subprocess.PIPE if owned else subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def _wait_for_word(
        self, supervisor: "subprocess.Popen[bytes]", phases: tuple[ClusterPhase, ...]
    ) -> None:
        """Wait until this supervisor tells of one of these phases."""
        deadline = time.monotonic() + START_SECONDS
        while True:
            record = self.layout.read()
            if record and record.supervisor == supervisor.pid:
                if record.phase in phases:
                    return
                if record.phase is ClusterPhase.FAILED:
                    raise ClusterError(f"cluster {self.name} did not start: {record.error}")
            if supervisor.poll() is not None or time.monotonic() > deadline:
                raise ClusterError(f"cluster {self.name} did not start: {self._last_words()}")
            time.sleep(POLL_SECONDS)

    def _last_words(self) -> str:
        try:
            return (self.layout.directory / _LOG).read_text()[-2000:].strip() or "it says nothing"
        except FileNotFoundError:
            return "it was stopped"


@contextmanager
def _said() -> Iterator[None]:
    """Tell a folder that cannot be used as what it is."""
    try:
        yield
    except OSError as error:
        raise ClusterError(f"{error.filename}: {error.strerror}") from None


def _check_data_directory(directory: Path) -> None:
    """Refuse a folder with other things in it: ours would be put over them."""
    if Layout(directory).alive:
        raise ClusterError(f"another cluster is running in {directory}")
    if any(directory.iterdir()) and not (directory / _LOG).exists():
        raise ClusterError(f"{directory} is not empty and was no cluster's before: choose another")


def all_clusters() -> list[LocalCluster]:
    """Return the clusters that this machine knows, by name."""
    root = clusters_directory()
    names = sorted(entry.name for entry in root.iterdir()) if root.is_dir() else []
    known = (LocalCluster(name) for name in names if _NAME.fullmatch(name))
    return [cluster for cluster in known if cluster.exists]


def kubectl(kubeconfig: Path, *command: str) -> "subprocess.CompletedProcess[str]":
    """Run the kubectl that comes with the control plane."""
    return subprocess.run(  # noqa: S603
        [controlplane_binary(), "kubectl", f"--kubeconfig={kubeconfig}", *command],
        capture_output=True,
        text=True,
        check=False,
    )
