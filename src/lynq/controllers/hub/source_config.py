"""From a hub's spec, and the Secrets it names, to how its rows are reached and what is asked.

Looks texts up in the Secrets and ConfigMaps that a hub names: by name, never by list.

Whatever is missing is told with the field that names it and what to do; what is in a Secret is
never told.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from lynq.api import (
    HubSpec,
    KeyHolder,
    ObjectKeyRef,
    SecretKeyRef,
    Tls,
    TlsMode,
)
from lynq.api.problems import errors
from lynq.api.source import DatabaseServer
from lynq.core.hub.schedule import sync_interval
from lynq.core.hub.validation import validate_hub
from lynq.kube import Client
from lynq.kube.errors import KubeError, NotFound
from lynq.kube.resource import CONFIG_MAPS, SECRETS
from lynq.sources import ENGINES, TLS, Query, ResolvedValues, Settings
from lynq.sources.errors import InvalidSettings


class _SecretData(msgspec.Struct, frozen=True):
    data: dict[str, bytes] = {}


class _ConfigMap(msgspec.Struct, frozen=True):
    data: dict[str, str] = {}


class SecretResolver:
    """One look at a hub's Secrets and ConfigMaps.

    Each of them is asked for once, so certificate and key are from the same moment.
    """

    def __init__(self, client: Client, namespace: str) -> None:
        self._client = client
        self._namespace = namespace
        self.remark = ""
        """What was done without, if anything: worth telling should the source not let us in."""
        self._found: dict[tuple[KeyHolder, str], Mapping[str, str | bytes]] = {}

    async def text(
        self, ref: SecretKeyRef | ObjectKeyRef, field: str, *, otherwise: str | None = None
    ) -> str:
        """Return what is under a key, or `otherwise` if the object is there and the key is not.

        Raises InvalidSettings.
        """
        kind = ref.kind if isinstance(ref, ObjectKeyRef) else KeyHolder.SECRET
        try:
            value = (await self._data(kind, ref.name)).get(ref.key)
            if value is not None:
                return value.decode() if isinstance(value, bytes) else value
            wrong = f'{kind} "{ref.name}" has no key "{ref.key}": add it, or name another key'
        except NotFound:
            wrong = f'there is no {kind} "{ref.name}" in the hub\'s namespace: create it'
        except UnicodeDecodeError:
            wrong = f'the key "{ref.key}" of {kind} "{ref.name}" is no text in UTF-8'
        except KubeError as error:
            wrong = f'{kind} "{ref.name}" could not be read: {error}'
        else:
            if otherwise is not None:
                self.remark = f"{field}: {wrong}"
                return otherwise
        raise InvalidSettings(wrong, field=field)

    async def _data(self, kind: KeyHolder, name: str) -> Mapping[str, str | bytes]:
        if (kind, name) not in self._found:
            self._found[kind, name] = await self._get(kind, name)
        return self._found[kind, name]

    async def _get(self, kind: KeyHolder, name: str) -> Mapping[str, str | bytes]:
        if kind is KeyHolder.CONFIG_MAP:
            return (
                await self._client.get(CONFIG_MAPS, name, self._namespace, into=_ConfigMap)
            ).data
        return (await self._client.get(SECRETS, name, self._namespace, into=_SecretData)).data


@dataclass(frozen=True, slots=True)
class SourceConfig:
    """Where a hub's rows come from."""

    settings: Settings
    query: Query
    remark: str = ""
    """What may be the reason if the source does not let us in."""


class SourceConfigLoader:
    """Finds out where rows come from; Secrets and ConfigMaps are read each time."""

    def __init__(self, client: Client, sqlite_directory: Path | None) -> None:
        self._client = client
        self._sqlite_directory = sqlite_directory

    async def origin(self, spec: HubSpec, namespace: str) -> SourceConfig:
        """Return the origin of a hub's rows; raises SourceError."""
        if wrong := errors(validate_hub(spec)):
            raise InvalidSettings(wrong[0].message, field=wrong[0].path)
        holders = SecretResolver(self._client, namespace)
        table, settings = await self._settings(spec, holders)
        mappings = spec.value_mappings
        query = Query(
            table=table,
            uid=mappings.uid,
            activate=mappings.activate,
            host_or_url=mappings.host_or_url,
            extras=spec.extra_value_mappings,
        )
        return SourceConfig(settings, query, holders.remark)

    async def _settings(self, spec: HubSpec, holders: SecretResolver) -> tuple[str, Settings]:
        engine, block = spec.source.type, spec.source.block
        if block is None:
            raise InvalidSettings(
                f"missing: type {engine} needs the block {engine}", field=f"source.{engine}"
            )
        if isinstance(block, DatabaseServer):
            values = await _server_values(block, f"source.{engine}", holders)
        else:
            values = ResolvedValues(sqlite_directory=self._sqlite_directory)
        return block.table, ENGINES[engine].settings(block, values)


async def _server_values(
    server: DatabaseServer, block: str, holders: SecretResolver
) -> ResolvedValues:
    return ResolvedValues(
        password=await _password(server, block, holders),
        tls=await _tls(server.tls, f"{block}.tls", holders),
        connect_timeout=_seconds(server.connect_timeout),
        query_timeout=_seconds(server.query_timeout),
    )


async def _password(server: DatabaseServer, block: str, holders: SecretResolver) -> str:
    if server.password_ref is None:
        return ""
    # A Secret without the key is an empty password, as it has always been; no Secret is a failure.
    return await holders.text(server.password_ref, f"{block}.passwordRef", otherwise="")


async def _tls(tls: Tls | None, block: str, holders: SecretResolver) -> TLS:
    if tls is None:
        return TLS(mode=TlsMode.DISABLE)

    async def text(ref: SecretKeyRef | ObjectKeyRef | None, field: str) -> str | None:
        return await holders.text(ref, f"{block}.{field}") if ref else None

    return TLS(
        mode=tls.mode,
        ca=await text(tls.ca_ref, "caRef"),
        certificate=await text(tls.cert_ref, "certRef"),
        key=await text(tls.key_ref, "keyRef"),
    )


def _seconds(text: str) -> float:
    return sync_interval(text).total_seconds()
