"""Credentials of requests: static, from a token file, or from an exec plugin."""

import asyncio
import os
import signal
import time
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Final, Protocol

import msgspec
from msgspec import Struct

from lynq.api.nesting import depth_checked
from lynq.kube.errors import CredentialError

TOKEN_FILE_PERIOD = 60.0
"""Seconds between two reads of a token file; the kubelet renews tokens long before they expire."""


@dataclass(frozen=True, slots=True)
class ClientCertificate:
    """A certificate and its private key, in PEM."""

    certificate: bytes = field(repr=False)
    key: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Credential:
    """A token, a client certificate, both or neither."""

    token: str | None = field(default=None, repr=False)
    certificate: ClientCertificate | None = None


class Credentials(Protocol):
    """A source of credentials."""

    async def current(self) -> Credential:
        """Return the credential of the next request."""
        ...

    async def renew(self, rejected: Credential) -> Credential:
        """Return a credential to use after a 401; the same one if there is no other."""
        ...


@dataclass(frozen=True, slots=True)
class StaticCredentials:
    """A token or certificate that does not change."""

    credential: Credential = field(default_factory=Credential)

    async def current(self) -> Credential:
        """Return the credential."""
        return self.credential

    async def renew(self, rejected: Credential) -> Credential:  # noqa: ARG002
        """Return the same credential: it cannot be renewed."""
        return self.credential


