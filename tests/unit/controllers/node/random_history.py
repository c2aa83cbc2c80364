"""A random history: seeded operations on rows, forms, nodes, objects and the operator's process.

Every change of the store is checked as it happens. After each chapter all faults are healed, and
what exists must be what the model desires. Time is virtual, so a seed always gives the same
history.
"""

import asyncio
import json
import random
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from lynq.controllers.manager import Process, ProcessSettings
from lynq.controllers.options import Options
from lynq.kube.errors import KubeError, NotFound
from lynq.kube.resource import CONFIG_MAPS
from memory.api_server import Fault, MemoryApiServer
from memory.store import Change, owner_uids
from operated.environment import FORMS, NODES, Environment, Object
from waiting import DeadlineError, eventually

FORM_NAMES = ("first", "second")
UIDS = ("t0", "t1")
MAX_SKEW = 1
OBSERVED = 3.0
"""Seconds after which the operator acts on what a node desires."""
_CONVERGED = 300.0
_HOLD = "test.lynq.sh/hold"


@dataclass(slots=True)
class Entry:
    """An entry of a form, or of both for a while."""

    forms: set[str]
    name: str
    retain: bool = False
    once: bool = False

    def manifest(self, resource_id: str) -> Object:
        """Return the entry of the form."""
        return {
            "id": resource_id,
            "nameTemplate": f"{{{{ .uid }}}}-{self.name}",
            "deletionPolicy": "Retain" if self.retain else "Delete",
            "creationPolicy": "Once" if self.once else "WhenNeeded",
            "conflictPolicy": "Force",
            "spec": {"apiVersion": "v1", "kind": "ConfigMap", "data": {"plan": "{{ .plan }}"}},
        }


@dataclass(slots=True)
class Model:
    """What rows and forms desire."""

    rows: dict[str, int] = field(default_factory=lambda: dict.fromkeys(UIDS, 1))
    """By uid whether the row is active; a deleted row is missing."""
    entries: dict[str, Entry] = field(
        default_factory=lambda: {
            "a": Entry({"first"}, "a"),
            "b": Entry({"first"}, "b", retain=True),
            "c": Entry({"second"}, "c"),
            "d": Entry({"first"}, "d"),
            "e": Entry({"second"}, "e", once=True),
        }
    )

    @property
    def active(self) -> list[str]:
        """The uids whose nodes exist."""
        return [uid for uid, active in self.rows.items() if active]

    def nodes(self) -> set[str]:
        """Return the names of the nodes."""
        return {f"{uid}-{form}" for uid in self.active for form in FORM_NAMES}

    def objects(self) -> set[str]:
        """Return the names of the objects that a node desires."""
        names = {entry.name for entry in self.entries.values() if entry.forms}
        return {f"{uid}-{name}" for uid in self.active for name in names}

    def form(self, form: str) -> list[Object]:
        """Return the entries of a form."""
        return [
            entry.manifest(resource_id)
            for resource_id, entry in self.entries.items()
            if form in entry.forms
        ]


