"""The notification channel of a PostgreSQL table, and the SQL of the trigger that notifies it.

A statement-level trigger notifies the channel, without payload: PostgreSQL delivers one
notification per committed transaction, for any number of rows. The channel's name is an argument of
the trigger, for two reasons. One function serves every table, and the listener can look up in
pg_trigger whether any trigger notifies its channel, on the table or, for a view, on its tables.
"""

import hashlib

from lynq.sources.postgresql.settings import DIALECT
from lynq.sources.query import Table

DEFAULT_SCHEMA = "public"
_LONGEST_NAME = 63
_DIGEST = 16
_PREFIX = "lynq_"
_FUNCTION = "lynq_notify"

_SQL = """\
-- Notifies Lynq of changes of {table}, for hubs that read {read}.
-- Run it as the owner of {table}, on PostgreSQL 14 or later. It can be run repeatedly.

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
    """Return the notification channel of a table; it is the same in every release."""
    name = f"{_PREFIX}{schema}.{table}"
    if len(name.encode()) <= _LONGEST_NAME:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:_DIGEST]
    prefix_length = _LONGEST_NAME - len(digest) - 1
    prefix = name.encode()[:prefix_length].decode(errors="ignore")
    return f"{prefix}_{digest}"


def trigger_sql(table: Table, read: Table | None = None) -> str:
    """Return the SQL of the trigger on `table`, for hubs that read it, or the view `read` on it.

    The trigger is named after the channel: a table of three views has three triggers.
    """
    target = _qualified(table)
    watched = _qualified(read or table)
    channel = channel_of(watched.schema, watched.name)
    return _SQL.format(
        table=target,
        read=watched,
        function=Table(target.schema, _FUNCTION).quoted(DIALECT),
        trigger=DIALECT.name(channel, field="table"),
        target=target.quoted(DIALECT),
        channel=channel,
    )


def _qualified(table: Table) -> Table:
    return table if table.schema else Table(DEFAULT_SCHEMA, table.name)
