"""Connect to PostgreSQL, and begin a transaction that reads the same everywhere."""

import asyncio
import ssl
from typing import Any

import asyncpg

from lynq.sources.network import connect_within
from lynq.sources.postgresql.failures import connect_error
from lynq.sources.settings import PostgreSQLSettings
from lynq.sources.telling import translate_errors


async def connect(settings: PostgreSQLSettings) -> Any:  # noqa: ANN401 - the driver has no types
    """Return a new connection. Every parameter is given: the driver would ask the environment."""

    async def attempt(context: ssl.SSLContext | None) -> Any:  # noqa: ANN401
        with translate_errors(lambda error: connect_error(error, settings)):
            return await asyncpg.connect(
                host=settings.host,
                port=settings.port,
                user=settings.username,
                password=settings.password,
                database=settings.database,
                ssl=context or False,
                direct_tls=False,
                target_session_attrs="any",
                timeout=settings.connect_timeout,
                # A plan that outlives the reading would be one for the columns of yesterday.
                statement_cache_size=0,
                server_settings={"application_name": "lynq"},
            )

    return await connect_within(settings, settings.place, attempt)


async def begin(connection: Any, settings: PostgreSQLSettings) -> None:  # noqa: ANN401
    """Begin the transaction of a reading, in one round trip."""
    with translate_errors(lambda error: connect_error(error, settings)):
        async with asyncio.timeout(settings.connect_timeout):
            await connection.execute(_beginning(settings))


def _beginning(settings: PostgreSQLSettings) -> str:
    """Return what makes a transaction ours.

    The settings are the transaction's own, not the session's: a connection pooler between us and
    the server would let others have them. The server gives up a little after we have, so that
    nothing runs on when we cannot tell it any more; a lock it gives up on a little before, to be
    able to say so. Scans always begin at the table's begin, so that the order is the same each
    time.
    """
    limit = int(settings.query_timeout * 1000)
    local = {
        "statement_timeout": limit + 1000,
        "idle_in_transaction_session_timeout": limit + 1000,
        "lock_timeout": max(1, int(limit * 0.9)),
        "timezone": "'UTC'",
        "datestyle": "'ISO, YMD'",
        "intervalstyle": "'postgres'",
        "extra_float_digits": 1,
        "synchronize_seqscans": "off",
    }
    statements = [f"SET LOCAL {name} = {value}" for name, value in local.items()]
    return "; ".join(["BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", *statements])
