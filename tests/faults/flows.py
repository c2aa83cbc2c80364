"""The flows that are crashed at every write: what exists before, and what changes.

Every flow has a tenant that does not change, and some that do. LYNQ_FAULTS_TENANTS is their number.
"""

import os
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from faults.tenants import form_spec
from lynq.kube.resource import CONFIG_MAPS
from operated.environment import FORMS, HUBS, NODES, Environment, Object
from operated.manifests import deployment
from waiting import DeadlineError, eventually

TENANTS = tuple(f"t{number}" for number in range(int(os.environ.get("LYNQ_FAULTS_TENANTS", "5"))))
STABLE = "stable"
"""A tenant whose row does not change."""


@dataclass(slots=True)
class Site:
    """The two namespaces and the rows of one run of a flow."""

    env: Environment
    other: str
    plans: dict[str, str] = field(default_factory=lambda: dict.fromkeys((STABLE, *TENANTS), "pro"))
    inactive: set[str] = field(default_factory=set)

    def write_rows(self) -> None:
        rows = ((uid, int(uid not in self.inactive), plan) for uid, plan in self.plans.items())
        self.env.set_rows(*rows)

    async def sync(self) -> None:
        self.write_rows()
        await self.env.force_sync()

    async def patch_form(self, **spec: Any) -> None:
        await self.env.patch(FORMS, "web", {"spec": spec})

    def lists(self, text: str = "{{ .plan }}") -> Object:
        return form_spec(self.other, text)


Step = Callable[[Site], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Flow:
    """A state and a change of it."""

    prepare: Step
    """Creates hub, form, rows and what else exists before."""
    change: Step


async def prepare(site: Site) -> None:
    site.write_rows()
    await site.env.create_hub()
    await site.env.create_form(**site.lists())


async def prepare_no_tenants(site: Site) -> None:
    site.plans = {STABLE: "pro"}
    await prepare(site)


async def add_rows(site: Site) -> None:
    site.plans |= dict.fromkeys(TENANTS, "pro")
    await site.sync()


async def change_rows(site: Site) -> None:
    site.plans |= dict.fromkeys(TENANTS, "gold")
    await site.sync()


async def remove_rows(site: Site) -> None:
    """Delete every other row and deactivate the rest."""
    site.inactive = set(TENANTS[::2])
    for uid in TENANTS[1::2]:
        del site.plans[uid]
    await site.sync()


async def change_form(site: Site) -> None:
    """Change two kinds of objects, and remove the entry of a third."""
    await site.patch_form(**site.lists("plan {{ .plan }}") | {"services": []})


async def delete_hub(site: Site) -> None:
    await site.env.client.delete(HUBS, "hub", site.env.namespace)


async def delete_form(site: Site) -> None:
    await site.env.client.delete(FORMS, "web", site.env.namespace)


async def rename_objects(site: Site) -> None:
    """Give one object another name, and another one another namespace."""
    lists = site.lists()
    settings, remote = lists["configMaps"]
    settings["nameTemplate"] = "{{ .uid }}-renamed"
    remote["targetNamespace"] = site.env.namespace
    await site.patch_form(**lists)


async def break_objects(site: Site) -> None:
    """Delete an object of each tenant, and edit another one."""
    edit = {"metadata": {"annotations": {"lynq.sh/applied-hash": None}}, "data": {"plan": "x"}}
    for uid in TENANTS:
        await site.env.client.delete(CONFIG_MAPS, f"{uid}-settings", site.env.namespace)
        await site.env.client.patch(CONFIG_MAPS, f"{uid}-remote", edit, site.other)


async def create_foreign(site: Site) -> None:
    """Create objects of others: one that is adopted, one whose field is disputed."""
    for uid in TENANTS:
        for name, namespace, data in (
            (f"{uid}-settings", site.env.namespace, {"keep": "me"}),
            (f"{uid}-remote", site.other, {"plan": "foreign"}),
        ):
            obj = {"metadata": {"name": name}, "data": data}
            await site.env.client.create(CONFIG_MAPS, obj, namespace, manager="kubectl-create")


async def prepare_foreign(site: Site) -> None:
    await create_foreign(site)
    await prepare_no_tenants(site)


async def prepare_adopted(site: Site) -> None:
    await create_foreign(site)
    await prepare(site)


async def prepare_retained(site: Site) -> None:
    """Retain two kinds of objects, one without owner reference."""
    lists = site.lists()
    lists["configMaps"][1]["deletionPolicy"] = "Retain"
    lists["secrets"][0]["deletionPolicy"] = "Retain"
    site.write_rows()
    await site.env.create_hub()
    await site.env.create_form(**lists)


async def remove_rows_of_protected(site: Site) -> None:
    """Protect one node, and remove the rows of all."""
    protect = {"metadata": {"annotations": {"lynq.sh/protect": "true"}}}
    await site.env.patch(NODES, f"{TENANTS[0]}-web", protect)

    async def is_observed() -> bool:
        obj = await site.env.get(CONFIG_MAPS, f"{TENANTS[0]}-settings")
        return "ownerReferences" not in obj["metadata"]

    # A deletion that was planned before is not carried out, but counts. An operator that crashes
    # now observes the protection after its restart.
    with suppress(DeadlineError):
        await eventually(is_observed, within=3)
    await remove_rows(site)


def app(image: str) -> Object:
    manifest = deployment("app", replicas=0, image=image)
    return {"id": "app", "nameTemplate": "{{ .uid }}-app", "spec": manifest}


async def prepare_rollout(site: Site) -> None:
    site.write_rows()
    await site.env.create_hub()
    await site.env.create_form(deployments=[app("nginx:1")], rollout={"maxSkew": 2})


async def roll_out(site: Site) -> None:
    await site.patch_form(deployments=[app("nginx:2")])


FLOWS = {
    "create rows": Flow(prepare_no_tenants, add_rows),
    "change rows": Flow(prepare, change_rows),
    "remove rows": Flow(prepare, remove_rows),
    "change form": Flow(prepare, change_form),
    "rename objects": Flow(prepare, rename_objects),
    "roll out": Flow(prepare_rollout, roll_out),
    "adopt": Flow(prepare_foreign, add_rows),
    "release": Flow(prepare_adopted, remove_rows),
    "retain and protect": Flow(prepare_retained, remove_rows_of_protected),
    "repair": Flow(prepare, break_objects),
    "delete form": Flow(prepare, delete_form),
    "delete hub": Flow(prepare, delete_hub),
}