@dataclass(slots=True)
class Recorder:
    """Checks every change of the store as it happens."""

    server: MemoryApiServer
    problems: list[str] = field(default_factory=list)
    changes: list[str] = field(default_factory=list)
    by_hand: set[str] = field(default_factory=set)
    """The uids of the objects and nodes that the test deletes."""
    foreign: set[str] = field(default_factory=set)
    """The uids of the objects that existed before."""
    stripped: set[str] = field(default_factory=set)
    """The uids of the objects whose ties the test removed."""
    _desired_since: dict[tuple[str, str], float] = field(default_factory=dict)
    """By uid of a living node and name of an object."""
    _retained_since: dict[tuple[str, str], float] = field(default_factory=dict)

    def observe(self, change: Change) -> None:
        """Check one change."""
        if change.key.resource == "configmaps" and change.key.namespace == "test":
            self._observe_object(change)
        elif change.key.resource.startswith("lynqnodes"):
            self._observe_node(change)

    def _note(self, text: str) -> None:
        self.changes.append(f"{_now():9.3f}    {text}")

    def _fail(self, text: str) -> None:
        self.problems.append(f"{_now():9.3f}  {text}")

    def _observe_object(self, change: Change) -> None:
        name, before, after = change.key.name, change.before, change.after
        if before is None:
            self._note(f"created {name} {_summary(after)}")
            if after is not None and "keep" in after["data"]:
                self.foreign.add(after["metadata"]["uid"])
            return
        if after is not None and not (_is_deleting(after) and not _is_deleting(before)):
            return
        if after is None and _is_deleting(before):
            self._note(f"gone {name}")
            return
        self._note(f"deleted {name} {_summary(before)}")
        metadata = before["metadata"]
        if metadata["uid"] in self.by_hand:
            return
        marks = {**metadata.get("labels", {}), **metadata.get("annotations", {})}
        if metadata["uid"] in self.foreign:
            self._fail(f"{name} was deleted, but it existed before")
        if "lynq.sh/orphaned" in marks:
            self._fail(f"{name} was deleted, but it was retained")
        if marks.get("lynq.sh/deletion-policy") == "Retain" or self._has(
            self._retained_since, name
        ):
            self._fail(f"{name} was deleted, but its deletionPolicy is Retain")
        if node := self._has(self._desired_since, name):
            self._fail(f"{name} was deleted, but {node} desires it")

    def _has(self, since: dict[tuple[str, str], float], name: str) -> str:
        return next(
            (
                node
                for (node, desired), at in since.items()
                if desired == name and _now() - at >= OBSERVED
            ),
            "",
        )

    def _observe_node(self, change: Change) -> None:
        before, after = change.before, change.after
        node: Object = after or before or {}
        self._index(node, exists=after is not None and not _is_deleting(node))
        if before is None:
            self._note(f"created node {change.key.name}")
        elif after is None:
            self._note(f"node {change.key.name} is gone")
            self._check_finalized(before)
        elif _is_deleting(after) and not _is_deleting(before):
            self._note(f"deleted node {change.key.name}")
        if after is not None and _written(after) != (_written(before) if before else ""):
            self._check_skew(after)

    def _index(self, node: Object, *, exists: bool) -> None:
        key, uid = node["metadata"]["name"], node["spec"]["uid"]
        entries = node["spec"].get("configMaps", []) if exists else []
        names = {entry["nameTemplate"].replace("{{ .uid }}", uid): entry for entry in entries}
        retained = {
            name for name, entry in names.items() if entry.get("deletionPolicy") == "Retain"
        }
        for since, current in ((self._desired_since, names), (self._retained_since, retained)):
            for each in [each for each in since if each[0] == key and each[1] not in current]:
                del since[each]
            for name in current:
                since.setdefault((key, name), _now())

    def _check_finalized(self, node: Object) -> None:
        """Check that all objects of a node that is gone are gone or retained."""
        uid = node["metadata"]["uid"]
        for name, obj in self.objects().items():
            if obj["metadata"]["uid"] in self.stripped:
                continue
            proof = obj["metadata"].get("annotations", {}).get("lynq.sh/tracking-id", "")
            if (uid in owner_uids(obj) or proof.startswith(uid)) and not _is_orphan(obj):
                self._fail(f"node {node['metadata']['name']} is gone, but {name} is not")

    def _check_skew(self, node: Object) -> None:
        """Check at a write how many nodes hold a slot of the form's budget.

        The budget of rows does not bound nodes that are broken for a reason of their own.
        """
        if not node["metadata"]["name"].endswith("-first") or not _is_updating(node):
            return
        updating = [
            name
            for name, each in self.nodes().items()
            if each["metadata"]["annotations"].get("lynq.sh/rollout-budget") == "Form"
            and name.endswith("-first")
            and _is_updating(each)
        ]
        if len(updating) > MAX_SKEW:
            self._fail(f"maxSkew is {MAX_SKEW}, but {', '.join(updating)} are updating")

    def objects(self) -> dict[str, Object]:
        """Return the objects by name."""
        return self._of("configmaps")

    def nodes(self) -> dict[str, Object]:
        """Return the nodes by name."""
        return self._of("lynqnodes.operator.lynq.sh")

    def _of(self, resource: str) -> dict[str, Object]:
        store = self.server.store
        found = {key.name: store.get(key) for key in store.keys(resource, "test")}
        return {name: obj for name, obj in found.items() if obj is not None}


