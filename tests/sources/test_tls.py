"""Every tls.mode against servers with TLS, without TLS, and with a wrong host name."""

import os
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

import databases
from certificates import Authority, Pair
from databases import Server
from lynq.api import TlsMode
from lynq.sources import TLS, errors
from sources.engines import (
    TENANTS,
    MariaDB,
    PostgreSQL,
    mariadb_at,
    new_table,
    opened,
    postgresql_at,
    read,
    tenants,
)

CERTIFIED = "certified"
"""A user that must log in with a certificate."""


@dataclass(frozen=True)
class Keys:
    """Files that a server can read, and their authorities."""

    folder: Path
    authority: Authority
    other_authority: Authority
    client: Pair

    def tls(self, mode: TlsMode, *, client: bool = False) -> TLS:
        pair = self.client if client else None
        return TLS(
            mode=mode,
            ca=self.authority.certificate.decode(),
            certificate=pair.certificate.decode() if pair else None,
            key=pair.key.decode() if pair else None,
        )


@pytest.fixture(scope="module")
def keys() -> Iterator[Keys]:
    """Certificates for 127.0.0.1, not for localhost."""
    authority = Authority()
    pair = authority.sign("server", "127.0.0.1")
    with TemporaryDirectory() as name:
        folder = Path(name)
        # The servers run under their own accounts, which must be able to read the files.
        folder.chmod(0o755)
        for file, content in (
            ("ca.pem", authority.certificate),
            ("server.pem", pair.certificate),
            ("server.key", pair.key),
        ):
            (folder / file).write_bytes(content)
        yield Keys(folder, authority, Authority("other"), authority.sign(CERTIFIED))


@pytest.fixture(scope="module")
def secure_mariadb(keys: Keys) -> Iterator[Server]:
    with databases.mariadb(
        f"--ssl-ca={keys.folder}/ca.pem",
        f"--ssl-cert={keys.folder}/server.pem",
        f"--ssl-key={keys.folder}/server.key",
    ) as server:
        yield server


@pytest.fixture(scope="module")
async def secure_postgresql(keys: Keys, postgresql: Server) -> AsyncIterator[Server]:
    """The shared server, with TLS for this module."""
    engine = postgresql_at(postgresql)
    async with engine.connection() as connection:
        data = Path(await connection.fetchval("SHOW data_directory"))
    with certified_login(data):
        own_key(keys.folder, data)
        await engine.execute(
            f"ALTER SYSTEM SET ssl_ca_file = '{keys.folder}/ca.pem'",
            f"ALTER SYSTEM SET ssl_cert_file = '{keys.folder}/server.pem'",
            f"ALTER SYSTEM SET ssl_key_file = '{keys.folder}/postgresql.key'",
            "ALTER SYSTEM SET ssl = on",
            "SELECT pg_reload_conf()",
        )
        yield postgresql
    await engine.execute("ALTER SYSTEM RESET ALL", "SELECT pg_reload_conf()")


@contextmanager
def certified_login(data: Path) -> Iterator[None]:
    """Require a certificate for one user."""
    if not data.exists():
        pytest.skip("a server named in the environment cannot be configured")
    hba = data / "pg_hba.conf"
    before = hba.read_text()
    hba.write_text(f"hostssl all {CERTIFIED} all cert\n{before}")
    yield
    hba.write_text(before)


def own_key(folder: Path, data: Path) -> None:
    """Copy the key for PostgreSQL, which requires that only its own account may read it."""
    key = folder / "postgresql.key"
    key.write_bytes((folder / "server.key").read_bytes())
    key.chmod(0o600)
    os.chown(key, data.stat().st_uid, data.stat().st_gid)


@pytest.fixture(params=["mysql", "postgresql"])
def secure(request: pytest.FixtureRequest) -> MariaDB | PostgreSQL:
    if request.param == "mysql":
        return mariadb_at(request.getfixturevalue("secure_mariadb"))
    return postgresql_at(request.getfixturevalue("secure_postgresql"))


