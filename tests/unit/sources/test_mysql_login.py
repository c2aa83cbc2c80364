"""MySQL servers that ask for the password get it only if they are verified, or accepted."""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from itertools import product
from typing import Any, Final

import pytest
from asyncmy import auth
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from hypothesis import given
from hypothesis import strategies as st

from certificates import Authority
from lynq.api import TlsMode
from lynq.sources import TLS, MySQLSettings, SourceError, errors
from lynq.sources.mysql.binlog import BinlogFollower
from lynq.sources.mysql.login import Login as MySQLLogin
from lynq.sources.mysql.source import connect_server
from lynq.sources.push.thread import CancellableSocket
from lynq.sources.query import Table
from unit.sources.hostile_mysql import PUBLIC_KEY, SALT, Hostile, Script, hostile_server, switch

PASSWORD: Final = "hunter2-prod-db"
AUTHORITY: Final = Authority()
PAIR: Final = AUTHORITY.sign("server", "127.0.0.1")
OWN_PAIR: Final = Authority("own").sign("server", "127.0.0.1")
"""A certificate that the server has made itself."""
OTHER_KEY: Final = (
    rsa.generate_private_key(public_exponent=65537, key_size=2048)
    .public_key()
    .public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    .decode()
)
"""The RSA key of the true server."""

FULL: Final = b"\1\4"
"""caching_sha2_password: the account is not in the server's cache."""

REQUESTS: Final = {
    "clear text": Script(packets=(switch("mysql_clear_password", b""),)),
    "clear text in the greeting": Script("mysql_clear_password", (b"\1",)),
    "dialog": Script(packets=(switch("dialog", b"\4Password: "),)),
    "last question of dialog": Script(packets=(switch("dialog", b"\5Password: "),)),
    "dialog in the greeting": Script("dialog", (b"\4Password: ", b"\1\4Password: ")),
    "old password": Script(packets=(switch("mysql_old_password"),)),
    "old password without a name": Script(packets=(b"\xfe",)),
    "sha256": Script(packets=(switch("sha256_password"),)),
    "sha256 in the greeting": Script("sha256_password"),
    "sha256 with another answer": Script("sha256_password", (b"\1", b"\1")),
    "sha256 again": Script("sha256_password", (switch("sha256_password"),)),
    "caching_sha2": Script("caching_sha2_password", (FULL,)),
    "caching_sha2 by a switch": Script(packets=(switch("caching_sha2_password"), FULL)),
    "caching_sha2 twice": Script("caching_sha2_password", (FULL, FULL)),
    "full login of another plugin": Script(packets=(FULL,)),
    "sha256 after caching_sha2": Script("caching_sha2_password", (FULL, switch("sha256_password"))),
    "clear text after caching_sha2": Script(
        packets=(switch("caching_sha2_password"), switch("mysql_clear_password", b""))
    ),
    "unknown plugin": Script(packets=(switch("authentication_openid_connect_client"),)),
}
"""Every way in which a server asks for the password itself."""

Login = Callable[[MySQLSettings], Awaitable[None]]


async def log_in_to_read(settings: MySQLSettings) -> None:
    (await connect_server(settings)).close()


async def log_in_to_follow(settings: MySQLSettings) -> None:
    """Log in as the push channel does; errors after the login are ignored."""
    follower = BinlogFollower(settings, Table("", "t"), 2.0, lambda: None, lambda _: None)
    connected = socket.create_connection((settings.host, settings.port))
    cancellable = CancellableSocket(connected)
    try:
        await asyncio.to_thread(follower.follow, cancellable, cancellable)
    except IndexError:
        # The login is done: this server answers no query.
        pass
    finally:
        cancellable.close()


@pytest.fixture(params=[log_in_to_read, log_in_to_follow], ids=["asyncmy", "pymysql"])
def log_in(request: pytest.FixtureRequest) -> Login:
    """Each driver in turn."""
    login: Login = request.param
    return login


def settings_for(server: Hostile, mode: TlsMode, **changes: Any) -> MySQLSettings:
    return replace(
        MySQLSettings(
            host="127.0.0.1",
            port=server.port,
            username="lynq",
            password=PASSWORD,
            database="shop",
            tls=TLS(mode=mode, ca=AUTHORITY.certificate.decode()),
        ),
        **changes,
    )


@pytest.mark.parametrize(("asked", "mode"), list(product(REQUESTS, TlsMode)))
async def test_unverified_server_never_gets_the_password(
    log_in: Login, asked: str, mode: TlsMode
) -> None:
    with hostile_server(REQUESTS[asked], OWN_PAIR) as server, suppress(SourceError):
        await log_in(settings_for(server, mode))
    assert not server.has(PASSWORD)
    assert not server.was_asked_for_its_key
    assert bool(server.received) is not mode.verifies_server


