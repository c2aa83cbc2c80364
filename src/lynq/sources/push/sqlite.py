"""Push from SQLite: a thread looks at the file's `data_version`, many times a second.

SQLite tells nobody of a commit, but answers in microseconds whether one of another connection was
made since it was last asked: `PRAGMA data_version`. It is asked in a thread, since a file system
may keep anybody waiting. It is one number for the whole file: every table's changes wake the hub.

A file that is replaced, as a deployment or a restored backup does, leaves us looking at the old
one, which never changes again. So the thread also looks at which file the name leads to. While we
hold the old one open, its number cannot be given to the new one.
"""

import asyncio
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from urllib.parse import quote

from lynq.sources.errors import SourceConnectionFailed
from lynq.sources.push.channel import ChangeNotifier, PushTiming
from lynq.sources.push.thread import CancelScope, run_in_thread
from lynq.sources.query import Table
from lynq.sources.settings import SQLiteSettings
from lynq.sources.sqlite.source import locate

_BUSY = frozenset((sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED))
_PRIMARY = 0xFF


async def listen(
    settings: SQLiteSettings, _: Table, timing: PushTiming, bell: ChangeNotifier
) -> None:
    """Ring the bell when the file changes, until the channel is lost or closed."""
    onlooker = _VersionPoller(
        settings,
        timing.look,
        connected=partial(asyncio.get_running_loop().call_soon_threadsafe, bell.connected),
        changed=CancelScope(bell.changed).pull,
    )
    name = f"data_version of {settings.path}"
    await run_in_thread(onlooker.watch, stop=onlooker.stopped.set, name=name)


@dataclass(frozen=True, slots=True)
class _VersionPoller:
    """What the thread needs to know; all but `stopped` is its own."""

    settings: SQLiteSettings
    pause: float
    connected: Callable[[], object]
    changed: Callable[[], object]
    stopped: threading.Event = field(default_factory=threading.Event)

    def watch(self) -> None:
        """Watch the file, and the one that takes its place, until told to stop."""
        path = (self.settings.directory or Path()) / self.settings.path
        while not self.stopped.is_set():
            try:
                self._watch(path)
            except sqlite3.Error as error:
                code = getattr(error, "sqlite_errorname", type(error).__name__)
                raise SourceConnectionFailed(
                    f"SQLite cannot look at the file ({code})", place=self.settings.place
                ) from None

    def _watch(self, path: Path) -> None:
        """Watch one file until another one is in its place."""
        # Taken before opening: a file put there in between is noticed at the first look.
        identity = _identity(path)
        uri = f"file:{quote(str(locate(self.settings)))}?mode=ro"
        with closing(sqlite3.connect(uri, uri=True, timeout=0, isolation_level=None)) as connection:
            version = _data_version(connection)
            self.connected()
            while not self.stopped.wait(self.pause) and _identity(path) == identity:
                seen = _data_version(connection)
                # Somebody holds the lock, and commits, if at all, before letting go of it.
                if seen is None or seen == version:
                    continue
                version = seen
                self.changed()


def _identity(path: Path) -> tuple[int, int] | None:
    """Return which file a path leads to now, if any."""
    try:
        found = path.stat()
    except (OSError, ValueError):
        return None
    return found.st_dev, found.st_ino


def _data_version(connection: sqlite3.Connection) -> int | None:
    """Return a number that changes with every commit of others, or None while it is locked."""
    try:
        (version,) = connection.execute("PRAGMA data_version").fetchone()
    except sqlite3.OperationalError as error:
        if getattr(error, "sqlite_errorcode", 0) & _PRIMARY in _BUSY:
            return None
        raise
    return int(version)
