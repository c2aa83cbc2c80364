"""Answers a MySQL server during the login, and keeps the password from unknown servers.

The server chooses the authentication plugin, at any time of the login and whatever the account has.
The drivers answer every plugin: with the password in clear over any TLS, or encrypted with an RSA
key that they ask the server for. A server that merely answers would learn it. So the drivers do not
see these requests. They send the response to the greeting, and hand each further packet to `Login`
until the server accepts or rejects the user.

A challenge is always answered: the response proves the password without sending it. The password
itself is sent only

* over TLS to a verified server,
* without TLS, encrypted with the RSA key that the hub names, or
* to any server if the hub says so: over TLS, or encrypted with the key that the server hands out.
"""

from enum import StrEnum
from typing import Any, Final

import asyncmy.auth
from cryptography.exceptions import UnsupportedAlgorithm

from lynq.sources.errors import InvalidSettings, LoginFailed, UnverifiedServer
from lynq.sources.mysql.settings import MySQLSettings

# It has no types.
auth: Any = asyncmy.auth


class _Plugin(StrEnum):
    """The authentication plugins that have an answer."""

    NATIVE = "mysql_native_password"
    CACHING_SHA2 = "caching_sha2_password"
    SHA256 = "sha256_password"
    ED25519 = "client_ed25519"
    CLEAR_TEXT = "mysql_clear_password"
    DIALOG = "dialog"


_MORE_DATA: Final = b"\x01"
_SWITCH: Final = b"\xfe"
_FAST_LOGIN_DONE: Final = b"\3"
_FULL_LOGIN: Final = b"\4"
_KEY_REQUESTS: Final = {_Plugin.CACHING_SHA2: b"\2", _Plugin.SHA256: b"\1"}
"""The packets that ask the server for its RSA key."""
_PASSWORD_PROMPTS: Final = (b"\4Password: ", b"\5Password: ")
_REMEDIES_WITH_KEY: Final = (
    "set tls.mode to verify-full or verify-ca; or set tls.mode to disable and"
    " tls.serverPublicKeyRef to the server's RSA key; or accept a server that is not verified with"
    " sendPasswordTo: AnyServer"
)
_REMEDIES_BY_TLS: Final = (
    "set tls.mode to verify-full or verify-ca; or accept a server that is not verified with"
    " tls.mode: require and sendPasswordTo: AnyServer"
)
_LONGEST_KEY: Final = 8 * 1024
"""Bytes of an RSA key in PEM; one of 16,384 bits, the most that OpenSSL takes, has 2,900."""


def announced_plugin(plugin: str) -> str:
    """Return the plugin that the response to the greeting uses: one with a challenge.

    The plugin of the greeting is the server's default. An account with another one is switched.
    """
    return plugin if plugin in ("", _Plugin.CACHING_SHA2) else _Plugin.NATIVE.value


