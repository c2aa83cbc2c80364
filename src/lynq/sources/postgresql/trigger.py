"""The notification channel of a PostgreSQL table, and the SQL of the trigger that notifies it.

A statement-level trigger notifies the channel. The channel's name is its only argument, in every
release: the listener looks up in pg_trigger whether any trigger notifies its channel, on the table
or, for a view, on its tables.

With a uid column, the payload of a notification has the uids of the changed rows, before and after
the change. PostgreSQL keeps the rows of a statement for triggers of one event, so there is one
trigger per event; the trigger of TRUNCATE has the name of the only trigger of earlier releases, and
replaces it. A payload has at most 8000 bytes: a statement that changes many rows notifies without
uids, as all triggers without a uid column do. Any row may have changed then.

PostgreSQL has no privilege for LISTEN: each role that can connect to the database receives the
notifications of all tables. So uids are notified on request only.
"""

import hashlib

import msgspec

from lynq.api.nesting import depth_checked
from lynq.sources.errors import InvalidSettings
from lynq.sources.postgresql.settings import DIALECT
from lynq.sources.query import Table, check_name

DEFAULT_SCHEMA = "public"
_LONGEST_NAME = 63
_DIGEST = 16
_PREFIX = "lynq_"
_FUNCTION = "lynq_notify"

_SQL = """\
-- Notifies Lynq of changes of {table}, for hubs that read {read}.
-- LISTEN needs no privilege: each role of the database can learn when {table} changes, but not how.
-- Run it as the owner of {table}, on PostgreSQL 14 or later. It can be run repeatedly, and replaces
-- triggers that notify uids.

DROP TRIGGER IF EXISTS {insert_trigger} ON {target};
DROP TRIGGER IF EXISTS {update_trigger} ON {target};
DROP TRIGGER IF EXISTS {delete_trigger} ON {target};

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

_MAX_ROWS = 200
"""Changed rows of a statement above which a notification has no uids."""
_MAX_PAYLOAD = 7000

_SQL_WITH_UIDS = """\
-- Notifies Lynq of changed rows of {table}, for hubs that read {read} with the uid column {uid}.
-- LISTEN needs no privilege: each role of the database can learn the uids of changed rows. Without
-- --uid, notifications have none.
-- Run it as the owner of {table}, on PostgreSQL 14 or later. It can be run repeatedly, and replaces
-- the trigger that notifies without uids.

CREATE OR REPLACE FUNCTION {function}() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog AS $lynq$
DECLARE
  changed bigint;
  uids text[];
  payload text := '';
BEGIN
  IF TG_OP = 'INSERT' THEN
    SELECT count(*), array_agg(DISTINCT uid) INTO changed, uids
    FROM (SELECT {column}::text AS uid FROM lynq_new LIMIT {limit}) AS images;
  ELSIF TG_OP = 'DELETE' THEN
    SELECT count(*), array_agg(DISTINCT uid) INTO changed, uids
    FROM (SELECT {column}::text AS uid FROM lynq_old LIMIT {limit}) AS images;
  ELSIF TG_OP = 'UPDATE' THEN
    SELECT count(*), array_agg(DISTINCT uid) INTO changed, uids
    FROM (
      SELECT {column}::text AS uid FROM lynq_old
      UNION ALL SELECT {column}::text FROM lynq_new
      LIMIT {limit}
    ) AS images;
  END IF;
  IF changed = 0 THEN
    RETURN NULL;
  END IF;
  IF changed < {limit} THEN
    payload := json_build_object('column', '{uid}', 'uids', uids)::text;
  END IF;
  IF octet_length(payload) > {payload} THEN
    payload := '';
  END IF;
  PERFORM pg_notify(TG_ARGV[0], payload);
  RETURN NULL;
END
$lynq$;

CREATE OR REPLACE TRIGGER {trigger}
AFTER TRUNCATE ON {target}
FOR EACH STATEMENT EXECUTE FUNCTION {function}('{channel}');

