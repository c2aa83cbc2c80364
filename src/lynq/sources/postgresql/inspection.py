"""Describes a PostgreSQL server as its user sees it: version, TLS and grants."""

from typing import Final

from lynq.sources.base import SourceFacts
from lynq.sources.errors import translate_errors
from lynq.sources.postgresql.settings import DIALECT, PostgreSQLSettings
from lynq.sources.postgresql.source import connect
from lynq.sources.postgresql.types import connect_error
from lynq.sources.query import Table

_VERSION: Final = "SELECT current_setting('server_version')"
_TLS: Final = (
    "SELECT version || ' ' || cipher FROM pg_catalog.pg_stat_ssl"
    " WHERE pid = pg_catalog.pg_backend_pid() AND ssl"
)
_GRANTS: Final = """
SELECT privilege
FROM unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'TRUNCATE', 'TRIGGER']) AS privilege
WHERE pg_catalog.has_table_privilege(pg_catalog.to_regclass($1), privilege)
"""
_COLUMN_GRANT: Final = (
    "SELECT pg_catalog.has_any_column_privilege(pg_catalog.to_regclass($1), 'SELECT')"
)


async def inspect(settings: PostgreSQLSettings, table: Table) -> SourceFacts:
    """Return the facts of the server; raises SourceError."""
    connection = await connect(settings)
    name = table.quoted(DIALECT)
    try:
        with translate_errors(lambda error: connect_error(error, settings)):
            version = await connection.fetchval(_VERSION)
            tls = await connection.fetchval(_TLS)
            grants = [row[0] for row in await connection.fetch(_GRANTS, name)]
            if not grants and await connection.fetchval(_COLUMN_GRANT, name):
                grants = ["SELECT on some columns"]
    finally:
        connection.terminate()
    shown = (f"{', '.join(grants)} on {table}",) if grants else ()
    return SourceFacts(version=f"PostgreSQL {version}", tls=tls or "", grants=shown)