def _now() -> float:
    return asyncio.get_running_loop().time()


def _is_deleting(obj: Object) -> bool:
    return "deletionTimestamp" in obj["metadata"]


def _is_orphan(obj: Object) -> bool:
    return "lynq.sh/orphaned" in obj["metadata"].get("labels", {})


def _written(node: Object) -> str:
    return str(node["metadata"]["annotations"].get("lynq.sh/rollout-update-start", ""))


def _is_updating(node: Object) -> bool:
    """Return whether a node has not finished its last update."""
    status = node.get("status", {})
    ready = [each["status"] for each in status.get("conditions", []) if each["type"] == "Ready"]
    return not _is_deleting(node) and (
        status.get("observedGeneration") != node["metadata"]["generation"]
        or status.get("observedUpdateStart", "") != _written(node)
        or ready != ["True"]
    )


def _summary(obj: Object | None) -> str:
    metadata = obj["metadata"] if obj else {}
    owners = [owner["name"] for owner in metadata.get("ownerReferences", [])]
    marks = {**metadata.get("labels", {}), **metadata.get("annotations", {})}
    shown = {
        key.removeprefix("lynq.sh/"): value
        for key, value in marks.items()
        if key.removeprefix("lynq.sh/")
        in ("node", "orphaned", "adopted", "deletion-policy", "orphaned-reason")
    }
    return f"{owners or ''} {shown or ''}".strip()


