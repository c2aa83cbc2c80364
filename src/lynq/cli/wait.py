"""`lynq wait`: watches a hub, form or node until a goal is reached, and prints each change."""

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final, Generic, TypeVar

import click

from lynq.api import LynqForm, LynqHub, LynqNode
from lynq.api.names import LABEL_HUB
from lynq.cli.connection import Cluster, cluster_command
from lynq.cli.exit_codes import ExitCode
from lynq.cli.lookup import FORMS, HUBS, NODES
from lynq.cli.output import print_line, print_note
from lynq.cli.target import find_target, reference
from lynq.cli.timeout import timeout_option
from lynq.core.hub.goals import Goal, GoalState, form_state, hub_state, nodes_state
from lynq.kube import Bookmark, EventType, Resource
from lynq.kube.errors import ConnectionFailed, Gone, ServiceUnavailable

_KINDS: Final = ("hub", "form", "node")
_EVERY: Final = 1.0
"""Seconds after which the state is judged again without a change."""
_PAUSE: Final = 0.2
"""Seconds between two judgements, so that a large fleet costs no whole core."""

K = TypeVar("K", LynqHub, LynqForm, LynqNode)


@click.command()
@click.argument("target", metavar="HUB|FORM|NODE")
@click.option(
    "--for",
    "goal",
    type=click.Choice([goal.value for goal in Goal]),
    default=Goal.READY.value,
    show_default=True,
    help="What to wait for.",
)
@timeout_option
@cluster_command
async def wait(cluster: Cluster, *, target: str, goal: str, seconds: float) -> None:
    """Wait until a hub, a form or a node has reached a goal.

    The target is hub/NAME, form/NAME or node/NAME, or a name that only one of them has. It may not
    exist yet if its kind is given. node/UID waits for all nodes of a row. Each change is printed
    as a line. The exit code is 0 when the goal is reached, and 6 after the timeout.

    \b
    Goals:
      ready       every desired node is ready with what was last written to it
      settled     the operator has finished: every node is ready or has failed
      rolled-out  every node has the current generation of its form and is ready

    \b
    Examples:
      lynq wait node/acme --timeout 90s
      kubectl apply -f web.yaml && lynq wait form/web --for rolled-out --timeout 1h
      lynq wait hub/tenants --for settled
    """
    watched = await _watched(cluster, target)
    try:
        async with asyncio.timeout(seconds):
            await _until_reached(cluster, watched, Goal(goal))
    except TimeoutError:
        print_note(f"Error: {watched} is not {goal} after {seconds:g} s.")
        raise click.exceptions.Exit(ExitCode.TIMEOUT) from None


@dataclass(frozen=True, slots=True)
class _Watched:
    kind: str
    name: str
    hub: str = ""
    """The name of the hub; empty if it is not known."""

    def __str__(self) -> str:
        return f"{self.kind}/{self.name}"


async def _watched(cluster: Cluster, target: str) -> _Watched:
    kind, separator, name = target.partition("/")
    kind = kind.lower().removesuffix("s").removeprefix("lynq")
    if separator and kind in _KINDS:
        return _Watched(kind, name, name if kind == "hub" else "")
    found = reference(await find_target(cluster, target))
    kind, _, name = found.partition("/")
    return _Watched(kind, name, name if kind == "hub" else "")


