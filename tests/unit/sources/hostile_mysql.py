"""A MySQL server that asks for the password in any way, and records what it receives."""

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, Protocol

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from certificates import Pair

SALT: Final = b"0123456789abcdefghij"
_SECONDS: Final = 5
_SSL_REQUEST: Final = 32
"""Bytes of the packet that asks for TLS, which every other packet of a login exceeds."""
_CAPABILITIES: Final = 0x00_08_A2_0F
"""PLUGIN_AUTH, SECURE_CONNECTION, PROTOCOL_41, CONNECT_WITH_DB and the older ones."""
_TLS: Final = 0x08_00
_OK: Final = b"\0\0\0\2\0\0\0"
_KEY_REQUESTS: Final = (b"\1", b"\2")
_PRIVATE_KEY: Final = rsa.generate_private_key(public_exponent=65537, key_size=2048)
PUBLIC_KEY: Final = (
    _PRIVATE_KEY.public_key()
    .public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    .decode()
)
"""The key that the server hands out."""


class _Connection(Protocol):
    def recv(self, size: int, /) -> bytes: ...
    def sendall(self, data: bytes, /) -> None: ...


@dataclass(frozen=True, slots=True)
class Script:
    """What the server sends: the plugin of its greeting, and packets after each of the client."""

    greeting: str = "mysql_native_password"
    packets: tuple[bytes, ...] = ()
    answers: bool = True
    """Whether the client answers the packets."""


def switch(plugin: str, data: bytes = SALT + b"\0") -> bytes:
    """Return a packet that asks for another plugin."""
    return b"\xfe" + plugin.encode() + b"\0" + data


@dataclass(slots=True)
class Hostile:
    """A running server."""

    port: int
    received: list[bytes] = field(default_factory=list)
    """Packets of the client, decrypted."""

    @property
    def was_asked_for_its_key(self) -> bool:
        """Whether the client has asked for an RSA key."""
        return any(packet in _KEY_REQUESTS for packet in self.received)

    def has(self, password: str) -> bool:
        """Return whether the server knows the password now."""
        return any(password.encode() in _decrypted(packet) for packet in self.received)


@contextmanager
def hostile_server(script: Script, pair: Pair | None = None) -> Iterator[Hostile]:
    """Run a server; with a certificate it offers TLS."""
    listener = socket.create_server(("127.0.0.1", 0))
    server = Hostile(listener.getsockname()[1])
    context = _context(pair) if pair else None
    accepted: list[socket.socket] = []

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            # TLS detaches the descriptor.
            accepted.append(connection.dup())
            connection.settimeout(_SECONDS)
            with connection, suppress(OSError, EOFError):
                _serve(connection, script, context, server.received)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield server
    finally:
        # The event loop of the client, which closes its connection, waits for this function.
        for opened in (listener, *accepted):
            with suppress(OSError):
                opened.shutdown(socket.SHUT_RDWR)
        thread.join()
        for opened in (listener, *accepted):
            opened.close()


def _serve(
    connection: socket.socket, script: Script, context: ssl.SSLContext | None, received: list[bytes]
) -> None:
    capabilities = _CAPABILITIES | (_TLS if context else 0)
    _send(connection, 0, _greeting(script.greeting, capabilities))
    number, packet = _receive(connection)
    if context and len(packet) == _SSL_REQUEST:
        with context.wrap_socket(connection, server_side=True) as encrypted:
            _log_in(encrypted, script, *_receive(encrypted), received)
    else:
        _log_in(connection, script, number, packet, received)


def _log_in(
    wire: _Connection, script: Script, number: int, packet: bytes, received: list[bytes]
) -> None:
    received.append(packet)
    for request in script.packets:
        _send(wire, number + 1, request)
        if not script.answers:
            number += 1
            continue
        number, packet = _receive(wire)
        received.append(packet)
        if packet in _KEY_REQUESTS:
            _send(wire, number + 1, b"\1" + PUBLIC_KEY.encode())
            number, packet = _receive(wire)
            received.append(packet)
    _send(wire, number + 1, _OK)
    while True:
        number, _ = _receive(wire)
        _send(wire, number + 1, _OK)


def _greeting(plugin: str, capabilities: int) -> bytes:
    low, high = capabilities.to_bytes(4, "little")[:2], capabilities.to_bytes(4, "little")[2:]
    return b"".join(
        (
            b"\x0a8.0.36\0",
            (1).to_bytes(4, "little"),
            SALT[:8] + b"\0",
            low,
            b"\x2d\2\0",
            high,
            bytes((len(SALT) + 1,)),
            bytes(10),
            SALT[8:] + b"\0",
            plugin.encode() + b"\0",
        )
    )


def _send(connection: _Connection, number: int, payload: bytes) -> None:
    connection.sendall(len(payload).to_bytes(3, "little") + bytes((number % 256,)) + payload)


def _receive(connection: _Connection) -> tuple[int, bytes]:
    header = _exactly(connection, 4)
    return header[3], _exactly(connection, int.from_bytes(header[:3], "little"))


def _exactly(connection: _Connection, size: int) -> bytes:
    data = b""
    while len(data) < size:
        chunk = connection.recv(size - len(data))
        if not chunk:
            raise EOFError
        data += chunk
    return data


def _decrypted(packet: bytes) -> bytes:
    """Return what the server reads in a packet: it has the private key."""
    try:
        masked = _PRIVATE_KEY.decrypt(
            packet, padding.OAEP(padding.MGF1(hashes.SHA1()), hashes.SHA1(), None)
        )
    except ValueError:
        return packet
    return bytes(byte ^ SALT[at % len(SALT)] for at, byte in enumerate(masked))


def _context(pair: Pair) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with TemporaryDirectory() as folder:
        context.load_cert_chain(pair.write(Path(folder)))
    return context