class History:
    """One history on an API server in memory."""

    def __init__(self, seed: int, server: MemoryApiServer, env: Environment) -> None:
        self.seed = seed
        self.server = server
        self.env = env
        self.rng = random.Random(seed)
        self.model = Model()
        self.recorder = Recorder(server)
        self.faults: list[Fault] = []
        self.held: set[str] = set()
        self.target = FORM_NAMES[0]
        """The form to which entries move in this chapter.

        Two entries of a kind that are exchanged between two forms at once block each other: either
        node keeps its old object until its new one, which the other node keeps, is accepted.
        """
        self._task: asyncio.Task[Any] | None = None
        server.store.on_change(self.recorder.observe)

    # The history.

    async def run(self, operations: "dict[Any, int]", *, chapters: int, length: int) -> None:
        """Run chapters of operations; after each, the cluster converges to the model."""
        self.write_rows()
        await self.env.create_hub()
        for form in FORM_NAMES:
            rollout = {"maxSkew": MAX_SKEW if form == "first" else 0}
            await self.env.create_form(form, configMaps=self.model.form(form), rollout=rollout)
        self.start()
        try:
            await self._converge()
            for _ in range(chapters):
                self.target, done = self.rng.choice(FORM_NAMES), 0
                while done < length:
                    operation = self.rng.choices([*operations], [*operations.values()])[0]
                    if text := await operation(self):
                        done += 1
                        self.note(text)
                        self._check()
                        # Often at once, sometimes after the operator has had time for all of it.
                        await asyncio.sleep(self.rng.choice((0.0, 0.05, 0.5, 2.0, 8.0)))
                await self._heal()
                await self._converge()
        finally:
            await self.kill()

    def note(self, text: str) -> None:
        """Record what was done."""
        self.recorder.changes.append(f"{_now():9.3f}  {text}")

    async def _heal(self) -> None:
        """End every fault."""
        self.note("all faults are healed")
        for fault in self.faults:
            fault.times = 0
        self.server.resume()
        if not self.is_running:
            self.start()
        for name in sorted(self.held):
            with suppress(NotFound):
                await self.env.patch(CONFIG_MAPS, name, {"metadata": {"finalizers": None}})
        self.held.clear()
        for name in self.recorder.nodes():
            await self.annotate(name, paused=None, protect=None)
        for entry in self.model.entries.values():
            if len(entry.forms) > 1:
                entry.forms = {self.target}
        for form in FORM_NAMES:
            await self.write_form(form)
        await self.sync()

    async def _converge(self) -> None:
        async def matches() -> bool:
            await self._approve_held()
            differences = self._differences()
            assert not differences, "\n".join(differences)
            return True

        try:
            await eventually(matches, within=_CONVERGED, every=2.0)
        except DeadlineError as error:
            self._check()
            raise AssertionError(self._report(self._differences())) from error
        self.note("the cluster has converged")
        # A pass that is late may still delete.
        await asyncio.sleep(6.0)
        self._check()

    async def _approve_held(self) -> None:
        held = (await self.env.status()).get("heldDeletions", {"nodes": []})
        if held["nodes"] and self.model.nodes().isdisjoint(held["nodes"]):
            await self.env.annotate("hub", approve_deletion=held["digest"])

    def _differences(self) -> list[str]:
        """Return in what the cluster differs from the model."""
        nodes, objects = self.recorder.nodes(), self.recorder.objects()
        expected = self.model.objects()
        lines = [f"node {name}" for name in sorted(nodes.keys() ^ self.model.nodes())]
        lines += [f"node {name} is updating" for name in nodes if _is_updating(nodes[name])]
        lines += [f"{name} is missing" for name in sorted(expected - objects.keys())]
        for name, obj in objects.items():
            uid = obj["metadata"]["uid"]
            if _is_deleting(obj):
                lines.append(f"{name} is being deleted")
            if name in expected:
                if _is_orphan(obj):
                    lines.append(f"{name} is an orphan")
            elif not _is_orphan(obj) and uid not in self.recorder.foreign | self.recorder.stripped:
                lines.append(f"{name} is left behind")
        return lines

    def _check(self) -> None:
        problems = list(self.recorder.problems)
        for request in self.env.requests.sent:
            if request.verb == "delete":
                body = json.loads(request.body or b"{}")
                if not body.get("preconditions", {}).get("uid"):
                    problems.append(f"{request.path} was deleted without a uid")
        self.env.requests.sent.clear()
        if problems:
            raise AssertionError(self._report(problems))

    def _report(self, problems: list[str]) -> str:
        states = [
            f"{name}: {json.dumps(node.get('status', {}))}"
            for name, node in self.recorder.nodes().items()
            if _is_updating(node)
        ]
        return "\n".join([f"seed {self.seed}", *problems, "", *self.recorder.changes, "", *states])

    # The operator.

    @property
    def is_running(self) -> bool:
        """Whether the operator runs."""
        return self._task is not None

    def start(self) -> None:
        """Start an operator."""
        env = self.env
        options = Options(
            sqlite_directory=env.directory, namespaces=(env.namespace,), timing=env.timing
        )
        process = Process(ProcessSettings(options=options), env.client.intercepted(env.requests))
        process.context = replace(process.context, clock=env.clock)
        self._task = asyncio.create_task(process.run(asyncio.Event()))

    async def kill(self) -> None:
        """Cancel the operator: a crash does not shut down cleanly."""
        if self._task:
            self._task.cancel()
            await asyncio.wait((self._task,))
            self._task = None

    # Writes.

    def write_rows(self) -> None:
        """Replace the rows of the table."""
        self.env.set_rows(*((uid, active, "pro") for uid, active in self.model.rows.items()))

    async def sync(self) -> None:
        """Write the rows, and have the hub read them."""
        self.write_rows()
        await self.env.force_sync()

    async def write_form(self, form: str) -> None:
        """Write the entries of a form."""
        await self.env.patch(FORMS, form, {"spec": {"configMaps": self.model.form(form)}})

    async def annotate(self, node: str, **values: str | None) -> bool:
        """Set annotations of a node; return whether it exists."""
        annotations = {f"lynq.sh/{name}": value for name, value in values.items()}
        with suppress(KubeError):
            await self.env.patch(NODES, node, {"metadata": {"annotations": annotations}})
            return True
        return False


# Operations: each changes the model and the cluster and returns what it did, or "" if nothing.


