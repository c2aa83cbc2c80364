"""Shared fixtures of installation tests."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from cluster.deploy.installation import Installer, Starter
from cluster.deploy.tenants import Tenancy
from deploy.manifests import Object, kustomized
from lynq.kube import Client


@pytest.fixture(scope="session")
def installer(client: Client, crds: None) -> Installer:  # noqa: ARG001
    return Installer(client)


@pytest.fixture
def starter(kubectl: Callable[..., str], kubeconfig: Path, tmp_path: Path) -> Starter:
    return Starter(kubectl, kubeconfig, tmp_path)


@pytest.fixture
def tenancy(installer: Installer, namespace: str, tmp_path: Path) -> Tenancy:
    return Tenancy(installer, namespace, tmp_path)


@pytest.fixture(scope="package")
async def default(installer: Installer) -> AsyncIterator[list[Object]]:
    """Install kustomize/default without its webhooks, which no operator would serve."""
    objects = kustomized()
    without_webhooks = [obj for obj in objects if not obj["kind"].endswith("WebhookConfiguration")]
    async with installer.installed(without_webhooks):
        yield objects
