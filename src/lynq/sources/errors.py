"""What can go wrong with a source, told apart by type.

`str(error)` is safe to log and to show. It holds where (engine, host, database, table), what
happened and what to do, in our own words, and the server's code for it. The server's own sentence
is never part of it: a failed cast in a view echoes the value, a driver could echo a password.

The border to the drivers: what they raise goes no further than here.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

# ruff: noqa: N818 - named after what happened: `except WrongPassword` needs no second word


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where a source is: what every error about it begins with."""

    engine: str
    host: str = ""
    port: int = 0
    database: str = ""

    def __str__(self) -> str:
        """Say it as `mysql db.example.com:3306, database shop`."""
        address = f" {self.host}:{self.port}" if self.host else ""
        return f"{self.engine}{address}, database {self.database}"


class SourceError(Exception):
    """The root of everything that lynq.sources raises on purpose."""

    def __init__(
        self, cause: str, *, place: Endpoint | None = None, table: str = "", code: str = ""
    ) -> None:
        self.cause = cause
        self.place = place
        self.table = table
        self.code = code
        where = str(place) if place else ""
        if table:
            where += f", table {table}"
        super().__init__(f"{where.lstrip(', ')}: {cause}" if where else cause)


class InvalidSettings(SourceError, ValueError):
    """The settings cannot be used, whatever the server says; `field` names the culprit."""

    def __init__(self, cause: str, *, field: str) -> None:
        self.field = field
        super().__init__(f"{field}: {cause}")


class SourceConnectionFailed(SourceError):
    """There is no usable connection; the types below say why where it is known."""


class UnknownHost(SourceConnectionFailed):
    """The host's name leads to no address."""


class Refused(SourceConnectionFailed):
    """Nobody listens there, or the network has no way to it."""


class TLSFailed(SourceConnectionFailed):
    """The connection could not be encrypted as asked, or the certificate is not good enough."""


class TooManyConnections(SourceConnectionFailed):
    """The server, or our own pool, has no connection to spare."""


class ServerStopping(SourceConnectionFailed):
    """The server is starting up, shutting down or restarting."""


class LoginFailed(SourceConnectionFailed):
    """The server does not let this user in from here."""


class WrongPassword(LoginFailed):
    """User and password do not go together."""


class SourceTimedOut(SourceError):
    """It took longer than the settings allow."""


class ConnectTimedOut(SourceTimedOut, SourceConnectionFailed):
    """Connecting and logging in took longer than connectTimeout."""


class QueryTimedOut(SourceTimedOut):
    """Reading all rows took longer than queryTimeout."""


class Locked(SourceTimedOut):
    """Somebody else's lock was in the way until the time was up."""


class Interrupted(SourceError):
    """The result broke off: connection lost or statement killed. What came is not the table."""


class QueryFailed(SourceError):
    """The server said no to the query; the types below say why where it is known."""


class MissingDatabase(QueryFailed, SourceConnectionFailed):
    """The server has no such database."""


class MissingTable(QueryFailed):
    """The database has no such table or view."""


class MissingColumn(QueryFailed):
    """The table or view has no such column."""


class MissingGrant(QueryFailed):
    """The user may not read this table or column, or not follow its changes."""


class PushUnavailable(SourceError):
    """Changes cannot be pushed until somebody sets something up; polling goes on."""


class DriverMissing(PushUnavailable):
    """This installation lacks the optional package that the push channel needs."""


class MissingSetting(PushUnavailable):
    """The server's settings keep changes from us."""


class MissingTrigger(PushUnavailable):
    """Nothing in the database tells of changes to this table."""


class NotComplete(SourceError):
    """Somebody asked for the summary of a reading that has not come to its end."""


@contextmanager
def translate_errors(explain: Callable[[Exception], SourceError]) -> Iterator[None]:
    """Turn whatever a driver raises into an error of ours.

    Without a cause: a traceback with the driver's own error in it would show the server's
    sentence, and with it values of rows.
    """
    try:
        yield
    except SourceError:
        raise
    except Exception as error:  # noqa: BLE001 - a driver may raise anything, an IndexError too
        raise explain(error) from None
