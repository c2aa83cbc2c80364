"""PostgreSQL, through asyncpg."""

from lynq.sources.postgresql.source import PostgreSQLSource

__all__ = ["PostgreSQLSource"]
