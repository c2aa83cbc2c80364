"""PostgreSQL's side of push: the channel of a table, and the SQL that makes the table notify it.

A statement-level trigger notifies the channel, without payload: however many rows a transaction
touches, PostgreSQL delivers one notification when it commits. The channel's name travels as the
trigger's argument, for two reasons. One function serves every table, and whoever listens can look
in pg_trigger whether anything notifies its channel at all, be it on the table or, for a view, on
the tables behind it.
"""

import hashlib

from lynq.sources.query import POSTGRESQL, Table

DEFAULT_SCHEMA = "public"
_LONGEST_NAME = 63
_DIGEST = 16
_PREFIX = "lynq_"
_FUNCTION = "lynq_notify"

_SQL = """\
-- Tells Lynq when {table} has changed, for hubs that read {read}.
-- Run it as the owner of {table}, with PostgreSQL 14 or later. Running it again does no harm.

CREATE OR REPLACE FUNCTION {function}() RETURNS trigger
LANGUAGE plpgsql AS $lynq$
BEGIN
  PERFORM pg_catalog.pg_notify(TG_ARGV[0], '');
  RETURN NULL;
END
$lynq$;

CREATE OR REPLACE TRIGGER {trigger}
AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON {target}
FOR EACH STATEMENT EXECUTE FUNCTION {function}('{channel}');
"""


def channel_of(schema: str, table: str) -> str:
    """Return the channel that tells of changes to a table; the same one in every release."""
    name = f"{_PREFIX}{schema}.{table}"
    if len(name.encode()) <= _LONGEST_NAME:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:_DIGEST]
    room = _LONGEST_NAME - len(digest) - 1
    readable = name.encode()[:room].decode(errors="ignore")
    return f"{readable}_{digest}"


def trigger_sql(table: Table, read: Table | None = None) -> str:
    """Return what to run so that `table` notifies the hubs that read it, or that read a view on it.

    The trigger has the channel's name: a table behind three views has three triggers.
    """
    target = _qualified(table)
    watched = _qualified(read or table)
    channel = channel_of(watched.schema, watched.name)
    return _SQL.format(
        table=target,
        read=watched,
        function=Table(target.schema, _FUNCTION).quoted(POSTGRESQL),
        trigger=POSTGRESQL.name(channel, field="table"),
        target=target.quoted(POSTGRESQL),
        channel=channel,
    )


def _qualified(table: Table) -> Table:
    return table if table.schema else Table(DEFAULT_SCHEMA, table.name)
