"""Push from SQLite: a thread polls the file's `data_version`, many times a second.

SQLite does not announce commits. `PRAGMA data_version` returns within microseconds whether another
connection has committed since the last call. A thread polls it, because a file system may block.
The number belongs to the whole file: changes of every table are reported.

A file that is replaced, as by a deployment or a restored backup, leaves the connection on the old
file, which never changes again. So the thread also checks which file the path leads to. The inode
of the old file cannot be reused while the connection holds it open.
"""

import asyncio
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from lynq.sources.errors import SourceConnectionFailed
from lynq.sources.push.channel import ChangeNotifier, PushTiming
from lynq.sources.push.thread import CoalescedCallback, run_in_thread
from lynq.sources.query import Table
from lynq.sources.sqlite.settings import SQLiteSettings
from lynq.sources.sqlite.source import locate, read_only_uri
from lynq.sources.sqlite.thread import GRACE
from lynq.sources.sqlite.types import PRIMARY_CODE

_BUSY = frozenset((sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED))


async def listen(
    settings: SQLiteSettings, _: Table, __: str, timing: PushTiming, notifier: ChangeNotifier
) -> None:
    """Report changes of the file until the channel is lost or closed."""
    poller = _VersionPoller(
        settings,
        timing.file_poll,
        connected=partial(asyncio.get_running_loop().call_soon_threadsafe, notifier.connected),
        changed=CoalescedCallback(notifier.changed).schedule,
    )
    name = f"data_version of {settings.path}"
    await run_in_thread(poller.run, stop=poller.stopped.set, name=name, grace=GRACE)


@dataclass(frozen=True, slots=True)
class _VersionPoller:
    """The work of the thread; only `stopped` is shared with the loop."""

    settings: SQLiteSettings
    interval: float
    connected: Callable[[], object]
    changed: Callable[[], object]
    stopped: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        """Poll the file, and each file that replaces it, until stopped."""
        path = (self.settings.directory or Path()) / self.settings.path
        while not self.stopped.is_set():
            try:
                self._poll(path)
            except sqlite3.Error as error:
                code = getattr(error, "sqlite_errorname", type(error).__name__)
                raise SourceConnectionFailed(
                    f"SQLite cannot read the file ({code})", endpoint=self.settings.endpoint
                ) from None

    def _poll(self, path: Path) -> None:
        """Poll one file until it is replaced."""
        # Read before opening: a replacement in between is noticed by the first check.
        identity = _identity(path)
        uri = read_only_uri(locate(self.settings))
        with closing(sqlite3.connect(uri, uri=True, timeout=0, isolation_level=None)) as connection:
            version = _data_version(connection)
            self.connected()
            while not self.stopped.wait(self.interval) and _identity(path) == identity:
                current = _data_version(connection)
                # While the file is locked, the commit of the lock's holder is still to come.
                if current is None or current == version:
                    continue
                version = current
                self.changed()


def _identity(path: Path) -> tuple[int, int] | None:
    """Return device and inode of the file that a path leads to; None if there is no file."""
    try:
        status = path.stat()
    except (OSError, ValueError):
        return None
    return status.st_dev, status.st_ino


def _data_version(connection: sqlite3.Connection) -> int | None:
    """Return a number that changes with commits of other connections; None if locked."""
    try:
        (version,) = connection.execute("PRAGMA data_version").fetchone()
    except sqlite3.OperationalError as error:
        if getattr(error, "sqlite_errorcode", 0) & PRIMARY_CODE in _BUSY:
            return None
        raise
    return int(version)
