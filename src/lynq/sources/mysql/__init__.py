"""MySQL and MariaDB, through asyncmy."""

from lynq.sources.mysql.source import MySQLSource

__all__ = ["MySQLSource"]
