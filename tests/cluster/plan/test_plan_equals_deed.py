"""Plan equals deed: what `lynq plan` shows is what the audit log of the API server has.

All tenants are provisioned by one operator. It stops, every tenant gets its change and its plan,
and the next operator carries them out. The audit log then tells what it wrote to each tenant.
"""

import asyncio
import json
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from cluster.plan.cases import CASES, Case
from lynq.api.crds import build as definitions
from lynq.api.node_metadata import SHARD_LABELS
from lynq.cli.exit_codes import ExitCode
from lynq.cli.root import lynq
from lynq.cluster import LocalCluster
from lynq.controllers.manager import Process, ProcessSettings
from lynq.controllers.options import Options
from lynq.controllers.timing import Timing
from lynq.kube import Client, load_config
from lynq.kube.crd_install import install_crd
from lynq.kube.resource import NAMESPACES
from operated.environment import Environment, Object
from waiting import DeadlineError, eventually

POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [
        {"level": "None", "resources": [{"resources": ["events", "nodes", "nodes/status"]}]},
        # Kubernetes nodes renew theirs every few seconds: no cluster would ever be idle.
        {
            "level": "None",
            "resources": [{"group": "coordination.k8s.io", "resources": ["leases"]}],
        },
        {
            "level": "RequestResponse",
            "users": ["admin"],
            "verbs": ["create", "update", "patch", "delete"],
        },
    ],
}
KINDS = {
    "configmaps": "ConfigMap",
    "deployments": "Deployment",
    "lynqnodes": "LynqNode",
    "namespaces": "Namespace",
    "secrets": "Secret",
}

PUBLISHED = "kube-root-ca.crt"
"""The ConfigMap that kube-controller-manager creates in every namespace, also as admin."""

Written = dict[tuple[str, str, str], str]
"""What happens to each object: `Create`, `Update`, `Replace` or `Delete`.

The key is kind, namespace and name.
"""


@dataclass(slots=True)
class Tenant:
    """A case in its namespace."""

    case: Case
    env: Environment
    plan: Object = field(default_factory=dict)
    deleting: set[tuple[str, str, str]] = field(default_factory=set)
    """The nodes that were being deleted before the operator ran."""
    written: Written = field(default_factory=dict)

    def has_namespace(self, name: str) -> bool:
        """Return whether a namespace is the tenant's, or one that its form creates."""
        return name == self.case.name or name.startswith(f"{self.case.name}-")

    @property
    def planned(self) -> Written:
        """The changes of the plan that are carried out, as the audit log names them."""
        plain = {"Adopt": "Update", "Orphan": "Update"}
        return {
            (change["kind"], change["namespace"], change["name"]): plain.get(
                change["action"], change["action"]
            )
            for change in self.plan["changes"]
            if not change["held"]
        }

    def has_written(self, lines: list[str], version: int) -> bool:
        """Return whether every change of the plan was carried out."""
        own = [line for line in lines if self.case.name in line]
        return self.planned.keys() <= written(own, self, version).keys()


@pytest.fixture(scope="module")
def audited(clusters: Path) -> Iterator[LocalCluster]:
    """A cluster with an audit log of every write."""
    cluster = LocalCluster(f"audited-{uuid.uuid4().hex[:8]}", clusters)
    cluster.up(owned=True, audit_policy=yaml.safe_dump(POLICY))
    yield cluster
    cluster.down()


@pytest.fixture(scope="module")
async def tenants(audited: LocalCluster, tmp_path_factory: Any) -> dict[str, Tenant]:
    """All cases: provisioned, changed, planned and carried out."""
    directory: Path = tmp_path_factory.mktemp("tenants")
    async with Client.connect(load_config(kubeconfig=audited.kubeconfig)) as client:
        for definition in definitions():
            await install_crd(client, definition)
        tenants = [await created(client, case, directory) for case in CASES]
        async with operator(client, directory, audited):
            pass
        for tenant in tenants:
            await tenant.case.change(tenant.env)
            tenant.deleting = {
                ("LynqNode", tenant.env.namespace, name)
                for name, node in (await tenant.env.nodes()).items()
                if "deletionTimestamp" in node["metadata"]
            }
        for tenant in tenants:
            tenant.plan = await plan_of(tenant, audited, directory)
        start = len(audit_lines(audited))
        version = int((await client.list(NAMESPACES)).resource_version)
        pending = list(tenants)

        def is_carried_out() -> bool:
            lines = audit_lines(audited)[start:]
            pending[:] = [each for each in pending if not each.has_written(lines, version)]
            return not pending

        async with operator(client, directory, audited):
            # A hand-over is tried again every 30 s. The tests name what is missing after all.
            with suppress(DeadlineError):
                await eventually(is_carried_out, within=90, every=2)
        for tenant in tenants:
            tenant.written = written(audit_lines(audited)[start:], tenant, version)
    return {tenant.case.name: tenant for tenant in tenants}


