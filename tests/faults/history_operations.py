"""The operations of random histories on forms, nodes, objects and the process; all with weights.

An operation changes the model and the cluster, and returns what it did, or an empty text if it is
not applicable. Only the model decides whether it is, so that a seed always gives the same ones.
"""

import asyncio
import signal
from contextlib import suppress

from faults.conftest import Replicas
from faults.histories import History, Operations
from faults.history_model import HistoryModel, Place, RowState, Tenant
from faults.history_recorder import CHILDREN, recording
from faults.history_removals import CONFIRM_AFTER
from faults.history_rows import (
    add_history,
    change_row,
    deactivate_row,
    delete_row,
    duplicate_row,
    heal_row,
    insert_row,
    reinsert_row,
    rename_table,
    replace_spoilt_row,
    spoil_row,
)
from lynq.kube import Resource
from lynq.kube.errors import AlreadyExists, Conflict, NotFound
from lynq.kube.resource import CONFIG_MAPS
from operated.environment import FORMS, NODES, Environment, Object

# Forms.


async def change_text(history: History) -> str:
    history.model.set_text(f"{{{{ .plan }}}} {history.rng.randrange(1000)}")
    await history.patch_form()
    return f"text of the form is {history.model.text!r}"


async def toggle_entry(history: History) -> str:
    entry = history.model.entries[history.rng.choice(("service", "remote", "seed", "kept", "app"))]
    place = entry.place
    if entry.present:
        history.model.removals.begin("place", place, confirm=0.0)
    entry.present = not entry.present
    await history.patch_form()
    if entry.present:
        history.model.removals.end("place", place)
    return f"entry {place} is {'added' if entry.present else 'removed'}"


async def rename_objects(history: History) -> str:
    entry = history.model.entries[history.rng.choice(("settings", "service", "remote", "app"))]
    before = entry.place
    entry.renamed = not entry.renamed
    return await _replace_place(history, before, entry.place)


async def move_objects(history: History) -> str:
    entry, model = history.model.entries["remote"], history.model
    before = entry.place
    entry.namespace = model.namespace if entry.namespace == model.other else model.other
    return await _replace_place(history, before, entry.place)


async def _replace_place(history: History, before: Place, after: Place) -> str:
    history.model.removals.begin("place", before, confirm=0.0)
    await history.patch_form()
    history.model.removals.end("place", after)
    return f"objects {before} are {after} now"


async def change_policy(history: History) -> str:
    entry = history.model.entries[history.rng.choice(("remote", "service", "seed"))]
    entry.retain = not entry.retain
    await history.patch_form()
    return f"deletionPolicy of {entry.place} is {'Retain' if entry.retain else 'Delete'}"


async def replace_form(history: History) -> str:
    """Delete the form and create it again, as `kubectl replace --force` does."""
    env, pause = history.env, history.rng.uniform(0, 0.8)
    history.model.removals.begin("form", "web")
    await env.client.delete(FORMS, "web", env.namespace)
    await asyncio.sleep(pause)
    await env.create_form(**history.model.form_spec())
    history.model.removals.end("form", "web")
    return f"form is deleted, and created {pause:.2f} s later"


async def change_max_skew(history: History) -> str:
    history.model.max_skew = history.rng.choice((0, 1, 3))
    await history.patch_form()
    return f"maxSkew is {history.model.max_skew}"


async def pause_form(history: History) -> str:
    """Pause the form, or resume it."""
    is_paused = history.model.toggle_pause("web")
    await history.patch_form()
    return f"form is {'paused' if is_paused else 'resumed'}"


async def pause_hub(history: History) -> str:
    """Pause the hub, or resume it."""
    is_paused = await history.toggle_hub()
    return f"hub is {'paused' if is_paused else 'resumed'}"


async def toggle_extra_form(history: History) -> str:
    env, model = history.env, history.model
    model.has_extra_form = not model.has_extra_form
    if model.has_extra_form:
        await history.create_extra_form()
        model.removals.end("form", "extra")
        return "second form is created"
    model.removals.begin("form", "extra")
    await env.client.delete(FORMS, "extra", env.namespace)
    return "second form is deleted"


# Nodes and objects.


async def annotate_node(history: History) -> str:
    """Pause or protect a node."""
    tenant, what = _any(history), history.rng.choice(("paused", "protect"))
    found = await history.annotate(f"{tenant.uid}-web", **{what: "true"})
    return f"node of {tenant.uid} is annotated {what}{'' if found else ', but does not exist'}"


async def release_node(history: History) -> str:
    tenant = _any(history)
    await history.annotate(f"{tenant.uid}-web", paused=None, protect=None)
    return f"node of {tenant.uid} is neither paused nor protected"


async def edit_node(history: History) -> str:
    tenant = _any(history)
    with suppress(NotFound):
        await history.env.patch(NODES, f"{tenant.uid}-web", {"spec": {"configMaps": []}})
    return f"spec of the node of {tenant.uid} is edited"


async def delete_node(history: History) -> str:
    tenant = _any(history)
    await _delete(history, NODES, history.env.namespace, f"{tenant.uid}-web")
    return f"node of {tenant.uid} is deleted by hand"


