"""From a hub's spec, and the Secrets it names, to how its rows are reached and what is asked.

Whatever is missing is told with the field that names it and what to do; what is in a Secret is
never told.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import msgspec

from lynq.api import HubSpec
from lynq.api.problems import errors
from lynq.api.source import (
    KeyHolder,
    MySQL,
    ObjectKeyRef,
    PostgreSQL,
    SecretKeyRef,
    Server,
    SourceType,
    Tls,
    TlsMode,
)
from lynq.hub import sync_interval
from lynq.hub.validation import validate
from lynq.kube import Client
from lynq.kube.errors import KubeError, NotFound
from lynq.kube.resource import CONFIG_MAPS, SECRETS
from lynq.sources import (
    TLS,
    MySQLSettings,
    PostgreSQLSettings,
    Query,
    Settings,
    SQLiteSettings,
)
from lynq.sources.errors import InvalidSettings

S = TypeVar("S", MySQLSettings, PostgreSQLSettings)


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a hub's rows come from."""

    settings: Settings
    query: Query
    generation: int
    """The hub's generation that says so."""


class _Secret(msgspec.Struct, frozen=True):
    data: dict[str, bytes] = {}


class _ConfigMap(msgspec.Struct, frozen=True):
    data: dict[str, str] = {}


class Sourcing:
    """Finds out where rows come from; Secrets and ConfigMaps are read each time."""

    def __init__(self, client: Client, sqlite_directory: Path | None) -> None:
        self._client = client
        self._sqlite_directory = sqlite_directory

    async def origin(self, spec: HubSpec, namespace: str, generation: int) -> Origin:
        """Return the origin of a hub's rows; raises SourceError."""
        if wrong := errors(validate(spec)):
            raise InvalidSettings(wrong[0].message, field=wrong[0].path)
        table, settings = await self._settings(spec, namespace)
        mappings = spec.value_mappings
        query = Query(
            table=table,
            uid=mappings.uid,
            activate=mappings.activate,
            host_or_url=mappings.host_or_url,
            extras=spec.extra_value_mappings,
        )
        return Origin(settings, query, generation)

    async def _settings(self, spec: HubSpec, namespace: str) -> tuple[str, Settings]:
        source = spec.source
        match source.type:
            case SourceType.MYSQL if source.mysql:
                return source.mysql.table, await self._server(
                    source.mysql, MySQLSettings, "source.mysql", namespace
                )
            case SourceType.POSTGRESQL if source.postgresql:
                return source.postgresql.table, await self._server(
                    source.postgresql, PostgreSQLSettings, "source.postgresql", namespace
                )
            case SourceType.SQLITE if source.sqlite:
                path = source.sqlite.path
                settings = SQLiteSettings(path=path, directory=self._sqlite_directory)
                return source.sqlite.table, settings
            case engine:
                raise InvalidSettings(
                    f"missing: type {engine} needs the block {engine}", field=f"source.{engine}"
                )

    async def _server(
        self, server: MySQL | PostgreSQL, into: type[S], block: str, namespace: str
    ) -> S:
        return into(
            host=server.host,
            port=server.port,
            username=server.username,
            password=await self._password(server, block, namespace),
            database=server.database,
            tls=await self._tls(server.tls, f"{block}.tls", namespace),
            connect_timeout=_seconds(server.connect_timeout),
            query_timeout=_seconds(server.query_timeout),
        )

    async def _password(self, server: Server, block: str, namespace: str) -> str:
        if server.password_ref is None:
            return ""
        return await self._text(server.password_ref, f"{block}.passwordRef", namespace)

    async def _tls(self, tls: Tls | None, block: str, namespace: str) -> TLS:
        if tls is None:
            return TLS(mode=TlsMode.DISABLE)

        async def text(ref: SecretKeyRef | ObjectKeyRef | None, field: str) -> str | None:
            return await self._text(ref, f"{block}.{field}", namespace) if ref else None

        return TLS(
            mode=tls.mode,
            ca=await text(tls.ca_ref, "caRef"),
            certificate=await text(tls.cert_ref, "certRef"),
            key=await text(tls.key_ref, "keyRef"),
        )

    async def _text(self, ref: SecretKeyRef | ObjectKeyRef, field: str, namespace: str) -> str:
        kind = ref.kind if isinstance(ref, ObjectKeyRef) else KeyHolder.SECRET
        try:
            found = await self._value(kind, ref.name, ref.key, namespace)
        except NotFound:
            wrong = f'there is no {kind} "{ref.name}" in the hub\'s namespace: create it'
            raise InvalidSettings(wrong, field=field) from None
        except UnicodeDecodeError:
            wrong = f'the key "{ref.key}" of {kind} "{ref.name}" is no text in UTF-8'
            raise InvalidSettings(wrong, field=field) from None
        except KubeError as error:
            wrong = f'{kind} "{ref.name}" could not be read: {error}'
            raise InvalidSettings(wrong, field=field) from None
        if found is None:
            wrong = f'{kind} "{ref.name}" has no key "{ref.key}": add it, or name another key'
            raise InvalidSettings(wrong, field=field)
        return found

    async def _value(self, kind: KeyHolder, name: str, key: str, namespace: str) -> str | None:
        if kind is KeyHolder.CONFIG_MAP:
            texts = await self._client.get(CONFIG_MAPS, name, namespace, into=_ConfigMap)
            return texts.data.get(key)
        secret = await self._client.get(SECRETS, name, namespace, into=_Secret)
        value = secret.data.get(key)
        return None if value is None else value.decode()


def _seconds(text: str) -> float:
    return sync_interval(text).total_seconds()
