"""The least grants of the user of a hub, as SQL to review."""

from collections.abc import Iterator, Sequence

from lynq.api import SourceType
from lynq.sources.engines import ENGINES
from lynq.sources.errors import InvalidSettings
from lynq.sources.query import Dialect, Table, check_name

_DEFAULT_SCHEMA = "public"


def grants_sql(
    engine: SourceType,
    table: Table,
    *,
    user: str,
    database: str = "",
    columns: Sequence[str] = (),
    push: bool = False,
) -> str:
    """Return the GRANT statements for reads of a table, and for push; raises InvalidSettings."""
    dialect = ENGINES[engine].dialect
    for field, name in (("user", user), *(("column", column) for column in columns)):
        check_name(name, field=field)
    if database:
        check_name(database, field="database")
    listed = ", ".join(dialect.name(column, field="column") for column in columns)
    select = f"SELECT ({listed})" if listed else "SELECT"
    if engine is SourceType.MYSQL:
        statements = _mysql(dialect, table, database, user, select, push=push)
    else:
        statements = _postgresql(dialect, table, database, user, select, push=push)
    return "".join(f"{statement}\n" for statement in statements)


def _mysql(
    dialect: Dialect, table: Table, database: str, user: str, select: str, *, push: bool
) -> Iterator[str]:
    schema = table.schema or database
    if not schema:
        raise InvalidSettings("write DATABASE.TABLE, or add --database", field="table")
    account = f"'{user}'@'%'"
    yield f"GRANT {select} ON {Table(schema, table.name).quoted(dialect)} TO {account};"
    if push:
        yield "-- For changes: Push. The server needs log_bin, binlog_format=ROW and a server_id."
        yield f"GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO {account};"


def _postgresql(
    dialect: Dialect, table: Table, database: str, user: str, select: str, *, push: bool
) -> Iterator[str]:
    role = dialect.name(user, field="user")
    schema = table.schema or _DEFAULT_SCHEMA
    if database:
        yield f"GRANT CONNECT ON DATABASE {dialect.name(database, field='database')} TO {role};"
    yield f"GRANT USAGE ON SCHEMA {dialect.name(schema, field='table')} TO {role};"
    yield f"GRANT {select} ON {Table(schema, table.name).quoted(dialect)} TO {role};"
    if push:
        yield "-- For changes: Push. LISTEN needs no grant; the table needs a trigger, see:"
        yield f"--   lynq source sql-trigger --table {Table(schema, table.name)}"
