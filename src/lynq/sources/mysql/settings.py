"""Connection settings and SQL dialect of MySQL and MariaDB."""

from dataclasses import dataclass
from typing import Any, ClassVar

from lynq.api import SourceType
from lynq.api.source import LONGEST_NAME
from lynq.sources.query import Dialect
from lynq.sources.settings import ServerSettings

# Characters, because UTF-16 may have more bytes than the UTF-8 that is sent; of a BLOB, bytes.
DIALECT = Dialect("`", LONGEST_NAME[SourceType.MYSQL], size="CHAR_LENGTH({})")

# These authentication plugins send the password itself, and the server chooses the plugin.
_CLEAR_TEXT_PLUGINS = ("mysql_clear_password", "dialog", "mysql_old_password")
_AUTH_PLUGIN_CANNOT_LOAD = 2059


@dataclass(frozen=True, slots=True, kw_only=True)
class MySQLSettings(ServerSettings):
    """Connection settings of a MySQL or MariaDB server."""

    engine: ClassVar[SourceType] = SourceType.MYSQL
    port: int = 3306


def login_arguments(settings: MySQLSettings, error: type[Exception]) -> dict[str, Any]:
    """Return the connect arguments that asyncmy and pymysql share; `error` is the driver's own."""

    def reject_unencrypted(connection: Any) -> None:  # noqa: ANN401 - the drivers have no types
        """Raise rather than send the password over a connection without TLS."""
        if not connection._secure:  # noqa: SLF001 - not public in either driver
            raise error(_AUTH_PLUGIN_CANNOT_LOAD, "not without TLS")

    return {
        "host": settings.host,
        "port": settings.port,
        "user": settings.username,
        # Both drivers would encode a text as Latin-1.
        "password": settings.password.encode(),
        "database": settings.database,
        "charset": "utf8mb4",
        "auth_plugin_map": dict.fromkeys(_CLEAR_TEXT_PLUGINS, reject_unencrypted),
    }
