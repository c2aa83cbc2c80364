"""Decides which renders a process skips, because earlier processes were killed during them.

A process records each render before it starts, so that its successor reads what was under way. One
kill proves nothing: other renders were under way, and the node of the machine may have failed. A
render that was under way when two processes in a row were killed is a suspect, and is skipped. Its
inputs may change: then it is retried, last and alone, as an innocent one may have been under way.

A retry that ends is no suspect any more. One that is killed is a suspect with its new inputs, also
if the process before it was not killed.

A record has digests only: no names, no values of rows.
"""

from collections.abc import Callable, Iterable
from enum import Enum
from hashlib import blake2b
from typing import Final, NamedTuple, Protocol, TypeVar

T = TypeVar("T")

SLOTS: Final = 64
"""Number of renders that are recorded at once, and of suspects: more than a process has threads."""
_DIGEST: Final = 16
SLOT_SIZE: Final = 2 * _DIGEST
"""Bytes of an entry, and of the header."""
JOURNAL_SIZE: Final = SLOT_SIZE * (1 + 3 * SLOTS)
"""Bytes of an encoded record: the header, the renders under way, the last ones, the suspects."""
EMPTY_SLOT: Final = bytes(SLOT_SIZE)
SUSPECTS_OFFSET: Final = SLOT_SIZE * (1 + 2 * SLOTS)
"""Position of the first suspect."""
ENDED_OFFSET: Final = 15
"""Position of the byte that is 1 once the process has ended by itself."""
_MAGIC: Final = b"lynq renders 01"
_ANY_INPUTS: Final = bytes(_DIGEST)
"""Inputs that no render has."""


class RenderEntry(NamedTuple):
    """One render, by digests."""

    subject: bytes
    """What is rendered: a resource of a node, or a form for a row."""
    inputs: bytes
    """What the render depends on, and the requests to repeat it."""


def digest(*parts: str) -> bytes:
    """Return the digest of texts."""
    text = "\0".join(parts).encode("utf-8", "surrogatepass")
    return blake2b(text, digest_size=_DIGEST).digest()


class JournalRecord(NamedTuple):
    """What a process leaves to its successor."""

    lynq_version: bytes
    """Digest of the version of Lynq that made the suspects."""
    has_ended: bool = False
    """Whether the process has ended by itself."""
    under_way: tuple[RenderEntry, ...] = ()
    last_under_way: tuple[RenderEntry, ...] = ()
    """The renders that were under way when the process before it was killed."""
    suspects: tuple[RenderEntry, ...] = ()
    """The renders to skip, oldest first."""


class RenderVerdict(Enum):
    """What to do with a render."""

    CLEAR = "clear"
    SKIPPED = "skipped"
    RETRIED = "retried"
    """It is run last and alone."""


def next_record(before: JournalRecord, lynq_version: bytes) -> JournalRecord:
    """Return the record with which the next process starts."""
    suspects = {entry.subject: entry.inputs for entry in before.suspects}
    if lynq_version != before.lynq_version:
        suspects = dict.fromkeys(suspects, _ANY_INPUTS)
    if before.has_ended:
        return JournalRecord(lynq_version, suspects=_newest(suspects.items()))
    last = {entry.subject for entry in before.last_under_way}
    for subject, inputs in before.under_way:
        if subject in last or subject in suspects:
            suspects.pop(subject, None)
            suspects[subject] = inputs
    return JournalRecord(
        lynq_version, last_under_way=before.under_way, suspects=_newest(suspects.items())
    )


def verdict(suspect_inputs: bytes | None, entry: RenderEntry) -> RenderVerdict:
    """Return what to do with a render whose subject is a suspect with these inputs, or is none."""
    if suspect_inputs is None:
        return RenderVerdict.CLEAR
    return RenderVerdict.SKIPPED if suspect_inputs == entry.inputs else RenderVerdict.RETRIED


def encode(record: JournalRecord) -> bytes:
    """Return the bytes of the journal."""
    header = _MAGIC + bytes([record.has_ended]) + record.lynq_version
    tables = (record.under_way, record.last_under_way, record.suspects)
    return header + b"".join(map(_table, tables))


def decode(data: bytes) -> JournalRecord:
    """Return the record; raises ValueError if these are not the bytes of one."""
    if len(data) != JOURNAL_SIZE or not data.startswith(_MAGIC):
        raise ValueError("not a journal of renders of this format")
    size = SLOTS * SLOT_SIZE
    under_way, last, suspects = (
        tuple(_entries(data[start : start + size]))
        for start in range(SLOT_SIZE, JOURNAL_SIZE, size)
    )
    return JournalRecord(
        data[_DIGEST:SLOT_SIZE], data[ENDED_OFFSET] == 1, under_way, last, suspects
    )


def _newest(entries: Iterable[tuple[bytes, bytes]]) -> tuple[RenderEntry, ...]:
    return tuple(RenderEntry(*entry) for entry in entries)[-SLOTS:]


def _table(entries: tuple[RenderEntry, ...]) -> bytes:
    return b"".join(subject + inputs for subject, inputs in entries).ljust(SLOTS * SLOT_SIZE, b"\0")


def _entries(table: bytes) -> Iterable[RenderEntry]:
    for start in range(0, len(table), SLOT_SIZE):
        slot = table[start : start + SLOT_SIZE]
        if slot != EMPTY_SLOT:
            yield RenderEntry(slot[:_DIGEST], slot[_DIGEST:])


class Journal(Protocol):
    """Records renders before they start."""

    @property
    def allows_retries(self) -> bool:
        """Whether the nodes that existed at the start are reconciled, so that suspects are next."""

    def verdict(self, entry: RenderEntry) -> RenderVerdict:
        """Return what to do with a render."""

    def run(self, entry: RenderEntry, render: Callable[[], T]) -> T:
        """Record a render and run it."""

    def run_alone(self, entry: RenderEntry, render: Callable[[], T]) -> T:
        """Record a render and run it while no other one is under way."""


class NoJournal:
    """Records nothing: of the command line, and of tests."""

    allows_retries = True

    def verdict(self, entry: RenderEntry) -> RenderVerdict:  # noqa: ARG002 - the protocol
        """Return that the render is clear."""
        return RenderVerdict.CLEAR

    def run(self, entry: RenderEntry, render: Callable[[], T]) -> T:  # noqa: ARG002 - the protocol
        """Run the render."""
        return render()

    run_alone = run


RETRIED_LATER: Final = (
    "the operator was killed twice in a row while it rendered this; it has changed since, and is "
    "retried after all LynqNodes that existed when the operator started"
)
"""Why a suspect is not rendered yet."""


def skipped(command: str) -> str:
    """Return why a suspect is skipped, and what to do; `command` requests a retry."""
    return (
        "skipped, because the operator was killed twice in a row while it rendered this; look for "
        "an expensive template or a large value, and correct the form or the row; "
        f"to retry it as it is, run `{command}`"
    )
