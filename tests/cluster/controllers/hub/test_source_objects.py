"""The rights that the watch of a Secret needs."""

from collections.abc import AsyncIterator

import pytest
from structlog.testing import capture_logs

from background_tasks import run_in_background
from lynq.kube import Client, Resource
from lynq.kube.errors import Forbidden
from operated.secret_watcher import SecretWatcher
from waiting import eventually

ROLES = Resource("rbac.authorization.k8s.io", "v1", "Role", "roles", namespaced=True)
BINDINGS = Resource(
    "rbac.authorization.k8s.io", "v1", "RoleBinding", "rolebindings", namespaced=True
)


async def grant(watcher: SecretWatcher, *verbs: str) -> Client:
    """Return a client that may use these verbs on the Secret only."""
    metadata = {"name": "reader", "namespace": watcher.namespace}
    user = f"{watcher.namespace}-reader"
    rule = {"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["login"]}
    role = {"metadata": metadata, "rules": [rule | {"verbs": verbs}]}
    await watcher.client.create(ROLES, role)
    group = "rbac.authorization.k8s.io"
    await watcher.client.create(
        BINDINGS,
        {
            "metadata": metadata,
            "roleRef": {"apiGroup": group, "kind": "Role", "name": "reader"},
            "subjects": [{"apiGroup": group, "kind": "User", "name": user}],
        },
    )
    return watcher.client.acting_as(user)


@pytest.fixture
async def watcher(client: Client, namespace: str) -> AsyncIterator[SecretWatcher]:
    watcher = SecretWatcher(client, namespace)
    await watcher.write("first")
    async with run_in_background(watcher.jobs.run()):
        yield watcher


async def test_rights_on_the_one_name_suffice(watcher: SecretWatcher) -> None:
    watcher.act_as(await grant(watcher, "get", "list", "watch"))

    async def is_readable() -> bool:
        try:
            return await watcher.text() == b"first"
        except Forbidden:
            return False

    await eventually(is_readable)
    await eventually(watcher.has_watch)
    assert watcher.streams[0].query["fieldSelector"] == "metadata.name=login"


async def test_denied_watch_is_reported_and_replaced_by_a_get(watcher: SecretWatcher) -> None:
    watcher.act_as(await grant(watcher, "get"))

    async def is_reported() -> bool:
        try:
            await watcher.data()
        except Forbidden:
            return False
        return [line["object"] for line in logs if "watch denied" in line["event"]] == [
            f"{watcher.namespace}/login"
        ]

    with capture_logs() as logs:
        await eventually(is_reported)
    await watcher.write("second")
    assert await watcher.text() == b"second"
    assert watcher.requests.sent[-1].verb == "get"
