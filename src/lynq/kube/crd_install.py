"""Installs CRDs and waits until the API server serves them."""

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
    """The effect of an apply of a CRD."""

    CREATED = "created"
    CHANGED = "changed"
    UNCHANGED = "unchanged"


async def install_crd(
    client: Client, definition: Mapping[str, Any], *, dry_run: bool = False
) -> InstallResult:
    """Apply one CRD and, unless it is a dry run, wait until the API server serves it.

    The apply is forced: an explicit install takes fields over from kubectl and Helm.
    """
    name = definition["metadata"]["name"]
    before = await _resource_version(client, name)
    applied = await client.apply(
        CUSTOM_RESOURCE_DEFINITIONS,
        dict(definition),
        manager=INSTALL_MANAGER,
        force=True,
        dry_run=dry_run,
    )
    if not dry_run:
        await _wait_until_established(client, name)
    if before is None:
        return InstallResult.CREATED
    unchanged = applied["metadata"]["resourceVersion"] == before
    return InstallResult.UNCHANGED if unchanged else InstallResult.CHANGED


async def _resource_version(client: Client, name: str) -> str | None:
    try:
        definition = await client.get(CUSTOM_RESOURCE_DEFINITIONS, name)
    except NotFound:
        return None
    return str(definition["metadata"]["resourceVersion"])


async def _wait_until_established(client: Client, name: str) -> None:
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
    # A new CRD has `conditions: null`.
    conditions = definition.get("status", {}).get("conditions") or []
    return any(
        condition["type"] == "Established" and condition["status"] == "True"
        for condition in conditions
    )
