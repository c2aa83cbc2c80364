"""The demo's table of tenants: a SQLite file."""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final

FILE: Final = "tenants.db"

# One transaction: a concurrent read must not see an empty table.
_TABLE: Final = """
BEGIN;
DROP TABLE IF EXISTS tenants;
CREATE TABLE tenants (
    name TEXT PRIMARY KEY, active INTEGER, plan TEXT, image TEXT, replicas INTEGER
);
INSERT INTO tenants VALUES
    ('acme', 1, 'basic', 'shop/web:1.0', 1),
    ('beta', 1, 'basic', 'shop/web:1.0', 1),
    ('corp', 1, 'pro', 'shop/web:1.0', 2);
COMMIT;
"""


@dataclass(frozen=True, slots=True)
class Tenant:
    """A row of the table."""

    name: str
    active: bool
    plan: str
    image: str
    replicas: int


@dataclass(frozen=True, slots=True)
class TenantTable:
    """The table of tenants in one file."""

    path: Path

    def create(self) -> None:
        """Create the table with three tenants; replaces an existing one."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(self.path)) as connection:
            # Readers and writers do not block each other.
            connection.execute("PRAGMA journal_mode=WAL")
            connection.executescript(_TABLE)

    def change(self, statement: str) -> None:
        """Execute one statement."""
        with closing(sqlite3.connect(self.path)) as connection, connection:
            connection.execute(statement)

    def rows(self) -> Sequence[Tenant]:
        """Return all tenants, ordered by name."""
        query = "SELECT name, active, plan, image, replicas FROM tenants ORDER BY name"
        with closing(sqlite3.connect(self.path)) as connection:
            return [
                Tenant(name, bool(active), plan, image, replicas)
                for name, active, plan, image, replicas in connection.execute(query)
            ]