class TokenFileCredentials:
    """A token in a file that is rotated, such as the token of a service account."""

    def __init__(
        self,
        path: Path,
        certificate: ClientCertificate | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._path = path
        self._certificate = certificate
        self._clock = clock
        self._credential: Credential | None = None
        self._read_at = 0.0

    async def current(self) -> Credential:
        """Return the token; the file is re-read once a minute."""
        if self._credential is None or self._clock() - self._read_at >= TOKEN_FILE_PERIOD:
            return self._read()
        return self._credential

    async def renew(self, rejected: Credential) -> Credential:
        """Re-read the file, unless another request has already done so."""
        if self._credential is None or self._credential == rejected:
            return self._read()
        return self._credential

    def _read(self) -> Credential:
        # Blocks for some microseconds once a minute; a thread would cost more.
        try:
            token = self._path.read_text().strip()
        except OSError as error:
            return self._previous(f"cannot be read ({error.strerror})")
        except UnicodeDecodeError:
            return self._previous("is not text")
        if not token:
            return self._previous("is empty")
        self._credential = Credential(token, self._certificate)
        self._read_at = self._clock()
        return self._credential

    def _previous(self, problem: str) -> Credential:
        """Return the previous token while its file is being replaced."""
        if self._credential is None:
            raise CredentialError(f"the token file {self._path} {problem}")
        return self._credential


API_VERSIONS: Final = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")

_PLUGIN_TIMEOUT = 60.0
_RENEW_AFTER = 0.9
"""The share of its lifetime after which a credential is renewed, before it is rejected."""


@dataclass(frozen=True, slots=True)
class ExecPlugin:
    """The command of an exec plugin."""

    command: str
    api_version: str = API_VERSIONS[0]
    args: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    install_hint: str = ""
    folder: Path = Path()
    """The base of a relative command with a slash; other commands are searched in $PATH."""
    cluster: dict[str, Any] | None = field(default=None, repr=False)
    """The cluster information that the plugin receives if provideClusterInfo is set."""

    @property
    def program(self) -> str:
        """The path or name of the executable."""
        return str(self.folder / self.command) if "/" in self.command else self.command

    def environment(self) -> dict[str, str]:
        """Return the environment of the plugin, with KUBERNETES_EXEC_INFO."""
        spec: dict[str, Any] = {"interactive": False}
        if self.cluster is not None:
            spec["cluster"] = self.cluster
        info = {"apiVersion": self.api_version, "kind": "ExecCredential", "spec": spec}
        exec_info = {"KUBERNETES_EXEC_INFO": msgspec.json.encode(info).decode()}
        return os.environ | dict(self.env) | exec_info


class _ExecStatus(Struct, frozen=True, rename="camel"):
    # Plugins that are not written in Go print null for missing fields.
    token: str | None = None
    client_certificate_data: str | None = None
    client_key_data: str | None = None
    expiration_timestamp: Annotated[datetime, msgspec.Meta(tz=True)] | None = None


class _ExecCredential(Struct, frozen=True, rename="camel"):
    api_version: str
    kind: str
    status: _ExecStatus | None = None


class ExecCredentials:
    """The credential of an exec plugin, cached until shortly before it expires or is rejected."""

    def __init__(
        self, plugin: ExecPlugin, *, clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._plugin = plugin
        self._clock = clock
        self._credential: Credential | None = None
        self._renew_at: datetime | None = None
        # Plugins can be slow and can prompt for a login: never run two at once.
        self._running = asyncio.Lock()

    async def current(self) -> Credential:
        """Return the cached credential, or run the plugin."""
        async with self._running:
            return self._valid() or await self._fetch()

    async def renew(self, rejected: Credential) -> Credential:
        """Run the plugin, unless another request has already done so since the rejection."""
        async with self._running:
            valid = self._valid()
            return valid if valid is not None and valid != rejected else await self._fetch()

    def _valid(self) -> Credential | None:
        expired = self._renew_at is not None and self._clock() >= self._renew_at
        return None if expired else self._credential

    async def _fetch(self) -> Credential:
        status = self._parse(await self._run())
        self._credential = self._to_credential(status)
        self._renew_at = None
        if (end := status.expiration_timestamp) is not None:
            start = self._clock()
            self._renew_at = start + (end - start) * _RENEW_AFTER
        return self._credential

    async def _run(self) -> bytes:
        plugin = self._plugin
        try:
            # stderr is inherited; stdout contains the secret and is captured.
            process = await asyncio.create_subprocess_exec(
                plugin.program,
                *plugin.args,
                env=plugin.environment(),
                stdin=DEVNULL,
                stdout=PIPE,
                start_new_session=True,
            )
        except OSError as error:
            hint = f"; {plugin.install_hint}" if plugin.install_hint else ""
            raise self._failed(f"cannot be run: {error.strerror}{hint}") from None
        return await self._output(process)

    async def _output(self, process: asyncio.subprocess.Process) -> bytes:
        try:
            async with asyncio.timeout(_PLUGIN_TIMEOUT):
                output, _ = await process.communicate()
        except TimeoutError:
            raise self._failed(f"did not end within {_PLUGIN_TIMEOUT:.0f} s") from None
        finally:
            if process.returncode is None:
                # The whole process group: a child of a script would keep the pipe open.
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                await process.wait()
        if process.returncode != 0:
            raise self._failed(f"ended with code {process.returncode}; see its output on stderr")
        return output

    def _parse(self, output: bytes) -> _ExecStatus:
        try:
            credential = msgspec.json.decode(depth_checked(output), type=_ExecCredential)
        except msgspec.DecodeError:
            raise self._failed("did not print an ExecCredential") from None
        if (credential.kind, credential.api_version) != (
            "ExecCredential",
            self._plugin.api_version,
        ):
            raise self._failed(f"did not print an ExecCredential of {self._plugin.api_version}")
        if credential.status is None:
            raise self._failed("printed an ExecCredential without a status")
        return credential.status

    def _to_credential(self, status: _ExecStatus) -> Credential:
        pair = (status.client_certificate_data or "", status.client_key_data or "")
        if any(pair) and not all(pair):
            raise self._failed("printed a certificate without its key, or the reverse")
        if not any((status.token, *pair)):
            raise self._failed("printed neither a token nor a certificate")
        certificate = ClientCertificate(pair[0].encode(), pair[1].encode()) if all(pair) else None
        return Credential(status.token or None, certificate)

    def _failed(self, problem: str) -> CredentialError:
        return CredentialError(f"the exec plugin {self._plugin.command!r} {problem}")