class Login:
    """One login, from the response to the greeting to the server's decision."""

    def __init__(
        self, settings: MySQLSettings, plugin: str, salt: bytes, *, is_encrypted: bool
    ) -> None:
        """Take the plugin and the salt of the greeting."""
        self._settings = settings
        self._password = settings.password.encode()
        self._is_encrypted = is_encrypted
        self._plugin = plugin
        self._salt = salt
        self._has_switched = False
        self._awaits_key = False

    @property
    def risk(self) -> str:
        """Why a later login of this account may fail; empty if it will not."""
        if self._plugin != _Plugin.CACHING_SHA2 or not self._password or self._may_send_password:
            return ""
        return (
            "the server knows this login from its cache, which is empty after a restart. It then"
            f" asks for the password itself (plugin {self._plugin}), and gets none while it is not"
            f" verified: {_REMEDIES_WITH_KEY}"
        )

    @property
    def _may_send_password(self) -> bool:
        settings = self._settings
        if self._is_encrypted:
            return settings.tls.mode.verifies_server or settings.accepts_any_server
        return bool(settings.tls.server_public_key) or settings.accepts_any_server

    def answer(self, packet: bytes) -> bytes | None:
        """Return the answer to a packet; None if the server sends the next one. Raises SourceError.

        The packet is not the one that ends the login.
        """
        kind, data = packet[:1], packet[1:]
        if kind == _SWITCH:
            return self._switch(data)
        if kind == _MORE_DATA:
            return self._continue(data)
        if self._plugin == _Plugin.DIALOG:
            return self._answer_prompt(packet)
        raise self._unsupported()

    def _switch(self, data: bytes) -> bytes:
        """Return the first answer to a plugin."""
        name, _, salt = data.partition(b"\0")
        if self._has_switched:
            raise self._unsupported()
        self._has_switched = True
        self._awaits_key = False
        self._plugin = name.decode("latin-1")
        self._salt = salt.removesuffix(b"\0")
        match self._plugin:
            case _Plugin.NATIVE:
                return bytes(auth.scramble_native_password(self._password, self._salt))
            case _Plugin.CACHING_SHA2:
                return self._without_password() or bytes(
                    auth.scramble_caching_sha2(self._password, self._salt)
                )
            case _Plugin.ED25519:
                return self._sign(salt)
            case _Plugin.SHA256:
                return self._without_password() or self._send_password()
            case _Plugin.CLEAR_TEXT:
                return self._send_in_clear()
            case _Plugin.DIALOG:
                return self._answer_prompt(salt)
        raise self._unsupported()

    def _continue(self, data: bytes) -> bytes | None:
        """Return the answer to further data of a plugin."""
        if self._plugin == _Plugin.DIALOG:
            return self._answer_prompt(data)
        if self._awaits_key:
            self._awaits_key = False
            return self._encrypt(data)
        if self._plugin == _Plugin.CACHING_SHA2:
            if data == _FAST_LOGIN_DONE:
                return None
            if data == _FULL_LOGIN:
                return self._without_password() or self._send_password()
        raise self._unsupported()

    def _without_password(self) -> bytes:
        """Return what a user without a password sends; nothing for others."""
        return b"" if self._password else b"\0"

    def _send_password(self) -> bytes:
        """Return the password for one of the plugins that encrypt it themselves without TLS."""
        if not self._may_send_password:
            raise self._unverified()
        if self._is_encrypted:
            return self._send_in_clear()
        if self._settings.tls.server_public_key:
            return self._encrypt(self._settings.tls.server_public_key.encode())
        self._awaits_key = True
        return _KEY_REQUESTS[_Plugin(self._plugin)]

    def _send_in_clear(self) -> bytes:
        if not (self._is_encrypted and self._may_send_password):
            raise self._unverified()
        return self._password + b"\0"

    def _encrypt(self, key: bytes) -> bytes:
        """Return the password as only the holder of the private key can read it."""
        if len(key) > _LONGEST_KEY or not self._salt:
            raise self._unsupported()
        try:
            return bytes(auth.sha2_rsa_encrypt(self._password, self._salt, key))
        except (ValueError, TypeError, AttributeError, UnsupportedAlgorithm):
            if self._settings.tls.server_public_key:
                raise InvalidSettings(
                    "not an RSA public key in PEM, or too short for the password",
                    field="tls.serverPublicKeyRef",
                ) from None
            raise self._unsupported() from None

    def _sign(self, salt: bytes) -> bytes:
        try:
            return bytes(auth.ed25519_password(self._password, salt))
        except RuntimeError:
            # It needs a package that is not among the dependencies.
            raise self._unsupported() from None

    def _answer_prompt(self, prompt: bytes) -> bytes:
        if prompt not in _PASSWORD_PROMPTS:
            raise self._unsupported()
        return self._send_in_clear()

    def _unsupported(self) -> LoginFailed:
        return LoginFailed(
            "the server requires an unsupported authentication method"
            f" (user {self._settings.username})",
            endpoint=self._settings.endpoint,
        )

    def _unverified(self) -> UnverifiedServer:
        """Return the error that names the plugin, which is one of those above, and the remedies."""
        remedies = _REMEDIES_WITH_KEY if self._plugin in _KEY_REQUESTS else _REMEDIES_BY_TLS
        return UnverifiedServer(
            f"the server asks for the password itself (plugin {self._plugin}) and is not verified,"
            f" so it gets none: {remedies} (user {self._settings.username})",
            endpoint=self._settings.endpoint,
        )
