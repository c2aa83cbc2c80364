"""Where a SQLite file may lie: below one directory, and really there."""

from pathlib import Path

from lynq.sources.errors import InvalidSettings, MissingDatabase, MissingGrant
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
    except RuntimeError:
        raise InvalidSettings("the path leads in a circle", field=_FIELD) from None
    except (OSError, UnicodeError):
        raise InvalidSettings("no file can have such a path", field=_FIELD) from None
    if directory not in file.parents:
        raise InvalidSettings("the path leads out of --sqlite-dir", field=_FIELD)
    if not _is_file(file, settings):
        raise MissingDatabase("there is no such file", place=settings.place)
    return file


def _is_file(file: Path, settings: SQLiteSettings) -> bool:
    try:
        return file.is_file()
    except PermissionError:
        raise MissingGrant(
            "the operator may not enter the folder of the file", place=settings.place
        ) from None
    except OSError:
        raise InvalidSettings("no file can have such a path", field=_FIELD) from None
