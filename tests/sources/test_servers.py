"""The servers that the sources will be tested against answer our drivers."""

import asyncmy
import asyncpg

from databases import Server


async def test_mariadb_answers(mariadb: Server) -> None:
    connection = await asyncmy.connect(
        host=mariadb.host,
        port=mariadb.port,
        user=mariadb.user,
        password=mariadb.password,
        database=mariadb.database,
    )
    async with connection, connection.cursor() as cursor:
        await cursor.execute("SELECT VERSION(), DATABASE()")
        version, database = await cursor.fetchone()
    assert "MariaDB" in version or "MySQL" in version or version[0].isdigit()
    assert database == mariadb.database


async def test_postgresql_answers(postgresql: Server) -> None:
    connection = await asyncpg.connect(
        host=postgresql.host,
        port=postgresql.port,
        user=postgresql.user,
        password=postgresql.password,
        database=postgresql.database,
    )
    try:
        assert await connection.fetchval("SELECT current_database()") == postgresql.database
    finally:
        await connection.close()
