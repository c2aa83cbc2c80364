"""Connection settings and SQL dialect of PostgreSQL."""

from dataclasses import dataclass
from typing import ClassVar

from lynq.api import SourceType
from lynq.api.source import LONGEST_NAME
from lynq.sources.query import Dialect
from lynq.sources.settings import ServerSettings

DIALECT = Dialect('"', LONGEST_NAME[SourceType.POSTGRESQL], "::text", "octet_length({})::bigint")


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgreSQLSettings(ServerSettings):
    """Connection settings of a PostgreSQL server."""

    engine: ClassVar[SourceType] = SourceType.POSTGRESQL
    port: int = 5432