@pytest.mark.parametrize(("asked", "mode"), list(product(REQUESTS, TlsMode)))
async def test_server_without_tls_never_gets_the_password(
    log_in: Login, asked: str, mode: TlsMode
) -> None:
    with hostile_server(REQUESTS[asked]) as server, suppress(SourceError):
        await log_in(settings_for(server, mode))
    assert not server.has(PASSWORD)
    assert not server.was_asked_for_its_key


@pytest.mark.parametrize("asked", REQUESTS)
async def test_password_is_never_sent_unencrypted(log_in: Login, asked: str) -> None:
    """Not even if any server is accepted: other machines of the network read it too."""
    with hostile_server(REQUESTS[asked]) as server, suppress(SourceError):
        await log_in(settings_for(server, TlsMode.DISABLE, accepts_any_server=True))
    assert not any(PASSWORD.encode() in packet for packet in server.received)


@pytest.mark.parametrize("asked", REQUESTS)
async def test_password_is_encrypted_for_the_named_key_only(log_in: Login, asked: str) -> None:
    """A server without the private key learns nothing, and its own key is not asked for."""
    tls = TLS(mode=TlsMode.DISABLE, server_public_key=OTHER_KEY)
    for any_server in (False, True):
        with hostile_server(REQUESTS[asked]) as server, suppress(SourceError):
            await log_in(
                settings_for(server, TlsMode.DISABLE, tls=tls, accepts_any_server=any_server)
            )
        assert not server.has(PASSWORD)
        assert not server.was_asked_for_its_key


SHA2 = ["caching_sha2", "caching_sha2 by a switch", "sha256"]
IN_CLEAR = ["clear text", "dialog", "last question of dialog"]


@pytest.mark.parametrize("asked", [*SHA2, *IN_CLEAR])
@pytest.mark.parametrize("mode", [TlsMode.VERIFY_CA, TlsMode.VERIFY_FULL])
async def test_verified_server_gets_the_password(log_in: Login, asked: str, mode: TlsMode) -> None:
    with hostile_server(REQUESTS[asked], PAIR) as server:
        await log_in(settings_for(server, mode))
    assert server.has(PASSWORD)
    assert not server.was_asked_for_its_key


@pytest.mark.parametrize("asked", SHA2)
async def test_server_with_the_named_key_gets_the_password(log_in: Login, asked: str) -> None:
    tls = TLS(mode=TlsMode.DISABLE, server_public_key=PUBLIC_KEY)
    with hostile_server(REQUESTS[asked]) as server:
        await log_in(settings_for(server, TlsMode.DISABLE, tls=tls))
    assert server.has(PASSWORD)
    assert not server.was_asked_for_its_key


@pytest.mark.parametrize(
    ("asked", "mode"),
    [
        *product(SHA2, [TlsMode.DISABLE, TlsMode.PREFER, TlsMode.REQUIRE]),
        *product(IN_CLEAR, [TlsMode.PREFER, TlsMode.REQUIRE]),
    ],
)
async def test_any_server_gets_the_password_if_the_hub_says_so(
    log_in: Login, asked: str, mode: TlsMode
) -> None:
    with hostile_server(REQUESTS[asked], OWN_PAIR) as server:
        await log_in(settings_for(server, mode, accepts_any_server=True))
    assert server.has(PASSWORD)
    assert server.was_asked_for_its_key is (mode is TlsMode.DISABLE)


@pytest.mark.parametrize(
    "script",
    [
        Script(),
        Script(packets=(switch("mysql_native_password"),)),
        Script("caching_sha2_password"),
        Script("caching_sha2_password", (b"\1\3",), answers=False),
        Script("sha256_password", (switch("mysql_native_password"),)),
    ],
)
@pytest.mark.parametrize("mode", [TlsMode.DISABLE, TlsMode.PREFER, TlsMode.REQUIRE])
async def test_challenge_is_answered_without_verification(
    log_in: Login, script: Script, mode: TlsMode
) -> None:
    with hostile_server(script, OWN_PAIR) as server:
        await log_in(settings_for(server, mode))
    assert server.received
    assert not server.has(PASSWORD)


@pytest.mark.parametrize(
    ("asked", "plugin", "remedies"),
    [
        ("caching_sha2", "caching_sha2_password", ("verify-full", "serverPublicKeyRef")),
        ("sha256", "sha256_password", ("verify-full", "serverPublicKeyRef")),
        ("clear text", "mysql_clear_password", ("verify-full", "tls.mode: require")),
        ("dialog", "dialog", ("verify-full", "tls.mode: require")),
    ],
)
async def test_error_names_plugin_user_and_remedies(
    log_in: Login, asked: str, plugin: str, remedies: tuple[str, ...]
) -> None:
    with (
        hostile_server(REQUESTS[asked]) as server,
        pytest.raises(errors.UnverifiedServer) as caught,
    ):
        await log_in(settings_for(server, TlsMode.DISABLE))
    message = str(caught.value)
    for part in (f"plugin {plugin}", "user lynq", "sendPasswordTo: AnyServer", *remedies):
        assert part in message
    assert f"mysql 127.0.0.1:{server.port}, database shop" in message
    assert PASSWORD not in message