@pytest.fixture
async def table(secure: MariaDB | PostgreSQL) -> str:
    """A view that returns the cipher of the connection that reads it."""
    table = new_table()
    cipher = (
        "SELECT variable_value FROM information_schema.session_status"
        " WHERE variable_name = 'Ssl_cipher'"
        if isinstance(secure, MariaDB)
        else "SELECT coalesce(cipher, '') FROM pg_stat_ssl WHERE pid = pg_backend_pid()"
    )
    await secure.execute(
        f"CREATE VIEW {table} AS SELECT 'u' AS uid, '1' AS activate, ({cipher}) AS plan"
    )
    return table


async def cipher(engine: MariaDB | PostgreSQL, table: str, tls: TLS, host: str = "") -> str:
    """Return the cipher of a read's connection; empty if it is not encrypted."""
    async with opened(engine.settings, tls=tls, host=host or engine.settings.host) as source:
        (row,), _ = await read(source, tenants(table))
    return row.extras["planId"]


ENCRYPTED = [TlsMode.PREFER, TlsMode.REQUIRE, TlsMode.VERIFY_CA, TlsMode.VERIFY_FULL]


@pytest.mark.parametrize("mode", ENCRYPTED)
async def test_every_mode_but_disable_encrypts(
    secure: MariaDB | PostgreSQL, table: str, keys: Keys, mode: TlsMode
) -> None:
    assert await cipher(secure, table, keys.tls(mode))


async def test_disable_does_not_encrypt(
    secure: MariaDB | PostgreSQL, table: str, keys: Keys
) -> None:
    assert await cipher(secure, table, keys.tls(TlsMode.DISABLE)) == ""


async def test_wrong_host_name_is_rejected_by_verify_full_only(
    secure: MariaDB | PostgreSQL, table: str, keys: Keys
) -> None:
    for mode in (TlsMode.REQUIRE, TlsMode.VERIFY_CA):
        assert await cipher(secure, table, keys.tls(mode), host="localhost")
    with pytest.raises(errors.TLSFailed, match="certificate"):
        await cipher(secure, table, keys.tls(TlsMode.VERIFY_FULL), host="localhost")


@pytest.mark.parametrize("mode", [TlsMode.VERIFY_CA, TlsMode.VERIFY_FULL])
async def test_untrusted_authority_is_rejected(
    secure: MariaDB | PostgreSQL, table: str, keys: Keys, mode: TlsMode
) -> None:
    for ca in (keys.other_authority.certificate.decode(), None):
        with pytest.raises(errors.TLSFailed, match="certificate"):
            await cipher(secure, table, replace(keys.tls(mode), ca=ca))


async def test_client_certificate_is_sent(
    secure: MariaDB | PostgreSQL, table: str, keys: Keys
) -> None:
    if isinstance(secure, MariaDB):
        await secure.execute(
            f"CREATE OR REPLACE USER {CERTIFIED} REQUIRE X509", f"GRANT ALL ON *.* TO {CERTIFIED}"
        )
    else:
        await secure.execute(
            f"DROP ROLE IF EXISTS {CERTIFIED}", f"CREATE ROLE {CERTIFIED} LOGIN SUPERUSER"
        )
    settings = replace(secure.settings, username=CERTIFIED, password="")
    certified = replace(secure, settings=settings)  # type: ignore[arg-type]
    assert await cipher(certified, table, keys.tls(TlsMode.VERIFY_FULL, client=True))
    with pytest.raises(errors.LoginFailed):
        await cipher(certified, table, keys.tls(TlsMode.VERIFY_FULL))


async def test_server_without_tls_is_rejected_unless_preferred(
    server_engine: MariaDB | PostgreSQL, keys: Keys
) -> None:
    if isinstance(server_engine, PostgreSQL):
        await server_engine.execute("ALTER SYSTEM SET ssl = off", "SELECT pg_reload_conf()")
    table = new_table()
    await server_engine.execute(f"CREATE TABLE {table} {TENANTS}")
    for mode in (TlsMode.REQUIRE, TlsMode.VERIFY_CA, TlsMode.VERIFY_FULL):
        async with opened(server_engine.settings, tls=keys.tls(mode)) as source:
            with pytest.raises(errors.TLSFailed, match="does not offer TLS"):
                await read(source, tenants(table))
    async with opened(server_engine.settings, tls=keys.tls(TlsMode.PREFER)) as source:
        _, summary = await read(source, tenants(table))
    assert summary.seen == 0