def _entry(history: History) -> tuple[str, Entry]:
    return history.rng.choice(sorted(history.model.entries.items()))


def _object(history: History) -> Object | None:
    objects = history.recorder.objects()
    return objects[history.rng.choice(sorted(objects))] if objects else None


async def toggle_entry(history: History) -> str:
    """Remove an entry, or add it to a form."""
    resource_id, entry = _entry(history)
    forms = entry.forms or {history.target}
    entry.forms = set() if entry.forms else set(forms)
    for form in sorted(forms):
        await history.write_form(form)
    return f"entry {resource_id} is in {sorted(entry.forms)}"


async def move_entry(history: History) -> str:
    """Move an entry to the other form, in either order, within the grace of a move."""
    resource_id, entry = _entry(history)
    after = history.target
    before = next(form for form in FORM_NAMES if form != after)
    if entry.forms != {before}:
        return ""
    order = history.rng.choice(((before, after), (after, before)))
    entry.forms = {after}
    for form in order:
        await history.write_form(form)
        await asyncio.sleep(history.rng.choice((0.0, 0.3, 2.0)))
    return f"entry {resource_id} was moved from {before} to {after}, {order[0]} first"


async def contend(history: History) -> str:
    """Have an entry in both forms."""
    resource_id, entry = _entry(history)
    if not entry.forms:
        return ""
    entry.forms = {*entry.forms, history.target}
    await history.write_form(history.target)
    return f"entry {resource_id} is in {sorted(entry.forms)}"


async def drop_from_one(history: History) -> str:
    """Remove an entry from one of two forms."""
    resource_id, entry = _entry(history)
    if len(entry.forms) < 2:
        return ""
    form = next(form for form in FORM_NAMES if form != history.target)
    entry.forms = {history.target}
    await history.write_form(form)
    return f"entry {resource_id} is no longer in {form}"


async def rename_entry(history: History) -> str:
    """Rename the objects of an entry."""
    return await _rename(history, *_entry(history))


async def _rename(history: History, resource_id: str, entry: Entry) -> str:
    entry.name = _other_name(resource_id, entry)
    for form in sorted(entry.forms):
        await history.write_form(form)
    return f"entry {resource_id} is named {entry.name}"


def _other_name(resource_id: str, entry: Entry) -> str:
    return resource_id if entry.name != resource_id else f"{resource_id}2"


async def change_policy(history: History) -> str:
    """Change one of the policies of an entry."""
    resource_id, entry = _entry(history)
    if history.rng.random() < 0.7:
        entry.retain = not entry.retain
    else:
        entry.once = not entry.once
    for form in sorted(entry.forms):
        await history.write_form(form)
    return f"entry {resource_id}: retain {entry.retain}, once {entry.once}"


async def change_row(history: History) -> str:
    """Insert, delete or deactivate a row."""
    uid, rows = history.rng.choice(UIDS), history.model.rows
    if rows.get(uid):
        if history.rng.random() < 0.5:
            rows[uid] = 0
        else:
            del rows[uid]
    else:
        rows[uid] = 1
    await history.sync()
    return f"row of {uid} is {rows.get(uid, 'deleted')}"


async def delete_node(history: History) -> str:
    """Delete a node by hand; the hub creates it again."""
    name = history.rng.choice(sorted(history.model.nodes()) or [""])
    with suppress(KubeError):
        await history.env.client.delete(NODES, name, history.env.namespace)
        return f"node {name} is deleted by hand"
    return ""


async def annotate_node(history: History) -> str:
    """Pause or protect a node, or end that."""
    nodes = history.recorder.nodes()
    if not nodes:
        return ""
    name = history.rng.choice(sorted(nodes))
    what = history.rng.choice(("paused", "protect"))
    has = f"lynq.sh/{what}" in nodes[name]["metadata"].get("annotations", {})
    if await history.annotate(name, **{what: None if has else "true"}):
        return f"node {name} has {what}: {not has}"
    return ""