RISKS = [
    (Script("caching_sha2_password", (b"\1\3",), answers=False), {}, True),
    (Script(), {}, False),
    (
        Script("caching_sha2_password", (b"\1\3",), answers=False),
        {"accepts_any_server": True},
        False,
    ),
    (
        Script("caching_sha2_password", (b"\1\3",), answers=False),
        {"tls": TLS(mode=TlsMode.DISABLE, server_public_key=PUBLIC_KEY)},
        False,
    ),
    (
        Script("caching_sha2_password", (b"\1\3",), answers=False),
        {"tls": TLS(ca=AUTHORITY.certificate.decode())},
        False,
    ),
]


@pytest.mark.parametrize(("script", "changes", "is_risky"), RISKS)
async def test_login_from_the_cache_of_the_server_is_a_risk(
    script: Script, changes: dict[str, Any], *, is_risky: bool
) -> None:
    """It works until the server restarts: `lynq source check` says so before."""
    with hostile_server(script, PAIR) as server:
        connection = await connect_server(settings_for(server, TlsMode.REQUIRE, **changes))
        connection.close()
    assert ("restart" in connection.login_risk) is is_risky
    assert ("sendPasswordTo: AnyServer" in connection.login_risk) is is_risky


async def test_name_of_an_unknown_plugin_is_not_repeated(log_in: Login) -> None:
    with (
        hostile_server(REQUESTS["unknown plugin"]) as server,
        pytest.raises(errors.LoginFailed, match="unsupported authentication") as caught,
    ):
        await log_in(settings_for(server, TlsMode.DISABLE))
    assert "openid" not in str(caught.value)


async def test_key_that_is_none_is_named_by_its_field(log_in: Login) -> None:
    tls = TLS(mode=TlsMode.DISABLE, server_public_key="no key")
    with (
        hostile_server(REQUESTS["caching_sha2"]) as server,
        pytest.raises(errors.InvalidSettings, match=r"tls\.serverPublicKeyRef"),
    ):
        await log_in(settings_for(server, TlsMode.DISABLE, tls=tls))


def drive(login: MySQLLogin, packets: list[bytes]) -> list[bytes]:
    """Return the answers to packets, up to an error."""
    answers: list[bytes] = []
    with suppress(SourceError):
        answers.extend(login.answer(packet) or b"" for packet in packets)
    return answers


PACKETS = [
    *(packet for script in REQUESTS.values() for packet in script.packets),
    b"\1" + PUBLIC_KEY.encode(),
    b"\1\3",
    switch("mysql_native_password"),
    switch("caching_sha2_password", b""),
    b"\0",
    b"",
]


@given(
    plugin=st.sampled_from(["", "mysql_native_password", "caching_sha2_password"]),
    packets=st.lists(st.one_of(st.sampled_from(PACKETS), st.binary(max_size=40)), max_size=6),
    encrypted=st.booleans(),
    mode=st.sampled_from([TlsMode.DISABLE, TlsMode.PREFER, TlsMode.REQUIRE]),
    key=st.sampled_from([None, OTHER_KEY]),
)
def test_no_sequence_of_packets_gets_the_password(
    *, plugin: str, packets: list[bytes], encrypted: bool, mode: TlsMode, key: str | None
) -> None:
    settings = replace(settings_for(Hostile(1), mode), tls=TLS(mode=mode, server_public_key=key))
    login = MySQLLogin(settings, plugin, SALT, is_encrypted=encrypted)
    received = Hostile(1, drive(login, packets))
    assert not received.has(PASSWORD)
    assert not received.was_asked_for_its_key


scramble: Any = auth.scramble_caching_sha2
EXPECTED_CHALLENGE: Final = scramble(PASSWORD.encode(), SALT)


@pytest.mark.parametrize("end", [b"", b"\0"])
def test_terminator_of_the_salt_is_no_part_of_the_challenge(end: bytes) -> None:
    """With it the server does not find the account in its cache, and asks for the password."""
    settings = settings_for(Hostile(1), TlsMode.DISABLE)
    login = MySQLLogin(settings, "mysql_native_password", SALT, is_encrypted=False)
    answer = login.answer(switch("caching_sha2_password", SALT + end))
    assert answer == EXPECTED_CHALLENGE


def test_user_without_a_password_sends_none() -> None:
    settings = replace(settings_for(Hostile(1), TlsMode.DISABLE), password="")
    for request, answer in (
        ("caching_sha2_password", b"\0"),
        ("sha256_password", b"\0"),
        ("mysql_native_password", b""),
    ):
        login = MySQLLogin(settings, "mysql_native_password", SALT, is_encrypted=False)
        assert login.answer(switch(request)) == answer
