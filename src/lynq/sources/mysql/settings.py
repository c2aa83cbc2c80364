"""Connection settings and SQL dialect of MySQL and MariaDB."""

from dataclasses import dataclass
from typing import Any, ClassVar

from lynq.api import SourceType
from lynq.api.source import LONGEST_NAME
from lynq.sources.query import Dialect
from lynq.sources.settings import ServerSettings

# Characters, because UTF-16 may have more bytes than the UTF-8 that is sent; of a BLOB, bytes.
DIALECT = Dialect("`", LONGEST_NAME[SourceType.MYSQL], size="CHAR_LENGTH({})")


@dataclass(frozen=True, slots=True, kw_only=True)
class MySQLSettings(ServerSettings):
    """Connection settings of a MySQL or MariaDB server."""

    engine: ClassVar[SourceType] = SourceType.MYSQL
    port: int = 3306
    accepts_any_server: bool = False
    """Whether the password may be sent to a server that is not verified."""


def login_arguments(settings: MySQLSettings) -> dict[str, Any]:
    """Return the connect arguments that asyncmy and pymysql share."""
    return {
        "host": settings.host,
        "port": settings.port,
        "user": settings.username,
        # Both drivers would encode a text as Latin-1.
        "password": settings.password.encode(),
        "database": settings.database,
        "charset": "utf8mb4",
    }
