"""Errors of sources, one type per cause.

`str(error)` is safe to log and to show. It names the endpoint (engine, host, database, table), says
what happened and what to do, and gives the server's error code. It never contains the server's own
message: a failed cast in a view quotes the value, and a driver could quote a password.

Drivers' exceptions are translated here and never leave lynq.sources.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

# ruff: noqa: N818 - the types name the cause: `except WrongPassword` needs no suffix


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """The address of a database; every error message begins with it."""

    engine: str
    host: str = ""
    port: int = 0
    database: str = ""

    def __str__(self) -> str:
        """Return it as `mysql db.example.com:3306, database shop`."""
        address = f" {self.host}:{self.port}" if self.host else ""
        return f"{self.engine}{address}, database {self.database}"


class SourceError(Exception):
    """The base of all errors that lynq.sources raises on purpose."""

    def __init__(
        self, cause: str, *, endpoint: Endpoint | None = None, table: str = "", code: str = ""
    ) -> None:
        self.cause = cause
        self.endpoint = endpoint
        self.table = table
        self.code = code
        location = str(endpoint) if endpoint else ""
        if table:
            location += f", table {table}"
        super().__init__(f"{location.lstrip(', ')}: {cause}" if location else cause)


class InvalidSettings(SourceError, ValueError):
    """The settings are invalid, independently of the server; `field` names the field."""

    def __init__(self, cause: str, *, field: str) -> None:
        self.field = field
        super().__init__(f"{field}: {cause}")


class SourceConnectionFailed(SourceError):
    """There is no usable connection; the subtypes name the cause."""


class UnknownHost(SourceConnectionFailed):
    """The host name does not resolve."""


class DeniedHost(SourceConnectionFailed):
    """The operator does not connect to this host, or to one of its addresses."""


class Refused(SourceConnectionFailed):
    """The server refused the connection, or the network has no route to it."""


class TLSFailed(SourceConnectionFailed):
    """The connection could not be encrypted as required, or the certificate is not trusted."""


class TooManyConnections(SourceConnectionFailed):
    """The server or the connection pool has reached its connection limit."""


class ServerStopping(SourceConnectionFailed):
    """The server is starting up, shutting down or restarting."""


class LoginFailed(SourceConnectionFailed):
    """The server rejects the login of this user from this address."""


class UnverifiedServer(LoginFailed):
    """The server asks for the password itself, and nothing shows which server it is."""


class WrongPassword(LoginFailed):
    """User name or password is wrong."""


class SourceTimedOut(SourceError):
    """A timeout of the settings was exceeded."""


class ConnectTimedOut(SourceTimedOut, SourceConnectionFailed):
    """Connecting and logging in exceeded connectTimeout."""


class QueryTimedOut(SourceTimedOut):
    """Reading all rows exceeded queryTimeout."""


class Locked(SourceTimedOut):
    """The table stayed locked by another client until the timeout."""


class Interrupted(SourceError):
    """The connection was lost or the statement was killed. The rows so far are incomplete."""


class StatementRefused(SourceError):
    """A statement may change more than its transaction can roll back."""


class StatementFailed(SourceError):
    """The database rejected a statement."""


class QueryFailed(SourceError):
    """The server rejected the query; the subtypes name the cause."""


class MissingDatabase(QueryFailed, SourceConnectionFailed):
    """The database does not exist."""


class MissingTable(QueryFailed):
    """The table or view does not exist."""


class MissingColumn(QueryFailed):
    """The table or view has no such column."""


class MissingGrant(QueryFailed):
    """The user lacks the privilege to read this table or column, or to follow its changes."""


class PushUnavailable(SourceError):
    """Push needs a change of the setup; polling continues."""


class DriverMissing(PushUnavailable):
    """The optional package of the push channel is not installed."""


class MissingSetting(PushUnavailable):
    """The server's configuration does not allow push."""


class MissingTrigger(PushUnavailable):
    """No trigger in the database notifies changes of this table."""


class TooLarge(SourceError):
    """The rows of a read have more bytes than the operator holds in memory for one hub."""


class NotSelectable(SourceError):
    """Rows of this source cannot be selected by their uid: all rows have to be read."""


class NotComplete(SourceError):
    """The summary of a read was requested before its end."""


@contextmanager
def translate_errors(explain: Callable[[Exception], SourceError]) -> Iterator[None]:
    """Translate exceptions of a driver into a SourceError.

    The driver's exception is not chained: its message, which may contain values of rows, would
    appear in the traceback.
    """
    try:
        yield
    except SourceError:
        raise
    except Exception as error:  # noqa: BLE001 - a driver may raise anything, even an IndexError
        raise explain(error) from None
