"""Settings and SQL dialect of SQLite files."""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from lynq.api import SourceType
from lynq.api.source import LONGEST_NAME
from lynq.sources.errors import Endpoint
from lynq.sources.query import Dialect
from lynq.sources.settings import Settings

# In double quotes, SQLite reads an unknown name as a text: every row would have the column's name
# as its value. In backticks a name is always a name.
# The cast counts bytes, also behind a NUL. A file in UTF-16 has at most twice the bytes of UTF-8.
DIALECT = Dialect("`", LONGEST_NAME[SourceType.SQLITE], size="length(CAST({} AS BLOB)) / 2")


@dataclass(frozen=True, slots=True, kw_only=True)
class SQLiteSettings(Settings):
    """A SQLite file below the operator's --sqlite-dir."""

    engine: ClassVar[SourceType] = SourceType.SQLITE
    path: str
    """The file, relative to `directory`."""
    directory: Path | None
    """The directory of all SQLite databases; None rejects every file."""

    @property
    def endpoint(self) -> Endpoint:
        """The database, as errors and identities name it."""
        return Endpoint(engine=self.engine.value, database=self.path)
