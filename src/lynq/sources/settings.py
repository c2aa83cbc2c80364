"""Connection settings of a source: frozen data, with Secrets resolved and never shown.

Two equal settings reach the same source in the same way. A source is therefore re-opened exactly
when its settings differ: a rotated password or certificate takes effect without a restart.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Final, TypeVar

from lynq.api import SourceType, TlsMode
from lynq.api.denied_hosts import NONE_DENIED, DeniedHosts
from lynq.api.source import DatabaseServer
from lynq.sources.errors import Endpoint


@dataclass(frozen=True, slots=True, kw_only=True)
class TLS:
    """Encryption of a connection; certificates and key are PEM texts."""

    mode: TlsMode = TlsMode.VERIFY_FULL
    ca: str | None = None
    """Trusted certificate authorities; None: those of the operator's machine."""
    certificate: str | None = None
    key: str | None = field(default=None, repr=False)
    server_public_key: str | None = None
    """RSA key of a MySQL server, which encrypts the password where TLS does not."""


MIB: Final = 1 << 20
MAX_BYTES: Final = 64 * MIB
"""Bytes of the active rows of a read. Two reads and a plan fit into the chart's memory limit."""

UNENCRYPTED = TLS(mode=TlsMode.DISABLE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings(ABC):
    """Connection settings of any engine."""

    engine: ClassVar[SourceType]
    """The engine that these settings belong to."""

    query_timeout: float = 60.0
    """Seconds that reading all rows may take, lock waits included."""
    max_bytes: int = MAX_BYTES
    """Bytes that the active rows of a read may have; a larger read fails."""

    @property
    @abstractmethod
    def endpoint(self) -> Endpoint:
        """The database, as errors and identities name it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings(Settings):
    """Connection settings of a database server."""

    host: str
    port: int
    username: str
    password: str = field(default="", repr=False)
    database: str
    tls: TLS = UNENCRYPTED
    connect_timeout: float = 5.0
    """Seconds that connecting and logging in may take."""
    denied_hosts: DeniedHosts = NONE_DENIED
    """Hosts and addresses that are not connected to."""
    pool_size: int = 2
    """Maximum number of open connections."""
    pool_lifetime: float = 300.0
    """Seconds after which a connection is replaced by a new one."""

    @property
    def endpoint(self) -> Endpoint:
        """The database, as errors and identities name it."""
        return Endpoint(
            engine=self.engine.value, host=self.host, port=self.port, database=self.database
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedValues:
    """Values that a block of a hub's spec does not contain itself.

    They come from the Secrets and ConfigMaps that the block references, from its durations, and
    from the operator's flags.
    """

    password: str = ""
    tls: TLS = UNENCRYPTED
    connect_timeout: float = 5.0
    query_timeout: float = 60.0
    sqlite_directory: Path | None = None
    max_bytes: int = MAX_BYTES
    denied_hosts: DeniedHosts = NONE_DENIED


S = TypeVar("S", bound=ServerSettings)


def server_settings(
    settings: type[S], server: DatabaseServer, port: int, values: ResolvedValues
) -> S:
    """Return the settings of a database server from its block of the spec."""
    return settings(
        host=server.host,
        port=port,
        username=server.username,
        password=values.password,
        database=server.database,
        tls=values.tls,
        connect_timeout=values.connect_timeout,
        query_timeout=values.query_timeout,
        max_bytes=values.max_bytes,
        denied_hosts=values.denied_hosts,
    )
