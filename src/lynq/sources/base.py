"""The contract of a database engine: settings, reads and change notifications."""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from lynq.api import SourceType
from lynq.sources.push.channel import ChangeNotifier, PushTiming
from lynq.sources.query import Dialect, Query, Table
from lynq.sources.read import Reading
from lynq.sources.settings import ResolvedValues, Settings

B = TypeVar("B")
S = TypeVar("S", bound=Settings)


class Source(Protocol):
    """A database whose tables can be read any number of times until it is closed."""

    def read(self, query: Query, *, tracked: frozenset[str] = frozenset()) -> Reading:
        """Return the active rows of one snapshot, in pages. The read starts with the iteration.

        Rows whose activate text is unclear are among them. `tracked` are the uids that are also
        reported if they have a row whose activate text means no.
        """

    def read_selected(self, query: Query, uids: frozenset[str]) -> Reading:
        """Return the active rows with these uids, of one snapshot.

        Rows with other uids may be among them: a collation may equate `a` and `A`. All rows with
        these uids are. Their inactive rows are reported. Raises NotSelectable, with the iteration,
        if the engine or the type of the uid column does not allow it.
        """

    def read_after(
        self, statement: str, query: Query, *, tracked: frozenset[str] = frozenset()
    ) -> Reading:
        """Return the active rows as an INSERT, UPDATE or DELETE would leave them.

        The statement runs in a transaction that is always rolled back; its locks are held until
        then. Triggers fire. Raises StatementRefused.
        """

    async def close(self) -> None:
        """Close every connection; reads in progress fail."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFacts:
    """What a database says about itself, its connection and its user; safe to show."""

    version: str
    tls: str = ""
    """Protocol and cipher; empty if the connection is not encrypted."""
    grants: tuple[str, ...] = ()
    login_risk: str = ""
    """Why a later login may fail; empty if it will not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Driver(Generic[S]):
    """How an engine reads and observes a database; `S` are its connection settings."""

    open: Callable[[S], Source]
    """Returns a source, which connects when it is first read."""
    inspect: Callable[[S, Table], Coroutine[Any, Any, SourceFacts]]
    """Connects and returns facts of the database; raises SourceError."""
    listen: Callable[[S, Table, str, PushTiming, ChangeNotifier], Coroutine[Any, Any, None]]
    """Reports changes of a table to the notifier, with the values of the named column if it can.
    The name is empty if they are not needed. It never returns: it raises a SourceError when
    the connection is lost, and cleans up when it is cancelled."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine(Generic[B, S]):
    """A database engine: `B` is its block in a hub's spec, `S` its connection settings.

    Each engine package exports one as `ENGINE`; `lynq.sources.engines` registers it.
    """

    name: SourceType
    dialect: Dialect
    settings: Callable[[B, ResolvedValues], S]
    """Builds the connection settings from the block of the spec."""
    driver: Callable[[], Driver[S]]
    """Imports the driver: its package takes memory, and most installations have one engine."""
