"""Who we are in the next request: a static token, a token file, or an exec plugin's answer."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

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
