"""Who we are in the next request: a static token, a token file, or an exec plugin's answer.

Credentials from an exec plugin: a program that prints an ExecCredential, used until it ends.
"""

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

from lynq.kube.errors import CredentialError

TOKEN_FILE_PERIOD = 60.0
"""Seconds a token file's content is trusted; the kubelet renews tokens long before they end."""


@dataclass(frozen=True, slots=True)
class ClientCertificate:
    """A certificate and its key, PEM."""

    certificate: bytes = field(repr=False)
    key: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Credential:
    """What to show to the API server; neither, one or both."""

    token: str | None = field(default=None, repr=False)
    certificate: ClientCertificate | None = None


class Credentials(Protocol):
    """A source of credentials."""

    async def current(self) -> Credential:
        """Return what the next request shows."""
        ...

    async def renew(self, refused: Credential) -> Credential:
        """Return a credential to try after `refused`; the same one when there is no other."""
        ...


@dataclass(frozen=True, slots=True)
class StaticCredentials:
    """A token or certificate that does not change."""

    credential: Credential = field(default_factory=Credential)

    async def current(self) -> Credential:
        """Return the one there is."""
        return self.credential

    async def renew(self, refused: Credential) -> Credential:  # noqa: ARG002
        """Return the same again: nobody can renew it."""
        return self.credential


class TokenFileCredentials:
    """A token in a file that someone else rotates, such as a service account's."""

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
        self._known: Credential | None = None
        self._read_at = 0.0

    async def current(self) -> Credential:
        """Return the token, read again once a minute."""
        if self._known is None or self._clock() - self._read_at >= TOKEN_FILE_PERIOD:
            return self._read()
        return self._known

    async def renew(self, refused: Credential) -> Credential:
        """Read the file at once, unless another request already did."""
        return self._read() if self._known in (None, refused) else self._known

    def _read(self) -> Credential:
        # Blocking, for some microseconds once a minute: a thread would cost more.
        try:
            token = self._path.read_text().strip()
        except OSError as error:
            return self._keep_going(f"cannot be read ({error.strerror})")
        except UnicodeDecodeError:
            return self._keep_going("is no text")
        if not token:
            return self._keep_going("is empty")
        self._known = Credential(token, self._certificate)
        self._read_at = self._clock()
        return self._known

    def _keep_going(self, problem: str) -> Credential:
        """Use the last token while its file is being replaced; without one there is no way on."""
        if self._known is None:
            raise CredentialError(f"the token file {self._path} {problem}")
        return self._known


API_VERSIONS: Final = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")

_PATIENCE = 60.0
_FRESH = 0.9
"""The part of its life after which a credential is replaced, before anyone can refuse it."""


@dataclass(frozen=True, slots=True)
class ExecPlugin:
    """Which program to run, and how."""

    command: str
    api_version: str = API_VERSIONS[0]
    args: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    install_hint: str = ""
    folder: Path = Path()
    """What a relative command with a slash in it starts from; others are looked up in $PATH."""
    cluster: dict[str, Any] | None = field(default=None, repr=False)
    """What the plugin is told about the cluster, if it wants to be told."""

    @property
    def program(self) -> str:
        """The command as the operating system finds it."""
        return str(self.folder / self.command) if "/" in self.command else self.command

    def environment(self) -> dict[str, str]:
        """Return the plugin's environment: ours, its own variables, and what it is asked for."""
        spec: dict[str, Any] = {"interactive": False}
        if self.cluster is not None:
            spec["cluster"] = self.cluster
        info = {"apiVersion": self.api_version, "kind": "ExecCredential", "spec": spec}
        asked = {"KUBERNETES_EXEC_INFO": msgspec.json.encode(info).decode()}
        return os.environ | dict(self.env) | asked


class _Granted(Struct, frozen=True, rename="camel"):
    # Null is what plugins that are not written in Go print for what they do not grant.
    token: str | None = None
    client_certificate_data: str | None = None
    client_key_data: str | None = None
    expiration_timestamp: Annotated[datetime, msgspec.Meta(tz=True)] | None = None


class _ExecCredential(Struct, frozen=True, rename="camel"):
    api_version: str
    kind: str
    status: _Granted | None = None


class ExecCredentials:
    """What a plugin granted, kept until shortly before it expires or until it is refused."""

    def __init__(
        self, plugin: ExecPlugin, *, now: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._plugin = plugin
        self._now = now
        self._known: Credential | None = None
        self._renew_at: datetime | None = None
        # Plugins can be slow and can ask someone to log in: never two at once.
        self._running = asyncio.Lock()

    async def current(self) -> Credential:
        """Return what is granted, running the plugin when there is nothing fresh."""
        async with self._running:
            return self._fresh() or await self._grant()

    async def renew(self, refused: Credential) -> Credential:
        """Run the plugin, unless another request already did after this was refused."""
        async with self._running:
            known = self._fresh()
            return known if known is not None and known != refused else await self._grant()

    def _fresh(self) -> Credential | None:
        ended = self._renew_at is not None and self._now() >= self._renew_at
        return None if ended else self._known

    async def _grant(self) -> Credential:
        granted = self._read(await self._run())
        self._known = self._credential(granted)
        self._renew_at = None
        if (end := granted.expiration_timestamp) is not None:
            start = self._now()
            self._renew_at = start + (end - start) * _FRESH
        return self._known

    async def _run(self) -> bytes:
        plugin = self._plugin
        try:
            # Its complaints go where ours go; its answer, which is the secret, only to us.
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
            async with asyncio.timeout(_PATIENCE):
                output, _ = await process.communicate()
        except TimeoutError:
            raise self._failed(f"did not answer within {_PATIENCE:.0f} s") from None
        finally:
            if process.returncode is None:
                # With all it has started: a script's child would keep its output open, and us.
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                await process.wait()
        if process.returncode != 0:
            raise self._failed(f"ended with code {process.returncode}; see its output on stderr")
        return output

    def _read(self, output: bytes) -> _Granted:
        try:
            answer = msgspec.json.decode(output, type=_ExecCredential)
        except msgspec.DecodeError:
            raise self._failed("did not print an ExecCredential") from None
        if (answer.kind, answer.api_version) != ("ExecCredential", self._plugin.api_version):
            raise self._failed(f"did not print an ExecCredential of {self._plugin.api_version}")
        if answer.status is None:
            raise self._failed("granted nothing: its ExecCredential has no status")
        return answer.status

    def _credential(self, granted: _Granted) -> Credential:
        pair = (granted.client_certificate_data or "", granted.client_key_data or "")
        if any(pair) and not all(pair):
            raise self._failed("granted a certificate without its key, or the reverse")
        if not any((granted.token, *pair)):
            raise self._failed("granted neither a token nor a certificate")
        certificate = ClientCertificate(pair[0].encode(), pair[1].encode()) if all(pair) else None
        return Credential(granted.token or None, certificate)

    def _failed(self, problem: str) -> CredentialError:
        return CredentialError(f"the exec plugin {self._plugin.command!r} {problem}")
