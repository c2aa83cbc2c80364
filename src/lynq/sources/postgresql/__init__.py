"""PostgreSQL, through asyncpg."""

from lynq.sources.postgresql.source import open_postgresql

__all__ = ["open_postgresql"]
