"""The registered engines, and how a source or a push channel is opened from its settings."""

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Any, Final

from lynq.api import SourceType
from lynq.sources import mysql, postgresql, sqlite
from lynq.sources.base import Engine, Source, SourceFacts
from lynq.sources.push.channel import ChangeStream, PushTiming, listening
from lynq.sources.query import Table
from lynq.sources.settings import Settings

ENGINES: Final[Mapping[SourceType, Engine[Any, Any]]] = {
    engine.name: engine for engine in (mysql.ENGINE, postgresql.ENGINE, sqlite.ENGINE)
}


def open_source(settings: Settings) -> Source:
    """Return the source that the settings describe; it connects when it is first read."""
    return ENGINES[settings.engine].driver().open(settings)


async def inspect_source(settings: Settings, table: str) -> SourceFacts:
    """Connect and return facts of the database that the settings describe; raises SourceError."""
    return await ENGINES[settings.engine].driver().inspect(settings, Table.named(table))


def open_changes(
    settings: Settings, table: str, timing: PushTiming | None = None, *, uid: str = ""
) -> AbstractAsyncContextManager[ChangeStream]:
    """Listen for changes of a table while the `async with` block runs.

    With the name of the uid column, changes say which rows have changed, where the engine can tell.
    Failures are reported in the stream. Only an invalid table name raises here.
    """
    timing = timing or PushTiming()
    driver = ENGINES[settings.engine].driver()
    return listening(partial(driver.listen, settings, Table.named(table), uid, timing), timing)
