"""Where a SQLite file may lie: below one directory, and really there."""

from pathlib import Path

from lynq.sources.errors import InvalidSettings, MissingDatabase
from lynq.sources.settings import SQLiteSettings

_FIELD = "sqlite.path"


def locate(settings: SQLiteSettings) -> Path:
    """Return the file with symbolic links resolved; refuse one that lies elsewhere."""
    if settings.directory is None:
        raise InvalidSettings(
            "this operator reads no SQLite files: it was started without --sqlite-dir",
            field=_FIELD,
        )
    if "\0" in settings.path:
        raise InvalidSettings("a path has a control character in it", field=_FIELD)
    directory = settings.directory.resolve()
    try:
        file = (directory / settings.path).resolve()
    except (OSError, RuntimeError):
        raise InvalidSettings("the path leads in a circle", field=_FIELD) from None
    if directory not in file.parents:
        raise InvalidSettings("the path leads out of --sqlite-dir", field=_FIELD)
    if not file.is_file():
        raise MissingDatabase("there is no such file", place=settings.place)
    return file
