"""Looks texts up in the Secrets and ConfigMaps that a hub names: by name, never by list.

Whatever is missing is told with the field that names it and what to do; what is in a Secret is
never told.
"""

from collections.abc import Mapping

import msgspec

from lynq.api import KeyHolder, ObjectKeyRef, SecretKeyRef
from lynq.kube import Client
from lynq.kube.errors import KubeError, NotFound
from lynq.kube.resource import CONFIG_MAPS, SECRETS
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
