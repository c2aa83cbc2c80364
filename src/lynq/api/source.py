"""Where a hub's rows are: the databases, and how to connect to them.

What the name of a column, table or schema may be: one rule for admission and for who reads.

Names come from whoever may write a hub and end up in a statement, so characters that end a name or
begin a comment are refused outright, although every dialect quotes what is left.
"""

import unicodedata
from enum import StrEnum
from typing import Annotated, ClassVar, Final

from msgspec import Meta

from lynq.api.wire import Int32, Interval, Rule, Timeout, Wire

Port = Annotated[Int32, Meta(ge=1, le=65535)]
NonEmpty = Annotated[str, Meta(min_length=1)]


class SourceType(StrEnum):
    """Which kind of database the rows are in."""

    MYSQL = "mysql"
    """MySQL or MariaDB, described in the block mysql."""
    POSTGRESQL = "postgresql"
    """PostgreSQL, described in the block postgresql."""
    SQLITE = "sqlite"
    """A SQLite file below the directory that the operator was given by --sqlite-dir, described
    in the block sqlite."""


class ChangeDetection(StrEnum):
    """How the hub learns that rows have changed."""

    POLL = "Poll"
    """By reading all rows once per syncInterval."""
    PUSH = "Push"
    """The database tells, within milliseconds: by MySQL's binlog, PostgreSQL's LISTEN/NOTIFY or
    SQLite's data_version. Polling goes on as a backstop, and the condition PushConnected shows
    whether the channel is up."""


class TlsMode(StrEnum):
    """How much is asked of an encrypted connection."""

    DISABLE = "disable"
    """Never encrypted."""
    PREFER = "prefer"
    """Encrypted if the server offers it, without checking who answers."""
    REQUIRE = "require"
    """Always encrypted, without checking who answers."""
    VERIFY_CA = "verify-ca"
    """Always encrypted, and the server's certificate must be signed by a trusted authority."""
    VERIFY_FULL = "verify-full"
    """As verify-ca, and the certificate must name the host."""


class KeyHolder(StrEnum):
    """What kind of object holds a key."""

    SECRET = "Secret"  # noqa: S105 - a kind
    """A Secret."""
    CONFIG_MAP = "ConfigMap"
    """A ConfigMap: for certificates, which are no secret."""


class SecretKeyRef(Wire, frozen=True, kw_only=True):
    """One key of a Secret in the hub's namespace."""

    name: str
    """Name of the Secret."""

    key: str
    """Key in its data."""


class ObjectKeyRef(Wire, frozen=True, kw_only=True):
    """One key of a Secret or ConfigMap in the hub's namespace."""

    kind: KeyHolder = KeyHolder.SECRET
    """Kind of the object. Defaults to Secret."""

    name: NonEmpty
    """Name of the object."""

    key: NonEmpty
    """Key in its data, for example ca.crt."""


class Tls(Wire, frozen=True, kw_only=True):
    """How the connection is encrypted, and who is trusted at the other end."""

    cel_rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "has(self.certRef) == has(self.keyRef)",
            "certRef and keyRef belong together: give both or neither",
            at=".keyRef",
        ),
    )

    mode: TlsMode = TlsMode.VERIFY_FULL
    """How much is asked of the connection. Defaults to verify-full."""

    ca_ref: ObjectKeyRef | None = None
    """Certificate authorities (PEM) that may have signed the server's certificate. Defaults to
    those that the operator's machine trusts. Only for verify-ca and verify-full."""

    cert_ref: ObjectKeyRef | None = None
    """Client certificate (PEM) to log in with, for servers that ask for one. Goes with keyRef."""

    key_ref: SecretKeyRef | None = None
    """Private key (PEM, without passphrase) of certRef, always in a Secret."""


class DatabaseServer(Wire, frozen=True, kw_only=True):
    """What a hub must know about any database server; each engine adds its port."""

    host: str
    """Host name or address of the server, for example db.example.com."""

    username: str
    """User to log in as. It needs no more than the right to select from the table."""

    password_ref: SecretKeyRef | None = None
    """Where the password is. A changed Secret is picked up without a restart. Without this block
    the password is empty."""

    database: str
    """Name of the database."""

    table: str
    """Table or view that holds one row per tenant, optionally with its schema: tenants or
    sales.tenants. A view is the place for joins, filters and computed columns."""

    tls: Tls | None = None
    """How the connection is encrypted. Without this block it is not."""

    connect_timeout: Timeout = "5s"
    """How long connecting and logging in may take, for example 5s. Defaults to 5s."""

    query_timeout: Timeout = "60s"
    """How long reading all rows may take, for example 60s or 5m. A read that takes longer has
    failed: nothing is changed or deleted, and it is tried again. Defaults to 60s."""


