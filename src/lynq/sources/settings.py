"""How to reach a source: plain frozen data, with secrets already resolved and never shown.

Two equal settings reach the same source in the same way, so a pool is re-made exactly when they
differ: that is how a rotated password or certificate is taken up without a restart.
"""

from dataclasses import dataclass, field
from pathlib import Path

from lynq.api import TlsMode
from lynq.sources.errors import Endpoint


@dataclass(frozen=True, slots=True, kw_only=True)
class TLS:
    """How a connection is encrypted; certificates and key are PEM texts."""

    mode: TlsMode = TlsMode.VERIFY_FULL
    ca: str | None = None
    """Authorities to trust; without them, those that this machine trusts."""
    certificate: str | None = None
    key: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """What it takes to log in to a database server."""

    host: str
    port: int
    username: str
    password: str = field(default="", repr=False)
    database: str
    tls: TLS = TLS(mode=TlsMode.DISABLE)
    connect_timeout: float = 5.0
    """Seconds that connecting and logging in may take."""
    query_timeout: float = 60.0
    """Seconds that reading all rows may take."""
    pool_size: int = 2
    """Connections held at most."""
    pool_lifetime: float = 300.0
    """Seconds after which a connection is replaced by a new one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MySQLSettings(ServerSettings):
    """A MySQL or MariaDB server."""

    port: int = 3306

    @property
    def place(self) -> Endpoint:
        """Where it is, for errors and identities."""
        return Endpoint(engine="mysql", host=self.host, port=self.port, database=self.database)


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgreSQLSettings(ServerSettings):
    """A PostgreSQL server."""

    port: int = 5432

    @property
    def place(self) -> Endpoint:
        """Where it is, for errors and identities."""
        return Endpoint(engine="postgresql", host=self.host, port=self.port, database=self.database)


@dataclass(frozen=True, slots=True, kw_only=True)
class SQLiteSettings:
    """A SQLite file below the directory that the operator was given."""

    path: str
    """The file, relative to `directory`."""
    directory: Path | None
    """Where databases may lie; None refuses every one."""
    query_timeout: float = 60.0
    """Seconds that reading all rows, lock waits included, may take."""

    @property
    def place(self) -> Endpoint:
        """Where it is, for errors and identities."""
        return Endpoint(engine="sqlite", database=self.path)


Settings = MySQLSettings | PostgreSQLSettings | SQLiteSettings