@dataclass(slots=True)
class _Objects(Generic[K]):
    """The objects of one kind, kept current by a watch."""

    resource: Resource
    into: type[K]
    labels: str | None = None
    by_name: dict[str, K] = field(default_factory=dict)
    _version: str | None = None
    """The resource version of the last list or event."""

    async def list(self, cluster: Cluster) -> None:
        listed = await cluster.client.list(
            self.resource, cluster.namespace, into=self.into, labels=self.labels
        )
        self.by_name = {item.metadata.name: item for item in listed.items}
        self._version = listed.resource_version

    async def follow(self, cluster: Cluster, changed: Callable[[], None]) -> None:
        """Watch from the last version until cancelled; an API server that is away is retried."""
        while True:
            try:
                try:
                    await self._watch(cluster, changed)
                except Gone:
                    await self.list(cluster)
                    changed()
            except (ConnectionFailed, ServiceUnavailable) as error:
                print_note(f"{error}; trying again")
            # A watch that ends at once is no busy loop.
            await asyncio.sleep(_EVERY)

    async def _watch(self, cluster: Cluster, changed: Callable[[], None]) -> None:
        watch = cluster.client.watch(
            self.resource,
            cluster.namespace,
            since=self._version,
            labels=self.labels,
            into=self.into,
        )
        async with aclosing(watch) as events:
            async for event in events:
                if isinstance(event, Bookmark):
                    self._version = event.resource_version
                    continue
                name = event.object.metadata.name
                self._version = event.object.metadata.resource_version
                if event.type is EventType.DELETED:
                    self.by_name.pop(name, None)
                else:
                    self.by_name[name] = event.object
                changed()


class _View:
    """The hubs, forms and nodes of the namespace."""

    def __init__(self, watched: _Watched, goal: Goal) -> None:
        labels = f"{LABEL_HUB}={watched.hub}" if watched.hub else None
        self.hubs = _Objects(HUBS, LynqHub)
        self.forms = _Objects(FORMS, LynqForm)
        self.nodes = _Objects(NODES, LynqNode, labels)
        self._watched = watched
        # Only what the state depends on: the viewer may have no right to read the rest.
        is_node = watched.kind == "node"
        self.followed: tuple[_Objects[LynqHub] | _Objects[LynqForm] | _Objects[LynqNode], ...] = (
            *(() if is_node else (self.hubs,)),
            *(() if is_node and goal is Goal.READY else (self.forms,)),
            self.nodes,
        )

    def state(self, goal: Goal, now: datetime) -> GoalState:
        """Return the state of what is watched."""
        name = self._watched.name
        forms, nodes = list(self.forms.by_name.values()), self.nodes.by_name.values()
        match self._watched.kind:
            case "hub":
                of_hub = [form for form in forms if form.spec.hub_id == name]
                hub = self.hubs.by_name.get(name)
                return hub_state(hub, of_hub, list(nodes), goal, now)
            case "form":
                form = self.forms.by_name.get(name)
                hub = self.hubs.by_name.get(form.spec.hub_id) if form else None
                of_form = [node for node in nodes if node.spec.template_ref == name]
                return form_state(form, hub, of_form, goal, now)
            case _:
                of_row = [node for node in nodes if name in {node.metadata.name, node.spec.uid}]
                return nodes_state(of_row, forms, goal, now)


async def _until_reached(cluster: Cluster, watched: _Watched, goal: Goal) -> None:
    view, changed = _View(watched, goal), asyncio.Event()
    # One after the other: of several rights that are missing, the same one is named each time.
    for objects in view.followed:
        await objects.list(cluster)
    following = [
        asyncio.create_task(objects.follow(cluster, changed.set)) for objects in view.followed
    ]
    printed = asyncio.create_task(_print_states(view, watched, goal, changed))
    try:
        await asyncio.wait([printed, *following], return_when=asyncio.FIRST_COMPLETED)
        for task in (*following, printed):
            if task.done():
                task.result()
    finally:
        for task in (*following, printed):
            task.cancel()
        await asyncio.gather(*following, printed, return_exceptions=True)


async def _print_states(view: _View, watched: _Watched, goal: Goal, changed: asyncio.Event) -> None:
    """Print each change of the state; return when the goal is reached."""
    last = ""
    while True:
        changed.clear()
        state = view.state(goal, datetime.now(UTC))
        if state.text != last:
            last = state.text
            print_line(f"{datetime.now():%H:%M:%S}  {watched}: {state.text}")  # noqa: DTZ005 - local
        if state.reached:
            return
        await asyncio.sleep(_PAUSE)
        try:
            async with asyncio.timeout(_EVERY):
                await changed.wait()
        except TimeoutError:
            continue