class MySQL(DatabaseServer, frozen=True, kw_only=True):
    """A MySQL or MariaDB server, and the table in it."""

    port: Port = 3306
    """TCP port of the server. Defaults to 3306."""


class PostgreSQL(DatabaseServer, frozen=True, kw_only=True):
    """A PostgreSQL server, and the table in it."""

    port: Port = 5432
    """TCP port of the server. Defaults to 5432."""


class SQLite(Wire, frozen=True, kw_only=True):
    """A SQLite database file, and the table in it."""

    path: Annotated[str, Meta(min_length=1, max_length=4096)]
    """File of the database, relative to the operator's --sqlite-dir. The file is opened read-only
    and must lie below that directory, symbolic links resolved; an operator without that flag
    refuses SQLite hubs."""

    table: NonEmpty
    """Table or view that holds one row per tenant."""


class HubSource(Wire, frozen=True, kw_only=True):
    """Where the rows are, and how often to look."""

    # None for mysql: the Go operator's CRD took such hubs, and left it to the webhook to refuse.
    cel_rules: ClassVar[tuple[Rule, ...]] = tuple(
        Rule(
            f"self.type != '{engine}' || has(self.{engine})",
            f"type {engine} needs the block {engine}",
            at=f".{engine}",
            reason="FieldValueRequired",
        )
        for engine in ("postgresql", "sqlite")
    )

    type: SourceType
    """Which kind of database the rows are in. The block of the same name says where it is."""

    sync_interval: Interval = "30s"
    """How often all rows are read, as a whole number of seconds, minutes or hours: 30s, 5m, 1h.
    After a failed read the next attempts come at growing intervals, never longer than this one.
    Defaults to 30s."""

    changes: ChangeDetection = ChangeDetection.POLL
    """How the hub learns between two reads that rows have changed. Defaults to Poll."""

    mysql: MySQL | None = None
    """The MySQL or MariaDB server, for type mysql."""

    postgresql: PostgreSQL | None = None
    """The PostgreSQL server, for type postgresql."""

    sqlite: SQLite | None = None
    """The SQLite file, for type sqlite."""

    @property
    def block(self) -> MySQL | PostgreSQL | SQLite | None:
        """The block of the same name as the type; None if it is missing."""
        block: MySQL | PostgreSQL | SQLite | None = getattr(self, self.type)
        return block


LONGEST_NAME: Final = {
    SourceType.MYSQL: 64 * 4,
    SourceType.POSTGRESQL: 63,
    SourceType.SQLITE: 1024,
}
"""Bytes of the longest name. PostgreSQL would cut a longer one, and so read another column."""

_QUOTES: Final = frozenset("'\"`[]\\")
_COMMENTS: Final = ("--", "/*", "*/", "#")
_CONTROLS: Final = frozenset(("Cc", "Cs", "Zl", "Zp"))
_PARTS_OF_A_TABLE: Final = 2


def name_problem(text: str) -> str | None:
    """Return why this can be no name of a column; None if it can."""
    if not text or text != text.strip():
        return "a name is empty, or begins or ends with a space"
    if any(unicodedata.category(char) in _CONTROLS for char in text):
        return "a name has a control character in it"
    if not _QUOTES.isdisjoint(text):
        return f"{text!r} has a quote, bracket or backslash in it"
    if ";" in text or any(comment in text for comment in _COMMENTS):
        return f"{text!r} has a semicolon or a comment in it"
    return None


def table_problem(text: str) -> str | None:
    """Return why this is no table or view, with or without its schema; None if it can be."""
    parts = text.split(".")
    if len(parts) > _PARTS_OF_A_TABLE:
        return f"{text!r} has more than one dot: write table or schema.table"
    return next((wrong for part in parts if (wrong := name_problem(part))), None)


def length_problem(text: str, longest: int) -> str | None:
    """Return why the name is too long for an engine; None if it is not."""
    if len(text.encode(errors="surrogatepass")) <= longest:
        return None
    return f"a name may have {longest} bytes at most"
