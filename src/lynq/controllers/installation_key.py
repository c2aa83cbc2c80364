"""Loads the installation key from its Secret, and creates the Secret of a new installation.

All replicas and shards share the Secret. Of several replicas that start at once, the first creates
it and the others read it; a shard that does not receive all nodes creates none. It is created only
while no node uses a key: a new key instead of a lost one would replace every generated password.

Without the key no signature can be checked, so that hubs and their nodes wait for it. Everything
else goes on: rows are read, webhooks are served, nodes without a hub are reconciled. Only an
installation that never had a key goes without: its Secret does not exist and may not be created,
and no node shows that there was one.
"""

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

import msgspec
import structlog

from lynq.api import LynqNode, Metadata, RandomValueSource
from lynq.api.installation_key import (
    KEY_SIZE,
    NO_KEY,
    InstallationKey,
    Keyless,
    KeyState,
    MissingKey,
)
from lynq.api.names import ANNOTATION_SIGNATURE
from lynq.controllers.decoding import Unreadable
from lynq.kube import Client
from lynq.kube.errors import AlreadyExists, Forbidden, KubeError, NotFound
from lynq.kube.resource import SECRETS

KEY_SECRET: Final = "lynq-installation-key"  # noqa: S105 - a name
"""The default name of the Secret."""
_FIELD: Final = "key"
_RETRY: Final = 2.0
"""Seconds between two attempts to load the key."""
_ANSWER_TIMEOUT: Final = 5.0
"""Seconds after which an API server that does not answer for the Secret is reported."""

_log = structlog.get_logger(__name__)


KeyHandler: TypeAlias = Callable[[KeyState, KeyState], None]
"""Called with the last state of the key and the new one."""


@dataclass(slots=True)
class CurrentKey:
    """The key of this process: the controllers read it, the loader sets it."""

    state: KeyState = NO_KEY
    _handlers: list[KeyHandler] = field(default_factory=list)

    def on_change(self, handler: KeyHandler) -> None:
        """Call `handler` for every change."""
        self._handlers.append(handler)

    def change(self, state: KeyState) -> None:
        """Set the state, and call the handlers."""
        last, self.state = self.state, state
        for handler in self._handlers:
            handler(last, state)


def uses_key(nodes: Iterable[LynqNode | Unreadable]) -> bool:
    """Return whether a node has values of an installation key."""
    return any(
        isinstance(node, LynqNode)
        and node.status.random_source is RandomValueSource.INSTALLATION_KEY
        for node in nodes
    )


def is_signed(nodes: Iterable[LynqNode | Unreadable]) -> bool:
    """Return whether a node shows a signature, true or forged."""
    return any(ANNOTATION_SIGNATURE in node.metadata.annotations for node in nodes)


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
        nodes: Callable[[], Awaitable[Iterable[LynqNode | Unreadable]]] | None,
    ) -> None:
        """Load from this Secret; `nodes` returns all nodes, None if they are not known.

        The client must not be fenced: every replica loads the key before it leads.
        """
        self._client = client
        self._namespace = namespace
        self._name = name
        self._current = current
        self._nodes = nodes

    async def run(self) -> None:
        """Load the key; return when there is one."""
        clock = asyncio.get_running_loop().time
        deadline = clock() + _ANSWER_TIMEOUT
        while True:
            try:
                state = await self.load()
            except KubeError as error:
                state = MissingKey(f"{self._secret} cannot be read: {error}")
                if clock() >= deadline:
                    self._set(state)
            else:
                # Shard 0 may be about to create it.
                if self._nodes or isinstance(state, InstallationKey) or clock() >= deadline:
                    self._set(state)
                if isinstance(state, InstallationKey):
                    return
            await asyncio.sleep(_RETRY)

    async def load(self) -> KeyState:
        """Read the key, or create it if no node uses one; raises KubeError."""
        try:
            return await self._read()
        except NotFound as error:
            if not error.proves_absence:
                raise
        except Forbidden as error:
            return MissingKey(
                f"{self._secret} cannot be read: {error}; grant the operator get and create"
            )
        if self._nodes is None:
            return MissingKey(
                f"{self._secret} does not exist: shard 0 creates it, unless LynqNodes have values "
                "of a lost key; see its log"
            )
        return await self._first_key(list(await self._nodes()))

    async def _first_key(self, nodes: Sequence[LynqNode | Unreadable]) -> KeyState:
        """Create the key of a new installation; raises KubeError."""
        if uses_key(nodes):
            return MissingKey(
                f"{self._secret} does not exist, but LynqNodes have values of its key: restore it "
                "from a backup; or, to replace every generated value, create it with "
                f"{KEY_SIZE} random bytes in data.{_FIELD}"
            )
        try:
            return await self._answered(self._create())
        except AlreadyExists:
            return await self._read()
        except Forbidden as error:
            problem = f"{self._secret} cannot be created: {error}; grant the operator create"
            return MissingKey(problem) if is_signed(nodes) else Keyless(problem)

    async def _read(self) -> KeyState:
        return await self._answered(read_key(self._client, self._namespace, self._name))

    async def _answered(self, request: Awaitable[KeyState]) -> KeyState:
        """Wait for an answer; raises KubeError, also if there is none."""
        try:
            async with asyncio.timeout(_ANSWER_TIMEOUT):
                return await request
        except TimeoutError:
            raise KubeError(f"the API server has not answered for {_ANSWER_TIMEOUT:g} s") from None

    def _set(self, state: KeyState) -> None:
        if state == self._current.state:
            return
        if not isinstance(state, InstallationKey):
            _log.error("no installation key", problem=state.problem)
        self._current.change(state)

    async def _create(self) -> KeyState:
        key = InstallationKey(secrets.token_bytes(KEY_SIZE))
        metadata = Metadata(name=self._name, namespace=self._namespace)
        await self._client.create(SECRETS, _KeySecret(metadata, {_FIELD: key.secret}))
        _log.info("installation key created", secret=self._name, namespace=self._namespace)
        return key

    @property
    def _secret(self) -> str:
        return _described(self._name, self._namespace)
