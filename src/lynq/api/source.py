"""The sources of a hub: databases, connections, and valid names of tables and columns.

Names come from the spec of a hub and become part of an SQL statement. The driver quotes them; in
addition, characters that end a name or start a comment are rejected, by the same rule in admission
and in the reader.
"""

import unicodedata
from enum import StrEnum
from typing import Annotated, ClassVar, Final

from msgspec import Meta

from lynq.api.wire import Int32, Interval, Rule, Timeout, Wire

Port = Annotated[Int32, Meta(ge=1, le=65535)]
NonEmpty = Annotated[str, Meta(min_length=1)]

VALUES_LIMIT: Final = 200 * 1024
"""How many bytes the values of a row may have: annotations are limited to 256 KiB per object."""


class SourceType(StrEnum):
    """Type of the database."""

    MYSQL = "mysql"
    """MySQL or MariaDB, configured in mysql."""
    POSTGRESQL = "postgresql"
    """PostgreSQL, configured in postgresql."""
    SQLITE = "sqlite"
    """SQLite file in the operator's --sqlite-dir, configured in sqlite."""


class ChangeDetection(StrEnum):
    """Detection of changed rows."""

    POLL = "Poll"
    """All rows are read once per syncInterval."""
    PUSH = "Push"
    """The database notifies the operator within milliseconds, by MySQL's binlog, PostgreSQL's
    LISTEN/NOTIFY or SQLite's data_version. Polling continues as a fallback. The condition
    PushConnected reports the state of the push channel."""


class TlsMode(StrEnum):
    """Encryption and verification of a connection."""

    DISABLE = "disable"
    """Not encrypted."""
    PREFER = "prefer"
    """Encrypted if the server supports it. The server is not verified."""
    REQUIRE = "require"
    """Encrypted. The server is not verified."""
    VERIFY_CA = "verify-ca"
    """Encrypted. The server's certificate must be signed by a trusted CA."""
    VERIFY_FULL = "verify-full"
    """As verify-ca, and the certificate must be valid for the host."""

    @property
    def verifies_server(self) -> bool:
        """Whether the server has to prove by its certificate which one it is."""
        return self in (TlsMode.VERIFY_CA, TlsMode.VERIFY_FULL)


class PasswordReceiver(StrEnum):
    """Servers that the password itself may be sent to."""

    VERIFIED_SERVER = "VerifiedServer"
    """Only a server that is verified: by tls.mode verify-ca or verify-full, or by
    tls.serverPublicKeyRef. Every server may be logged in to by challenge and response."""
    ANY_SERVER = "AnyServer"
    """Any server that answers, and so also one that poses as the database: over TLS without
    verification, or encrypted with an RSA key that the server hands out."""


class KeyHolder(StrEnum):
    """Kind of an object with data."""

    SECRET = "Secret"  # noqa: S105 - a kind
    """A Secret."""
    CONFIG_MAP = "ConfigMap"
    """A ConfigMap, for certificates."""


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


def _present(
    *references: SecretKeyRef | ObjectKeyRef | None,
) -> tuple[SecretKeyRef | ObjectKeyRef, ...]:
    return tuple(reference for reference in references if reference)


class Tls(Wire, frozen=True, kw_only=True):
    """Encryption of the connection, and verification of the server."""

    cel_rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "has(self.certRef) == has(self.keyRef)",
            "certRef and keyRef belong together: give both or neither",
            at=".keyRef",
        ),
    )

    mode: TlsMode = TlsMode.VERIFY_FULL
    """Encryption and verification of the connection. Defaults to verify-full."""

    ca_ref: ObjectKeyRef | None = None
    """CA certificates (PEM) that the server's certificate is verified with. Defaults to the CAs of
    the operator's image. Only for verify-ca and verify-full."""

    cert_ref: ObjectKeyRef | None = None
    """Client certificate (PEM), for servers that require one. Requires keyRef."""

    key_ref: SecretKeyRef | None = None
    """Private key (PEM, without passphrase) of certRef, in a Secret."""

    @property
    def references(self) -> tuple[SecretKeyRef | ObjectKeyRef, ...]:
        """The keys of Secrets and ConfigMaps that the block references."""
        return _present(self.ca_ref, self.cert_ref, self.key_ref)


class MySQLTls(Tls, frozen=True, kw_only=True):
    """Encryption of the connection, and verification of the server."""

    cel_rules: ClassVar[tuple[Rule, ...]] = (
        *Tls.cel_rules,
        Rule(
            "!has(self.serverPublicKeyRef) || self.mode == 'disable'",
            "serverPublicKeyRef is for connections without TLS: set mode to disable",
            at=".serverPublicKeyRef",
        ),
    )

    server_public_key_ref: ObjectKeyRef | None = None
    """RSA public key (PEM) of the server, which encrypts the password for the plugins
    caching_sha2_password and sha256_password. Only for mode disable: over TLS, a server takes the
    password unencrypted, and has to be verified by its certificate."""

    @property
    def references(self) -> tuple[SecretKeyRef | ObjectKeyRef, ...]:
        """The keys of Secrets and ConfigMaps that the block references."""
        return (*super().references, *_present(self.server_public_key_ref))