async def created(client: Client, case: Case, directory: Path) -> Tenant:
    name = case.name
    await client.create(NAMESPACES, {"metadata": {"name": name}})
    folder = directory / name
    folder.mkdir()
    env = Environment(client, name, folder)
    env.set_rows(*case.rows)
    if case.arrange:
        await case.arrange(env)
    sqlite = {"path": f"{name}/rows.db", "table": "tenants"}
    await env.create_hub(source={"sqlite": sqlite, "syncInterval": "2s"}, **case.hub)
    await env.create_form(**case.form)
    return Tenant(case, env)


IDLE_SECONDS = Timing().move_grace.total_seconds() + 3
"""Longer than an object that leaves its form waits for another form to desire it."""


@asynccontextmanager
async def operator(client: Client, directory: Path, cluster: LocalCluster) -> AsyncIterator[None]:
    """Run the operator until it has written nothing for some seconds."""
    settings = ProcessSettings(options=Options(sqlite_directory=directory))
    stop = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        group.create_task(Process(settings, client).run(stop))
        yield
        count = -1

        def is_idle() -> bool:
            nonlocal count
            last, count = count, len(audit_lines(cluster))
            return count == last

        await eventually(is_idle, within=120, every=IDLE_SECONDS)
        stop.set()


def audit_lines(cluster: LocalCluster) -> list[str]:
    return cluster.layout.audit_log.read_text().splitlines()


async def plan_of(tenant: Tenant, cluster: LocalCluster, directory: Path) -> Object:
    arguments = ["plan", "--hub", "hub", "-o", "json", "--operator-namespace", "default"]
    arguments += ["--kubeconfig", str(cluster.kubeconfig), "-n", tenant.env.namespace]
    arguments += ["--sqlite-dir", str(directory)]
    result = await asyncio.to_thread(CliRunner().invoke, lynq, arguments)
    assert result.exit_code in {ExitCode.OK, ExitCode.DIFFERENT, ExitCode.HELD}, result.output
    plan: Object = json.loads(result.stdout)
    return plan


def is_for_shards(patch: Object) -> bool:
    """Return whether a request changes only labels that concern shards, which no plan shows."""
    metadata = patch.get("metadata", {})
    is_of_labels = patch.keys() == {"metadata"} and metadata.keys() == {"labels", "resourceVersion"}
    return is_of_labels and metadata["labels"].keys() <= SHARD_LABELS


def written(lines: list[str], tenant: Tenant, version: int) -> Written:
    """Return what was written to the objects of a tenant after a resourceVersion."""
    result: Written = dict.fromkeys(tenant.deleting, "Delete")
    for line in lines:
        event = json.loads(line)
        reference, response = event["objectRef"], event.get("responseObject", {})
        kind, namespace = KINDS.get(reference["resource"]), reference.get("namespace", "")
        code = event["responseStatus"]["code"]
        if kind is None or reference.get("subresource") or code >= 300:
            continue
        if kind == "LynqNode" and is_for_shards(event.get("requestObject") or {}):
            continue
        name = reference.get("name") or response["metadata"]["name"]
        is_own = tenant.has_namespace(name if kind == "Namespace" else namespace)
        if not is_own or name == PUBLISHED:
            continue
        # The audit log has a Namespace in itself.
        key = (kind, "" if kind == "Namespace" else namespace, name)
        if event["verb"] == "delete":
            result[key] = "Delete"
        elif code == 201:
            result[key] = "Replace" if result.get(key) == "Delete" else "Create"
        elif int(response["metadata"]["resourceVersion"]) > version:
            result.setdefault(key, "Update")
    return result


@pytest.mark.parametrize("name", [case.name for case in CASES])
def test_plan_equals_deed(tenants: dict[str, Tenant], name: str) -> None:
    tenant = tenants[name]
    assert tenant.planned == tenant.written


@pytest.mark.parametrize("name", [case.name for case in CASES if "entry-moved" in case.name])
def test_object_whose_entry_moved_is_handed_over(tenants: dict[str, Tenant], name: str) -> None:
    """The object is updated by its new node, and neither deleted nor created again."""
    written = tenants[name].written
    assert {action for (kind, *_), action in written.items() if kind != "LynqNode"} == {"Update"}


def test_plan_names_the_protected_node_that_stays(tenants: dict[str, Tenant]) -> None:
    [note] = tenants["protected-row-deactivated"].plan["notes"]
    assert note.startswith('LynqNode "acme-web" ')


def test_at_least_forty_kinds_of_change_are_compared() -> None:
    assert len({case.name for case in CASES}) >= 40
