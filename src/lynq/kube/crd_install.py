"""Puts custom resource definitions into a cluster and waits until they are served."""

import asyncio
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from lynq.kube.client import Client
from lynq.kube.errors import KubeError, NotFound
from lynq.kube.resource import CUSTOM_RESOURCE_DEFINITIONS

INSTALL_MANAGER = "lynq-install"
ESTABLISH_SECONDS = 30.0
POLL_SECONDS = 0.1


class InstallResult(StrEnum):
    """What applying a definition did."""

    CREATED = "created"
    CHANGED = "changed"
    UNCHANGED = "unchanged"


async def install_crd(
    client: Client, definition: Mapping[str, Any], *, dry_run: bool = False
) -> InstallResult:
    """Apply one definition and, unless it is a dry run, wait until the API server serves it.

    Fields that another installer owns (kubectl, Helm) are taken over: installing is an order.
    """
    name = definition["metadata"]["name"]
    before = await _resource_version(client, name)
    answer = await client.apply(
        CUSTOM_RESOURCE_DEFINITIONS,
        dict(definition),
        manager=INSTALL_MANAGER,
        force=True,
        dry_run=dry_run,
    )
    if not dry_run:
        await _established(client, name)
    if before is None:
        return InstallResult.CREATED
    same = answer["metadata"]["resourceVersion"] == before
    return InstallResult.UNCHANGED if same else InstallResult.CHANGED


async def _resource_version(client: Client, name: str) -> str | None:
    try:
        definition = await client.get(CUSTOM_RESOURCE_DEFINITIONS, name)
    except NotFound:
        return None
    return str(definition["metadata"]["resourceVersion"])


async def _established(client: Client, name: str) -> None:
    try:
        async with asyncio.timeout(ESTABLISH_SECONDS):
            while not _is_established(await client.get(CUSTOM_RESOURCE_DEFINITIONS, name)):
                await asyncio.sleep(POLL_SECONDS)
    except TimeoutError:
        raise KubeError(
            f"{name} was applied, but the API server does not serve it after"
            f" {ESTABLISH_SECONDS:.0f} s: kubectl describe crd {name}"
        ) from None


def _is_established(definition: Mapping[str, Any]) -> bool:
    # A definition that nobody has looked at yet has `conditions: null`.
    conditions = definition.get("status", {}).get("conditions") or []
    return any(each["type"] == "Established" and each["status"] == "True" for each in conditions)
