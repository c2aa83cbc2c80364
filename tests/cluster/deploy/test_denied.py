"""A right that is missing for some kinds: those fail and say so, all others go on.

Each of the 15 kinds is taken out once: one half of them in the first run, the rest in the second.
"""

import copy
from typing import Any, Final

import pytest

from cluster.deploy.installation import Installer, Starter
from cluster.deploy.tenants import Tenancy
from deploy.manifests import Object, loaded, one
from waiting import eventually

PLURALS: Final = {
    "account": "serviceaccounts",
    "web": "deployments",
    "store": "statefulsets",
    "agent": "daemonsets",
    "service": "services",
    "ingress": "ingresses",
    "settings": "configmaps",
    "password": "secrets",
    "data": "persistentvolumeclaims",
    "setup": "jobs",
    "backup": "cronjobs",
    "budget": "poddisruptionbudgets",
    "fence": "networkpolicies",
    "scaling": "horizontalpodautoscalers",
    "room": "namespaces",
}
"""The resources of samples/form-all-kinds.yaml, and what their kinds are called in rules."""

# The autoscaler goes with its target: without it, it would not become ready.
HALF: Final = ("account", "web", "service", "settings", "setup", "budget", "scaling")
REST: Final = tuple(sorted(PLURALS.keys() - set(HALF)))


def without(role: Object, plurals: set[str]) -> Object:
    """Return the role without the rights for these."""
    narrow = copy.deepcopy(role)
    for rule in narrow["rules"]:
        rule["resources"] = [plural for plural in rule["resources"] if plural not in plurals]
    narrow["rules"] = [rule for rule in narrow["rules"] if rule["resources"]]
    return narrow


def all_kinds() -> Object:
    return one(loaded("samples/form-all-kinds.yaml"), "LynqForm")


def independent(form: Object) -> Object:
    """Return the form without dependencies: a failure is to be one's own."""
    lists: list[list[dict[str, Any]]] = [
        value for value in form["spec"].values() if isinstance(value, list)
    ]
    for resources in lists:
        for resource in resources:
            resource.pop("dependIds", None)
    del form["spec"]["manifests"]
    return form


@pytest.mark.parametrize("denied", [HALF, REST], ids=["half", "rest"])
async def test_only_kinds_without_rights_fail_and_name_the_verb(
    default: list[Object],
    installer: Installer,
    starter: Starter,
    tenancy: Tenancy,
    denied: tuple[str, ...],
) -> None:
    role = one(default, "ClusterRole", "lynq-manager-role")
    await installer.apply(without(role, {PLURALS[resource_id] for resource_id in denied}))
    try:
        tenancy.row()
        with starter.running(default):
            await tenancy.sample("hub-sqlite")
            await tenancy.apply(independent(all_kinds()))
            failed = await tenancy.is_settled("all-kinds", denied)
            for resource_id, resource in failed.items():
                assert f"grant the verb watch on {PLURALS[resource_id]}" in resource["message"], (
                    resource
                )
            if denied is HALF:
                await go_on_once_granted(installer, tenancy, role)
    finally:
        await installer.apply(role)


async def go_on_once_granted(installer: Installer, tenancy: Tenancy, role: Object) -> None:
    """Wait until the denied kinds are ready: without a restart, after a pause of at most 30 s."""
    await installer.apply(role)
    await tenancy.is_ready("all-kinds")


async def test_missing_event_rights_do_not_block_reconciling(
    default: list[Object], installer: Installer, starter: Starter, tenancy: Tenancy
) -> None:
    role = one(default, "ClusterRole", "lynq-manager-role")
    await installer.apply(without(role, {"events"}))
    try:
        tenancy.row()
        with starter.running(default) as run:
            await tenancy.sample("hub-sqlite")
            await tenancy.apply(independent(all_kinds()))
            await tenancy.is_ready("all-kinds")
            assert "grant the verb create on events" in run.log.read_text()
    finally:
        await installer.apply(role)


async def test_missing_lease_rights_block_all_writes_until_granted(
    default: list[Object], installer: Installer, starter: Starter, tenancy: Tenancy
) -> None:
    role = one(default, "Role", "lynq-leader-election-role")
    await installer.apply(without(role, {"leases"}))
    try:
        tenancy.row()
        with starter.running(default) as run:
            await tenancy.sample("hub-sqlite")
            await tenancy.apply(independent(all_kinds()))
            expected = "on leases.coordination.k8s.io"
            await eventually(lambda: expected in run.log.read_text(), within=60)
            assert "controllers started" not in run.log.read_text()
            await installer.apply(role)
            await tenancy.is_ready("all-kinds")
    finally:
        await installer.apply(role)
