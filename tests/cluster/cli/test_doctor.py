"""`lynq doctor`: one line per check, and an exit code for scripts."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import pytest

from cluster.cli.conftest import Lynq
from cluster.webhooks.admission import Admission
from lynq.api.names import LEASE
from lynq.cli.exit_codes import ExitCode
from lynq.controllers.installation_key import KEY_SECRET
from lynq.kube import Client, Resource
from lynq.kube.resource import LEASES, SECRETS
from operated.environment import FORMS, Environment
from rights import user_of, wait_until_allowed
from waiting import stays

BINDINGS = Resource(
    "rbac.authorization.k8s.io",
    "v1",
    "ClusterRoleBinding",
    "clusterrolebindings",
    namespaced=False,
)


@asynccontextmanager
async def admin_account(client: Client, namespace: str) -> AsyncIterator[None]:
    """Bind the account `operator` of the namespace to cluster-admin."""
    await client.create(
        BINDINGS,
        {
            "metadata": {"name": namespace},
            "roleRef": {
                "apiGroup": "rbac.authorization.k8s.io",
                "kind": "ClusterRole",
                "name": "cluster-admin",
            },
            "subjects": [{"kind": "ServiceAccount", "name": "operator", "namespace": namespace}],
        },
    )
    everything = {"group": "*", "resource": "*", "verb": "*"}
    await wait_until_allowed(client, user_of("operator", namespace), everything)
    yield
    await client.delete(BINDINGS, namespace)


def lines_of(text: str, *parts: str) -> list[str]:
    """Return the lines that contain one of the parts, with numbers of seconds normalized."""
    lines = [re.sub(r"\d+ (s|kinds)\b", r"N \1", line) for line in text.splitlines()]
    return [line for line in lines if any(part in line for part in parts)]


async def test_doctor_reports_each_check(env: Environment, run_lynq: Lynq) -> None:
    env.set_rows(("acme", 1, "gold"))
    await env.create_hub()
    await env.create_form()
    lease = {
        "holderIdentity": "lynq-0",
        "leaseDurationSeconds": 15,
        "renewTime": datetime.now(UTC).isoformat(timespec="microseconds"),
    }
    await env.client.create(
        LEASES, {"metadata": {"name": LEASE, "namespace": env.namespace}, "spec": lease}
    )
    async with env.run_controllers():
        await env.wait_for_status(desired=1)
    account = f"{env.namespace}/operator"
    options = ("--service-account", account, "--connect", "--sqlite-dir", str(env.directory))
    broken = await run_lynq("doctor", *options)
    assert broken.exit_code == ExitCode.ERROR
    # Other namespaces may have hubs and forms of other tests.
    own = (f" {env.namespace}/", f"in {env.namespace}")
    assert lines_of(broken.stdout, "clock", "crd", "webhooks", "installation key", *own) == [
        "ok    clock: differs from that of the API server by N s",
        "ok    crd lynqhubs: v1 is served",
        "ok    crd lynqforms: v1 is served",
        "ok    crd lynqnodes: v1 is served",
        f"ok    lease: {env.namespace}/{LEASE} is held by lynq-0, renewed N s ago",
        (
            "warn  webhooks: an invalid form is accepted: they are not installed, or do not "
            f"cover the namespace {env.namespace}; the condition Valid of a form still reports its "
            "problems"
        ),
        (
            f"FAIL  rights ConfigMap: system:serviceaccount:{env.namespace}:operator may not list, "
            f"watch, get, create, patch, delete configmaps in {env.namespace}"
        ),
        (
            f"FAIL  installation key: system:serviceaccount:{env.namespace}:operator may not get "
            f"Secret {env.namespace}/lynq-installation-key: LynqNodes of hubs wait; grant it get"
        ),
        f"ok    hub {env.namespace}/hub: all rows are read, 0 of 1 nodes ready",
        f"ok    database {env.namespace}/hub: sqlite, database rows.db: 1 active rows read",
    ]
    metadata = {"name": KEY_SECRET, "namespace": env.namespace}
    await env.client.create(SECRETS, {"metadata": metadata, "stringData": {"key": "k" * 32}})
    async with admin_account(env.client, env.namespace):
        allowed = await run_lynq("doctor", *options, "-o", "json")
    results = {result["name"]: result for result in json.loads(allowed.stdout)}
    assert results["rights"]["status"] == "ok"
    assert results["installation key"]["status"] == "ok"


async def test_doctor_tries_the_webhooks_by_dry_runs(env: Environment, run_lynq: Lynq) -> None:
    admission = Admission(env.client, env.namespace)
    async with admission.replica() as server, admission.configured(server):
        result = await run_lynq("doctor")
    assert lines_of(result.stdout, "webhooks") == [
        "ok    webhooks: an invalid form is refused, a valid one passes"
    ]
    assert (await env.client.list(FORMS, env.namespace)).items == []


@pytest.mark.timing
async def test_doctor_waits_and_prints_each_change(env: Environment, run_lynq: Lynq) -> None:
    await env.create_hub()
    await env.create_form()
    account = ("--service-account", f"{env.namespace}/operator")
    waiting = asyncio.create_task(run_lynq("doctor", "--wait", "--timeout", "8s", *account))
    await stays(lambda: not waiting.done(), seconds=3)
    async with admin_account(env.client, env.namespace):
        result = await waiting
    rights = lines_of(result.stdout, f"configmaps in {env.namespace}", "ok    rights")
    assert rights == [
        (
            f"FAIL  rights ConfigMap: system:serviceaccount:{env.namespace}:operator may not list, "
            f"watch, get, create, patch, delete configmaps in {env.namespace}"
        ),
        "ok    rights: the operator may manage the N kinds that forms use",
    ]
