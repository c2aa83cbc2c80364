"""Rows from MySQL, PostgreSQL and SQLite: complete or failed, never some; see docs/sources.md."""
