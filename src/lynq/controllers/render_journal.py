"""Records in a file which renders are under way, so that a killed process leaves it behind.

The file is mapped into memory: a record costs no system call, and the kernel keeps it when the
process is killed. It has digests only. All blocks are written before they are mapped, because a
write into a hole of a full volume would kill the process.

The directory belongs to one process at a time, which locks it. A process without a directory, or
with one that it cannot use, records nothing and skips nothing.

A render on the event loop must not wait. It is moved to a background thread while a suspect is
retried, which waits for all renders under way, and all others wait for it.
"""

import os
import stat
from collections.abc import Callable
from contextlib import suppress
from fcntl import LOCK_EX, LOCK_NB, flock
from mmap import mmap
from pathlib import Path
from threading import Condition, Lock
from typing import Final, TypeVar

import structlog

from lynq.core.render_journal import (
    EMPTY_SLOT,
    ENDED_OFFSET,
    JOURNAL_SIZE,
    SLOT_SIZE,
    SLOTS,
    SUSPECTS_OFFSET,
    JournalRecord,
    RenderEntry,
    RenderVerdict,
    decode,
    digest,
    encode,
    next_record,
    verdict,
)

T = TypeVar("T")

_FILE: Final = "renders"
_OTHERS: Final = stat.S_IWGRP | stat.S_IWOTH

_log = structlog.get_logger(__name__)


class RenderJournal:
    """The renders of this process that are under way, and the suspects of earlier ones.

    Without a directory it is off.
    """

    def __init__(self, directory: Path | None = None, lynq_version: str = "") -> None:
        self._file: mmap | None = None
        self._directory: int | None = None
        self._free = [SLOT_SIZE * number for number in range(SLOTS, 0, -1)]
        self._suspects: dict[bytes, bytes] = {}
        self._suspect_slots: dict[bytes, int] = {}
        self._lock = Lock()
        self._turn = Condition(self._lock)
        self._is_exclusive = False
        self._has_ended = False
        self._started_handlers: list[Callable[[], None]] = []
        self.allows_retries = False
        if directory is None:
            return
        try:
            self._directory = _locked(directory)
            self._open(self._directory, digest(lynq_version or _version()))
        except (OSError, ValueError) as error:
            _log.warning(
                "renders are not recorded: one that kills the process is repeated after a restart",
                directory=str(directory),
                error=str(error),
            )
            self.close()

    def _open(self, directory: int, lynq_version: bytes) -> None:
        before = _read(directory)
        record = next_record(before, lynq_version) if before else JournalRecord(lynq_version)
        self._file = _mapped(directory, encode(record))
        for number, entry in enumerate(record.suspects):
            self._suspects[entry.subject] = entry.inputs
            self._suspect_slots[entry.subject] = SUSPECTS_OFFSET + SLOT_SIZE * number
        if record.last_under_way:
            _log.warning("process was killed during renders", renders=len(record.last_under_way))
        if record.suspects:
            _log.warning(
                "renders skipped during which the process was killed twice in a row",
                renders=len(record.suspects),
            )

    @property
    def is_on(self) -> bool:
        """Whether renders are recorded."""
        return self._file is not None

    def close(self) -> None:
        """Record that the process ends by itself, and unlock the directory.

        Renders wait for a retry no longer: the threads of plans end before the process does.
        """
        with self._lock:
            self._has_ended = True
            self._turn.notify_all()
        if self._file is not None:
            # Not closed: threads that render are daemons, and go on.
            self._file[ENDED_OFFSET] = 1
        if self._directory is not None:
            os.close(self._directory)
            self._directory = None

    def allow_retries(self) -> None:
        """Allow retries: the nodes that existed at the start are reconciled."""
        self.allows_retries = True
        handlers, self._started_handlers = self._started_handlers, []
        for handler in handlers:
            handler()

    def when_retries_are_allowed(self, handler: Callable[[], None]) -> None:
        """Call `handler` once suspects may be retried."""
        if self.allows_retries:
            handler()
        else:
            self._started_handlers.append(handler)

    def verdict(self, entry: RenderEntry) -> RenderVerdict:
        """Return what to do with a render."""
        return verdict(self._suspects.get(entry.subject), entry)

    def run(self, entry: RenderEntry, render: Callable[[], T]) -> T:
        """Record a render and run it in this thread, after a retry that is under way."""
        if self._file is None:
            return render()
        with self._lock:
            if self._must_wait:
                self._turn.wait_for(lambda: not self._must_wait)
            slot = self._free.pop()
        return self._run(self._file, slot, entry, render)

    def run_now(self, entry: RenderEntry, render: Callable[[], T]) -> T | None:
        """Record a render and run it; None if it has to wait for a retry."""
        if self._file is None:
            return render()
        with self._lock:
            if self._must_wait:
                return None
            slot = self._free.pop()
        return self._run(self._file, slot, entry, render)

    def run_alone(self, entry: RenderEntry, render: Callable[[], T]) -> T:
        """Record a render and run it while no other one is under way; then it is no suspect."""
        if self._file is None:
            return render()
        with self._lock:
            self._turn.wait_for(lambda: not self._must_wait)
            self._is_exclusive = True
            self._turn.wait_for(lambda: len(self._free) == SLOTS or self._has_ended)
            slot = self._free.pop()
        try:
            return self._run(self._file, slot, entry, render)
        finally:
            with self._lock:
                self._acquit(self._file, entry.subject)
                self._is_exclusive = False
                self._turn.notify_all()

    @property
    def _must_wait(self) -> bool:
        return not self._free or (self._is_exclusive and not self._has_ended)

    def _run(self, file: mmap, slot: int, entry: RenderEntry, render: Callable[[], T]) -> T:
        file[slot : slot + SLOT_SIZE] = entry.subject + entry.inputs
        try:
            return render()
        finally:
            file[slot : slot + SLOT_SIZE] = EMPTY_SLOT
            with self._lock:
                is_awaited = self._is_exclusive or not self._free
                self._free.append(slot)
                if is_awaited:
                    self._turn.notify_all()

    def _acquit(self, file: mmap, subject: bytes) -> None:
        self._suspects.pop(subject, None)
        if (slot := self._suspect_slots.pop(subject, None)) is not None:
            file[slot : slot + SLOT_SIZE] = EMPTY_SLOT


