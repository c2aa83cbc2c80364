"""SQLite, through the standard library, in a thread of its own."""

from lynq.sources.sqlite.source import SQLiteSource

__all__ = ["SQLiteSource"]
