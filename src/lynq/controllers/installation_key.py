"""Loads the installation key from its Secret, and creates the Secret of a new installation.

All replicas and shards share the Secret. Of several replicas that start at once, the first creates
it and the others read it; a shard that does not receive all nodes creates none. It is created only
while no node uses a key: a new key instead of a lost one would replace every generated password.
The operator then runs without a key. Templates with random
values fail and say why; all others are rendered.
"""

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Final

import msgspec
import structlog

from lynq.api import LynqNode, Metadata, RandomValueSource
from lynq.api.installation_key import KEY_SIZE, NO_KEY, InstallationKey, KeyState, MissingKey
from lynq.kube import Client
from lynq.kube.errors import AlreadyExists, Forbidden, KubeError, NotFound
from lynq.kube.resource import SECRETS

KEY_SECRET: Final = "lynq-installation-key"  # noqa: S105 - a name
"""The default name of the Secret."""
_FIELD: Final = "key"
_RETRY: Final = 2.0
"""Seconds between two attempts to load the key."""
_START_TIMEOUT: Final = 10.0
"""Seconds for which reconciles wait for an API server that does not answer for the Secret."""

_log = structlog.get_logger(__name__)


@dataclass(slots=True)
class CurrentKey:
    """The key of this process: the controllers read it, the loader sets it."""

    state: KeyState = NO_KEY


def uses_key(nodes: Iterable[LynqNode]) -> bool:
    """Return whether a node has values of an installation key."""
    return any(node.status.random_source is RandomValueSource.INSTALLATION_KEY for node in nodes)


class _KeySecret(msgspec.Struct, frozen=True, rename="camel"):
    metadata: Metadata
    data: dict[str, bytes] = {}
    type: str = "Opaque"
    immutable: bool = True


async def read_key(client: Client, namespace: str, name: str) -> KeyState:
    """Read the key; raises KubeError."""
    secret = await client.get(SECRETS, name, namespace, into=_KeySecret)
    try:
        return InstallationKey(secret.data.get(_FIELD, b""))
    except ValueError:
        problem = f"{_described(name, namespace)} must have {KEY_SIZE} bytes in data.{_FIELD}"
        return MissingKey(problem)


def _described(name: str, namespace: str) -> str:
    return f'Secret "{name}" in namespace "{namespace}"'


class KeyLoader:
    """Loads the key, and retries while there is none."""

    def __init__(
        self,
        client: Client,
        namespace: str,
        name: str,
        current: CurrentKey,
        *,
        nodes: Callable[[], Awaitable[Iterable[LynqNode]]] | None,
    ) -> None:
        """Load from this Secret; `nodes` returns all nodes, None if they are not known.

        The client must not be fenced: every replica loads the key before it leads.
        """
        self._client = client
        self._namespace = namespace
        self._name = name
        self._current = current
        self._nodes = nodes
        self._is_known = asyncio.Event()

    async def run(self) -> None:
        """Load the key; return when there is one."""
        clock = asyncio.get_running_loop().time
        deadline = clock() + _START_TIMEOUT
        while True:
            try:
                state = await self.load()
            except KubeError as error:
                state = MissingKey(f"{self._secret} cannot be read: {error}")
                if clock() > deadline:
                    self._set(state)
            else:
                # Shard 0 may be about to create it.
                if self._nodes or isinstance(state, InstallationKey) or clock() > deadline:
                    self._set(state)
                if isinstance(state, InstallationKey):
                    return
            await asyncio.sleep(_RETRY)

    async def wait(self) -> None:
        """Wait until the key is loaded, or known to be missing."""
        await self._is_known.wait()

    async def load(self) -> KeyState:
        """Read the key, or create it if no node uses one; raises KubeError."""
        try:
            return await read_key(self._client, self._namespace, self._name)
        except NotFound:
            if problem := await self._creation_problem():
                return MissingKey(problem)
        except Forbidden as error:
            return MissingKey(
                f"{self._secret} cannot be read: {error}; grant the operator get and create"
            )
        try:
            return await self._create()
        except AlreadyExists:
            return await read_key(self._client, self._namespace, self._name)
        except Forbidden as error:
            return MissingKey(f"{self._secret} cannot be created: {error}; grant the operator it")

    def _set(self, state: KeyState) -> None:
        if isinstance(state, MissingKey) and state != self._current.state:
            _log.error("no installation key", problem=state.problem)
        self._current.state = state
        self._is_known.set()

    async def _create(self) -> KeyState:
        key = InstallationKey(secrets.token_bytes(KEY_SIZE))
        metadata = Metadata(name=self._name, namespace=self._namespace)
        await self._client.create(SECRETS, _KeySecret(metadata, {_FIELD: key.secret}))
        _log.info("installation key created", secret=self._name, namespace=self._namespace)
        return key

    @property
    def _secret(self) -> str:
        return _described(self._name, self._namespace)

    async def _creation_problem(self) -> str:
        """Return why this process may not create the Secret, which does not exist; "" if it may."""
        if self._nodes is None:
            return (
                f"{self._secret} does not exist: shard 0 creates it, unless LynqNodes have values "
                "of a lost key; see its log"
            )
        if not uses_key(await self._nodes()):
            return ""
        return (
            f"{self._secret} does not exist, but LynqNodes have values of its key: restore it from "
            "a backup; or, to replace every generated value, create it with 32 random bytes in "
            f"data.{_FIELD}"
        )
