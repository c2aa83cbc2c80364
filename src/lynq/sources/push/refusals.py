"""What it means when a MySQL or MariaDB server refuses its binlog, or stops sending it."""

from lynq.sources.errors import Interrupted, MissingGrant, SourceError
from lynq.sources.mysql.failures import connect_error
from lynq.sources.network import network_failure
from lynq.sources.settings import MySQLSettings

_NO_PRIVILEGE = 1227
_NO_BINLOG = 1236
_BROKEN = frozenset((1152, 1158, 1317, 1927, 2006, 2013, 3169, 4031))
# The server's sentence is the only thing that tells these two apart; it is looked at, not shown.
_CLASH = "same server"


def binlog_error(error: Exception, settings: MySQLSettings) -> SourceError:
    """Return the error to raise for one of the driver or the network."""
    place = settings.place
    if isinstance(cause := getattr(error, "original_exception", error), OSError):
        return network_failure(cause, place)
    code = error.args[0] if error.args else 0
    if code == _NO_PRIVILEGE:
        return MissingGrant(
            f"user {settings.username} may not follow the binlog:"
            " GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO that user"
            " (MariaDB shows the second one as BINLOG MONITOR)",
            place=place,
            code=str(code),
        )
    if code == _NO_BINLOG and _CLASH in str(error.args[-1]):
        return Interrupted("another replica has our server id; we take another one", place=place)
    if code == _NO_BINLOG:
        return Interrupted("the server cannot send its binlog from there (1236)", place=place)
    if code in _BROKEN:
        return Interrupted(f"the connection broke off ({code})", place=place, code=str(code))
    return connect_error(error, settings)