async def delete_object(history: History) -> str:
    """Delete an object by hand."""
    if (obj := _object(history)) is None:
        return ""
    name, uid = obj["metadata"]["name"], obj["metadata"]["uid"]
    history.recorder.by_hand.add(uid)
    with suppress(KubeError):
        await history.env.client.delete(CONFIG_MAPS, name, history.env.namespace, uid=uid)
        return f"{name} is deleted by hand"
    return ""


async def edit_object(history: History) -> str:
    """Edit an object by hand: its data."""
    if (obj := _object(history)) is None:
        return ""
    name, patch = obj["metadata"]["name"], {"data": {"plan": "edited"}}
    with suppress(KubeError):
        await history.env.client.patch(
            CONFIG_MAPS, name, patch, history.env.namespace, manager="kubectl-edit"
        )
        return f"{name} is edited"
    return ""


async def strip_object(history: History) -> str:
    """Remove the ties of an object by hand."""
    if (obj := _object(history)) is None:
        return ""
    name = obj["metadata"]["name"]
    history.recorder.stripped.add(obj["metadata"]["uid"])
    patch = {"metadata": {"ownerReferences": None, "labels": {"lynq.sh/node": None}}}
    with suppress(KubeError):
        await history.env.client.patch(
            CONFIG_MAPS, name, patch, history.env.namespace, manager="kubectl-edit"
        )
        return f"{name} has lost its ties"
    return ""


async def hold_object(history: History) -> str:
    """Add the finalizer of another controller to an object."""
    if (obj := _object(history)) is None or _is_deleting(obj):
        return ""
    name, patch = obj["metadata"]["name"], {"metadata": {"finalizers": [_HOLD]}}
    history.held.add(name)
    with suppress(KubeError):
        await history.env.patch(CONFIG_MAPS, name, patch)
        return f"{name} has the finalizer of another controller"
    return ""


async def create_foreign(history: History) -> str:
    """Create an object where an entry will have one, and often let the entry have that name."""
    resource_id, entry = _entry(history)
    name = _other_name(resource_id, entry) if entry.forms else entry.name
    uid = history.rng.choice(UIDS)
    metadata = {"name": f"{uid}-{name}", "namespace": history.env.namespace}
    foreign = {"metadata": metadata, "data": {"keep": "me"}}
    with suppress(KubeError):
        await history.env.client.create(CONFIG_MAPS, foreign)
        done = f"{uid}-{name} exists before"
        is_used = entry.forms and history.rng.random() < 0.7
        return f"{done}; {await _rename(history, resource_id, entry)}" if is_used else done
    return ""


async def restart(history: History) -> str:
    """Kill the operator, or start another one."""
    if history.is_running:
        await history.kill()
        if history.rng.random() < 0.5:
            return "the operator is killed"
    history.start()
    return "an operator is started"


async def fail_requests(history: History) -> str:
    """Fail some requests of a kind."""
    verb = history.rng.choice(("patch", "delete", "create", "get", "list"))
    path = history.rng.choice(("/configmaps", "/lynqnodes"))
    times, status = history.rng.choice((1, 2, 5)), history.rng.choice((500, 503, 409, 429))
    executed = history.rng.random() < 0.3 and status != 409
    history.faults.append(
        history.server.fail(verb, path, times=times, status=status, executed=executed)
    )
    return f"the next {times} {verb} of {path} fail with {status}, executed: {executed}"


async def pause_garbage_collection(history: History) -> str:
    """Pause the garbage collector, or resume it."""
    if history.server.is_paused:
        history.server.resume()
    else:
        history.server.is_paused = True
    return f"garbage collection is paused: {history.server.is_paused}"


OPERATIONS = {
    toggle_entry: 4,
    move_entry: 4,
    contend: 2,
    drop_from_one: 3,
    rename_entry: 3,
    change_policy: 4,
    change_row: 5,
    delete_node: 2,
    annotate_node: 2,
    delete_object: 2,
    edit_object: 1,
    strip_object: 1,
    hold_object: 2,
    create_foreign: 4,
    restart: 3,
    fail_requests: 4,
    pause_garbage_collection: 1,
}
"""All operations, with their weights."""