class DatabaseServer(Wire, frozen=True, kw_only=True):
    """The connection to a database server; each engine adds its port."""

    host: str
    """Host name or address of the server, for example db.example.com."""

    username: str
    """User of the connection. It only needs the permission to select from the table."""

    password_ref: SecretKeyRef | None = None
    """Password, in a Secret. A changed Secret is used without a restart. Without this block the
    password is empty."""

    database: str
    """Name of the database."""

    table: str
    """Table or view with one row per tenant, optionally with its schema: tenants or sales.tenants.
    Use a view for joins, filters and computed columns."""

    tls: Tls | None = None
    """Encryption of the connection. Without this block the connection is not encrypted."""

    connect_timeout: Timeout = "5s"
    """Timeout of connection and login, for example 5s. Defaults to 5s."""

    query_timeout: Timeout = "60s"
    """Timeout of the read of all rows, for example 60s or 5m. A read that times out is retried, and
    changes nothing. Defaults to 60s."""

    @property
    def references(self) -> tuple[SecretKeyRef | ObjectKeyRef, ...]:
        """The keys of Secrets and ConfigMaps that the connection needs."""
        return (*_present(self.password_ref), *(self.tls.references if self.tls else ()))


class MySQL(DatabaseServer, frozen=True, kw_only=True):
    """A table of a MySQL or MariaDB server."""

    port: Port = 3306
    """TCP port of the server. Defaults to 3306."""

    tls: MySQLTls | None = None
    """Encryption of the connection. Without this block the connection is not encrypted."""

    # Without a default in the CRD, stored hubs stay as they are.
    send_password_to: PasswordReceiver | None = None
    """Servers that the password itself may be sent to: the server asks for it with
    caching_sha2_password (unless the account is in the server's cache), sha256_password,
    mysql_clear_password and dialog. Defaults to VerifiedServer."""

    @property
    def logs_in_by_challenge_only(self) -> bool:
        """Whether no server gets the password itself, so that some accounts cannot log in."""
        is_verified = self.tls and (self.tls.mode.verifies_server or self.tls.server_public_key_ref)
        return bool(
            self.password_ref
            and not is_verified
            and self.send_password_to is not PasswordReceiver.ANY_SERVER
        )


class PostgreSQL(DatabaseServer, frozen=True, kw_only=True):
    """A table of a PostgreSQL server."""

    port: Port = 5432
    """TCP port of the server. Defaults to 5432."""


class SQLite(Wire, frozen=True, kw_only=True):
    """A table of a SQLite database file."""

    path: Annotated[str, Meta(min_length=1, max_length=4096)]
    """Path of the database file, relative to the operator's --sqlite-dir. The file is opened
    read-only and must be in that directory after symbolic links are resolved. Without that flag the
    operator rejects SQLite hubs."""

    table: NonEmpty
    """Table or view with one row per tenant."""


class HubSource(Wire, frozen=True, kw_only=True):
    """The source of rows, and the interval of reads."""

    # No rule for mysql: the CRD of the Go operator accepted such hubs, and its webhook denied them.
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
    """Type of the database. The block of the same name defines the connection."""

    sync_interval: Interval = "30s"
    """Interval of reads of all rows, as a whole number of seconds, minutes or hours: 30s, 5m, 1h. A
    failed read is retried with exponential back-off up to this interval. Defaults to 30s."""

    changes: ChangeDetection = ChangeDetection.POLL
    """Detection of changed rows between two reads. Defaults to Poll."""

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
"""Bytes of the longest name. PostgreSQL truncates longer ones, and so reads another column."""

_QUOTES: Final = frozenset("'\"`[]\\")
_COMMENTS: Final = ("--", "/*", "*/", "#")
_CONTROLS: Final = frozenset(("Cc", "Cs", "Zl", "Zp"))
_MAX_TABLE_PARTS: Final = 2


def name_problem(text: str) -> str | None:
    """Return why the text is not a valid column name; None if it is."""
    if not text or text != text.strip():
        return "a name is empty, or starts or ends with a space"
    if any(unicodedata.category(char) in _CONTROLS for char in text):
        return "a name contains a control character"
    if not _QUOTES.isdisjoint(text):
        return f"{text!r} contains a quote, bracket or backslash"
    if ";" in text or any(comment in text for comment in _COMMENTS):
        return f"{text!r} contains a semicolon or a comment"
    return None


def table_problem(text: str) -> str | None:
    """Return why the text is not a valid `table` or `schema.table`; None if it is."""
    parts = text.split(".")
    if len(parts) > _MAX_TABLE_PARTS:
        return f"{text!r} has more than one dot: use table or schema.table"
    return next((problem for part in parts if (problem := name_problem(part))), None)


def length_problem(text: str, longest: int) -> str | None:
    """Return why the name is too long for an engine; None if it fits."""
    if len(text.encode(errors="surrogatepass")) <= longest:
        return None
    return f"a name is limited to {longest} bytes"