def _version() -> str:
    from importlib.metadata import version  # noqa: PLC0415 - slow to import

    return version("lynq")


def _locked(directory: Path) -> int:
    """Return the descriptor of the directory, which is created and locked; raises OSError.

    In a shared folder such as /tmp, another user may have made it.
    """
    with suppress(FileExistsError):
        directory.mkdir(mode=0o700)
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        _lock(descriptor)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _lock(descriptor: int) -> None:
    status = os.fstat(descriptor)
    if status.st_uid != os.geteuid() or status.st_mode & _OTHERS:
        raise PermissionError("other users can write to the directory, or own it")
    try:
        flock(descriptor, LOCK_EX | LOCK_NB)
    except BlockingIOError:
        raise BlockingIOError("another process uses the directory") from None


def _read(directory: int) -> JournalRecord | None:
    """Return what the last process has left; None if there is nothing that can be read."""
    try:
        descriptor = os.open(_FILE, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=directory)
    except OSError:
        return None
    try:
        return decode(os.read(descriptor, JOURNAL_SIZE + 1))
    except (OSError, ValueError):
        return None
    finally:
        os.close(descriptor)


def _mapped(directory: int, content: bytes) -> mmap:
    """Replace the file, and return it mapped: a kill meanwhile leaves the old one."""
    new = f"{_FILE}.new"
    with suppress(FileNotFoundError):
        os.unlink(new, dir_fd=directory)
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    descriptor = os.open(new, flags, 0o600, dir_fd=directory)
    with os.fdopen(descriptor, "r+b") as file:
        file.write(content)
        file.flush()
        mapped = mmap(file.fileno(), JOURNAL_SIZE)
        os.rename(new, _FILE, src_dir_fd=directory, dst_dir_fd=directory)
    return mapped
