"""Describes a MySQL or MariaDB server as its user sees it: version, TLS and grants."""

import re
from typing import Any, Final

from lynq.sources.base import SourceFacts
from lynq.sources.errors import translate_errors
from lynq.sources.mysql.settings import MySQLSettings
from lynq.sources.mysql.source import DriverConnection, connect_server
from lynq.sources.mysql.types import connect_error
from lynq.sources.query import Table

# MariaDB shows the hash of the password in the grants.
_AUTHENTICATION: Final = re.compile(r" IDENTIFIED .*")


async def inspect(settings: MySQLSettings, table: Table) -> SourceFacts:  # noqa: ARG001 - grants name their tables
    """Return the facts of the server; raises SourceError."""
    connection = await connect_server(settings)
    try:
        with translate_errors(lambda error: connect_error(error, settings)):
            ((version,),) = await _fetch(connection, "SELECT VERSION()")
            rows = await _fetch(connection, "SHOW SESSION STATUS LIKE 'Ssl_%'")
            grants = await _fetch(connection, "SHOW GRANTS")
    finally:
        connection.close()
    server = version if "MariaDB" in version else f"MySQL {version}"
    status = {row[0]: row[1] for row in rows}
    tls = f"{status.get('Ssl_version', '')} {status.get('Ssl_cipher', '')}".strip()
    return SourceFacts(
        version=server,
        tls=tls,
        login_risk=connection.login_risk,
        grants=tuple(_AUTHENTICATION.sub("", grant) for (grant,) in grants),
    )


async def _fetch(connection: DriverConnection, statement: str) -> list[tuple[str, ...]]:
    async with connection.cursor() as cursor:
        await cursor.execute(statement)
        rows: list[tuple[Any, ...]] = await cursor.fetchall()
    return [tuple(map(_text, row)) for row in rows]


def _text(value: Any) -> str:  # noqa: ANN401 - the driver has no types
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)