CREATE OR REPLACE TRIGGER {insert_trigger}
AFTER INSERT ON {target} REFERENCING NEW TABLE AS lynq_new
FOR EACH STATEMENT EXECUTE FUNCTION {function}('{channel}');

CREATE OR REPLACE TRIGGER {update_trigger}
AFTER UPDATE ON {target} REFERENCING OLD TABLE AS lynq_old NEW TABLE AS lynq_new
FOR EACH STATEMENT EXECUTE FUNCTION {function}('{channel}');

CREATE OR REPLACE TRIGGER {delete_trigger}
AFTER DELETE ON {target} REFERENCING OLD TABLE AS lynq_old
FOR EACH STATEMENT EXECUTE FUNCTION {function}('{channel}');
"""


class _Payload(msgspec.Struct):
    """The payload of a notification with uids."""

    column: str
    uids: list[str]


def uids_in(payload: str, column: str) -> frozenset[str] | None:
    """Return the uids of a notification; None if it does not tell the values of this column.

    Any client of the database can send any payload.
    """
    try:
        decoded = msgspec.json.decode(depth_checked(payload), type=_Payload)
    except (msgspec.DecodeError, UnicodeError):
        return None
    return frozenset(decoded.uids) if decoded.column == column and decoded.uids else None


def channel_of(schema: str, table: str) -> str:
    """Return the notification channel of a table; it is the same in every release."""
    return _bounded(f"{_PREFIX}{schema}.{table}")


def _bounded(name: str) -> str:
    """Return a name that PostgreSQL does not cut off."""
    if len(name.encode()) <= _LONGEST_NAME:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:_DIGEST]
    prefix_length = _LONGEST_NAME - len(digest) - 1
    prefix = name.encode()[:prefix_length].decode(errors="ignore")
    return f"{prefix}_{digest}"


def trigger_sql(table: Table, read: Table | None = None, uid: str = "") -> str:
    """Return the SQL of the trigger on `table`, for hubs that read it, or the view `read` on it.

    The trigger is named after the channel: a table of three views has three triggers. `uid` is the
    uid column, of the table and of the view.
    """
    target = _qualified(table)
    watched = _qualified(read or table)
    channel = channel_of(watched.schema, watched.name)
    if uid:
        return _sql_with_uids(target, watched, uid)
    return _SQL.format(
        table=target,
        read=watched,
        function=Table(target.schema, _FUNCTION).quoted(DIALECT),
        trigger=DIALECT.name(channel, field="table"),
        target=target.quoted(DIALECT),
        channel=channel,
        **_row_triggers(watched),
    )


def _row_triggers(watched: Table) -> dict[str, str]:
    """Return the names of the triggers that notify uids."""
    # No name of a table has parentheses, so no other channel has such a name.
    return {
        f"{event}_trigger": DIALECT.name(
            _bounded(f"{_PREFIX}{watched.schema}.{watched.name} ({event})"), field="table"
        )
        for event in ("insert", "update", "delete")
    }


def _sql_with_uids(target: Table, watched: Table, uid: str) -> str:
    check_name(uid, field="uid")
    if "$" in uid:
        raise InvalidSettings("a uid column with a dollar sign is not supported", field="uid")
    channel = channel_of(watched.schema, watched.name)
    return _SQL_WITH_UIDS.format(
        table=target,
        read=watched,
        uid=uid,
        column=DIALECT.name(uid, field="uid"),
        function=Table(target.schema, _bounded(f"{_FUNCTION}_{uid}")).quoted(DIALECT),
        trigger=DIALECT.name(channel, field="table"),
        target=target.quoted(DIALECT),
        channel=channel,
        limit=_MAX_ROWS + 1,
        payload=_MAX_PAYLOAD,
        **_row_triggers(watched),
    )


def _qualified(table: Table) -> Table:
    return table if table.schema else Table(DEFAULT_SCHEMA, table.name)
