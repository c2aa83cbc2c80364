"""Resolves the source config of a hub: its spec, and the Secrets and ConfigMaps that it references.

Objects are read or watched by name. An error names the field that references the missing
value and the remedy. Values of Secrets never appear in errors.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypeAlias

from lynq.api import (
    HubSpec,
    KeyHolder,
    ObjectKeyRef,
    SecretKeyRef,
    Tls,
    TlsMode,
)
from lynq.api.denied_hosts import NONE_DENIED, DeniedHosts
from lynq.api.metadata import ObjectKey
from lynq.api.problems import errors
from lynq.api.source import DatabaseServer, MySQLTls
from lynq.controllers.hub.source_objects import Data, SourceObject, fetch_data
from lynq.core.hub.schedule import duration_of
from lynq.core.hub.validation import validate_hub
from lynq.kube import Client
from lynq.kube.errors import KubeError
from lynq.sources import ENGINES, TLS, Query, ResolvedValues, Settings
from lynq.sources.errors import InvalidSettings
from lynq.sources.settings import MAX_BYTES

ReadData: TypeAlias = Callable[[SourceObject], Awaitable[Data | None]]
"""Returns the data of a Secret or ConfigMap; None if it does not exist. Raises KubeError."""


class SecretResolver:
    """Resolves references of one hub to keys of Secrets and ConfigMaps.

    Each object is read once, so that a certificate and its key belong together.
    """

    def __init__(self, read: ReadData, namespace: str) -> None:
        self._read = read
        self._namespace = namespace
        self.missing_key = ""
        """The missing key that a default was used for; reported if the login fails."""
        self._data: dict[SourceObject, Data | None] = {}

    async def text(
        self, ref: SecretKeyRef | ObjectKeyRef, field: str, *, default: str | None = None
    ) -> str:
        """Return the value of a key, or `default` if the object exists and the key does not.

        Raises InvalidSettings.
        """
        kind = ref.kind if isinstance(ref, ObjectKeyRef) else KeyHolder.SECRET
        try:
            data = await self._data_of(SourceObject(kind, ObjectKey(self._namespace, ref.name)))
            value = data.get(ref.key) if data is not None else None
            if value is not None:
                return value.decode() if isinstance(value, bytes) else value
        except UnicodeDecodeError:
            problem = f'the key "{ref.key}" of {kind} "{ref.name}" is not valid UTF-8'
        except KubeError as error:
            problem = f'{kind} "{ref.name}" could not be read: {error}'
        else:
            if data is None:
                problem = f'{kind} "{ref.name}" not found in the namespace of the hub: create it'
            else:
                problem = f'{kind} "{ref.name}" has no key "{ref.key}": add it, or use another key'
                if default is not None:
                    self.missing_key = f"{field}: {problem}"
                    return default
        raise InvalidSettings(problem, field=field)

    async def _data_of(self, reference: SourceObject) -> Data | None:
        if reference not in self._data:
            self._data[reference] = await self._read(reference)
        return self._data[reference]


@dataclass(frozen=True, slots=True)
class SourceConfig:
    """The source of a hub's rows, and the query."""

    settings: Settings
    query: Query
    login_hint: str = ""
    """A possible reason if the login fails."""


class SourceConfigLoader:
    """Loads source configs."""

    def __init__(
        self,
        client: Client,
        sqlite_directory: Path | None,
        max_bytes: int = MAX_BYTES,
        denied_hosts: DeniedHosts = NONE_DENIED,
    ) -> None:
        self._client = client
        self._max_bytes = max_bytes
        self._denied_hosts = denied_hosts
        self._sqlite_directory = sqlite_directory

    async def load(
        self, spec: HubSpec, namespace: str, read: ReadData | None = None
    ) -> SourceConfig:
        """Return the source config of a hub; raises SourceError.

        `read` returns its Secrets and ConfigMaps, by default from the API server.
        """
        if problems := errors(validate_hub(spec)):
            raise InvalidSettings(problems[0].message, field=problems[0].path)
        secrets = SecretResolver(read or partial(fetch_data, self._client), namespace)
        table, settings = await self._settings(spec, secrets)
        mappings = spec.value_mappings
        query = Query(
            table=table,
            uid=mappings.uid,
            activate=mappings.activate,
            host_or_url=mappings.host_or_url,
            extras=spec.extra_value_mappings,
        )
        return SourceConfig(settings, query, secrets.missing_key)

    async def _settings(self, spec: HubSpec, secrets: SecretResolver) -> tuple[str, Settings]:
        engine, block = spec.source.type, spec.source.block
        if block is None:
            raise InvalidSettings(
                f"missing: type {engine} needs the block {engine}", field=f"source.{engine}"
            )
        if isinstance(block, DatabaseServer):
            values = await _server_values(block, f"source.{engine}", secrets)
        else:
            values = ResolvedValues(sqlite_directory=self._sqlite_directory)
        values = replace(values, max_bytes=self._max_bytes, denied_hosts=self._denied_hosts)
        return block.table, ENGINES[engine].settings(block, values)


async def _server_values(
    server: DatabaseServer, block: str, secrets: SecretResolver
) -> ResolvedValues:
    return ResolvedValues(
        password=await _password(server, block, secrets),
        tls=await _tls(server.tls, f"{block}.tls", secrets),
        connect_timeout=_seconds(server.connect_timeout),
        query_timeout=_seconds(server.query_timeout),
    )


async def _password(server: DatabaseServer, block: str, secrets: SecretResolver) -> str:
    if server.password_ref is None:
        return ""
    # For compatibility a missing key is an empty password; a missing Secret is an error.
    return await secrets.text(server.password_ref, f"{block}.passwordRef", default="")


async def _tls(tls: Tls | None, block: str, secrets: SecretResolver) -> TLS:
    if tls is None:
        return TLS(mode=TlsMode.DISABLE)

    async def text(ref: SecretKeyRef | ObjectKeyRef | None, field: str) -> str | None:
        return await secrets.text(ref, f"{block}.{field}") if ref else None

    server_key = tls.server_public_key_ref if isinstance(tls, MySQLTls) else None
    return TLS(
        mode=tls.mode,
        ca=await text(tls.ca_ref, "caRef"),
        certificate=await text(tls.cert_ref, "certRef"),
        key=await text(tls.key_ref, "keyRef"),
        server_public_key=await text(server_key, "serverPublicKeyRef"),
    )


def _seconds(text: str) -> float:
    return duration_of(text).total_seconds()
