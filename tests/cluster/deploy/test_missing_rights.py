"""Missing rights for some kinds: their resources fail and name the verb, others are applied.

Each of the 15 kinds is denied once: one half in the first run, the rest in the second.
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
"""Resource ids of samples/form-all-kinds.yaml and the plurals of their kinds."""

# The autoscaler is denied with its target, without which it would not become ready.
HALF: Final = ("account", "web", "service", "settings", "setup", "budget", "scaling")
REST: Final = tuple(sorted(PLURALS.keys() - set(HALF)))


def without(role: Object, plurals: set[str]) -> Object:
    """Return the role without rights for these resources."""
    reduced = copy.deepcopy(role)
    for rule in reduced["rules"]:
        rule["resources"] = [plural for plural in rule["resources"] if plural not in plurals]
    reduced["rules"] = [rule for rule in reduced["rules"] if rule["resources"]]
    return reduced


def all_kinds() -> Object:
    return one(loaded("samples/form-all-kinds.yaml"), "LynqForm")


def independent(form: Object) -> Object:
    """Return the form without dependencies, so that a failure affects one resource."""
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
        tenancy.set_row()
        with starter.running(default):
            await tenancy.apply_sample("hub-sqlite")
            await tenancy.apply(independent(all_kinds()))
            failed = await tenancy.wait_for_failures("all-kinds", denied)
            for resource_id, resource in failed.items():
                assert f"grant the verb watch on {PLURALS[resource_id]}" in resource["message"], (
                    resource
                )
            if denied is HALF:
                await recovers_once_granted(installer, tenancy, role)
    finally:
        await installer.apply(role)


async def recovers_once_granted(installer: Installer, tenancy: Tenancy, role: Object) -> None:
    """Grant the rights and wait until all kinds are ready, without a restart."""
    await installer.apply(role)
    await tenancy.wait_for_ready("all-kinds")


async def test_missing_event_rights_do_not_block_reconciling(
    default: list[Object], installer: Installer, starter: Starter, tenancy: Tenancy
) -> None:
    role = one(default, "ClusterRole", "lynq-manager-role")
    await installer.apply(without(role, {"events"}))
    try:
        tenancy.set_row()
        with starter.running(default) as run:
            await tenancy.apply_sample("hub-sqlite")
            await tenancy.apply(independent(all_kinds()))
            await tenancy.wait_for_ready("all-kinds")
            assert "grant the verb create on events" in run.log.read_text()
    finally:
        await installer.apply(role)


async def test_missing_lease_rights_block_all_writes_until_granted(
    default: list[Object], installer: Installer, starter: Starter, tenancy: Tenancy
) -> None:
    role = one(default, "Role", "lynq-leader-election-role")
    await installer.apply(without(role, {"leases"}))
    try:
        tenancy.set_row()
        with starter.running(default) as run:
            await tenancy.apply_sample("hub-sqlite")
            await tenancy.apply(independent(all_kinds()))
            expected = "on leases.coordination.k8s.io"
            await eventually(lambda: expected in run.log.read_text(), within=60)
            assert "controllers started" not in run.log.read_text()
            await installer.apply(role)
            await tenancy.wait_for_ready("all-kinds")
    finally:
        await installer.apply(role)