async def delete_object(history: History) -> str:
    tenant, (kind, namespace, part) = _any(history), _any_place(history)
    if tenant.uid not in history.model.foreign:
        await _delete(history, CHILDREN[kind], namespace, f"{tenant.uid}-{part}")
    return f"object {kind} {tenant.uid}-{part} is deleted by hand"


async def edit_data(history: History) -> str:
    tenant, place = _any(history), history.model.entries["remote"].place
    patch = {"data": {"plan": "edited"}}
    with suppress(NotFound):
        await history.env.client.patch(CONFIG_MAPS, f"{tenant.uid}-{place[2]}", patch, place[1])
    return f"data of {tenant.uid}-{place[2]} is edited"


async def edit_marks(history: History) -> str:
    """Remove tracking labels or the owner reference of an object."""
    tenant, (kind, namespace, part) = _any(history), _any_place(history)
    field = history.rng.choice(("labels", "ownerReferences"))
    name = f"{tenant.uid}-{part}"
    history.model.stripped.add((kind, namespace, name))
    with suppress(NotFound):
        await history.env.client.patch(CHILDREN[kind], name, {"metadata": {field: None}}, namespace)
    return f"{field} of {kind} {name} are removed"


async def create_foreign(history: History) -> str:
    """Create an object of the name that the tenant's settings will have."""
    tenant = history.pick(RowState.DELETED, RowState.INACTIVE)
    entry, model = history.model.entries["settings"], history.model
    if tenant is None or entry.renamed:
        return ""
    obj: Object = {"metadata": {"name": f"{tenant.uid}-settings"}, "data": {"keep": "me"}}
    with suppress(AlreadyExists):
        created = await history.env.client.create(
            CONFIG_MAPS, obj, model.namespace, manager="kubectl-create"
        )
        model.foreign[tenant.uid] = created["metadata"]["uid"]
        return f"settings of {tenant.uid} are created by another manager"
    return f"settings of {tenant.uid} exist still"


async def _delete(history: History, resource: Resource, namespace: str, name: str) -> None:
    client = history.env.client
    with suppress(NotFound, Conflict):
        uid = (await client.get(resource, name, namespace))["metadata"]["uid"]
        history.model.deleted_by_test.add(uid)
        await client.delete(resource, name, namespace, uid=uid)


def _any(history: History) -> Tenant:
    return history.rng.choice([*history.model.tenants.values()])


def _any_place(history: History) -> Place:
    return history.rng.choice(sorted(history.model.places()))


# The operator's process and its connections.


async def kill(history: History) -> str:
    """Kill the operator, or start it again."""
    if history.is_running:
        history.kill()
        history.count("kills")
        return "operator is killed"
    history.start()
    return "operator is started"


async def restart(history: History) -> str:
    """Stop the operator with SIGTERM and start it again."""
    if not history.is_running:
        return ""
    history.replica.signal(signal.SIGTERM)
    await history.replica.wait_for_exit()
    history.start()
    return "operator is restarted"


async def disconnect(history: History) -> str:
    history.replica.proxy.disconnect()
    history.count("cuts")
    return "connections are cut"


async def block(history: History) -> str:
    proxy = history.replica.proxy
    proxy.block()
    asyncio.get_running_loop().call_later(1.0, proxy.unblock)
    return "requests are held back for a second"


OPERATIONS: Operations = {
    insert_row: 12,
    change_row: 6,
    delete_row: 8,
    deactivate_row: 3,
    reinsert_row: 8,
    spoil_row: 12,
    heal_row: 5,
    replace_spoilt_row: 5,
    duplicate_row: 4,
    add_history: 3,
    rename_table: 4,
    change_text: 4,
    toggle_entry: 4,
    rename_objects: 3,
    move_objects: 2,
    change_policy: 4,
    replace_form: 3,
    change_max_skew: 3,
    pause_form: 3,
    pause_hub: 3,
    toggle_extra_form: 2,
    annotate_node: 4,
    release_node: 2,
    edit_node: 3,
    delete_node: 1,
    delete_object: 3,
    edit_data: 3,
    edit_marks: 3,
    create_foreign: 4,
    kill: 8,
    restart: 2,
    disconnect: 3,
    block: 3,
}


async def run_history(
    seed: int,
    env: Environment,
    replicas: Replicas,
    other: str,
    properties: list[tuple[str, object]],
    *,
    chapters: int,
    operations: int,
) -> None:
    """Run and check the history of a seed; add how many faults it injected to the properties."""
    model = HistoryModel(env.namespace, other)
    model.write_rows(env.directory / "rows.db")
    # Every removal of a history is meant: the limits of the guard must not hold it.
    guard = {"confirmAfter": f"{CONFIRM_AFTER:.0f}s", "maxCount": 10_000}
    source = {"syncInterval": "1s", "changes": ("Poll", "Push")[seed % 2]}
    await env.create_hub(source=source, deletionGuard=guard)
    await env.create_form(**model.form_spec())
    async with recording(env) as recorder:
        history = History(seed, env, model, recorder, await replicas())
        try:
            await history.create_extra_form()
            await history.run(OPERATIONS, chapters=chapters, operations=operations)
            await history.replica.stop()
        finally:
            properties.extend({"lost": 0, "left behind": 0, **history.counts}.items())
