"""MySQL and MariaDB, through asyncmy."""

from lynq.sources.mysql.source import open_mysql

__all__ = ["open_mysql"]
