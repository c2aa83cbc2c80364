"""What a viewer sees of the projection, and how it is shown."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from lynq.api import LynqForm, LynqHub
from lynq.api.conditions import Conditions, find_condition
from lynq.api.reasons import ConditionType
from lynq.core.explain.summary import Summary, form_summary, hub_summary
from lynq.dashboard.node_entry import NodeEntry
from lynq.dashboard.projection import Projection
from lynq.dashboard.rights import Scope
from lynq.dashboard.types.common import (
    ConditionView,
    FormCell,
    NodesByState,
    RolloutView,
    SummaryView,
)
from lynq.dashboard.viewers import Viewer


@dataclass(frozen=True, slots=True)
class Visible:
    """The hubs, forms and nodes that a viewer may list."""

    projection: Projection
    hub_scope: Scope
    form_scope: Scope
    node_scope: Scope
    namespace: str = ""
    """The only namespace that is wanted; empty: all."""

    @classmethod
    async def to(cls, viewer: Viewer, projection: Projection, namespace: str = "") -> "Visible":
        """Return what a viewer sees; raises KubeError."""

        async def scope(kind: str) -> Scope:
            known = projection.namespaces(kind)
            return await viewer.rights.scope(kind, known & {namespace} if namespace else known)

        return cls(
            projection, await scope("Hub"), await scope("Form"), await scope("Node"), namespace
        )

    def scope(self, kind: str) -> Scope:
        """Return where the viewer may list a kind: Hub, Form or Node."""
        return {"Hub": self.hub_scope, "Form": self.form_scope, "Node": self.node_scope}[kind]

    def has(self, kind: str, namespace: str) -> bool:
        """Return whether objects of a kind are shown in a namespace."""
        return (not self.namespace or namespace == self.namespace) and self.scope(kind).has(
            namespace
        )

    def hubs(self) -> list[LynqHub]:
        """Return the hubs, ordered by namespace and name."""
        hubs = (hub for hub in self.projection.hubs() if self.has("Hub", hub.metadata.namespace))
        return sorted(hubs, key=lambda hub: hub.metadata.key)

    def forms(self) -> list[LynqForm]:
        """Return the forms, ordered by namespace and name."""
        forms = (
            form for form in self.projection.forms() if self.has("Form", form.metadata.namespace)
        )
        return sorted(forms, key=lambda form: form.metadata.key)

    def nodes(self) -> list[NodeEntry]:
        """Return the nodes, in no order."""
        scope = self.node_scope
        if not self.namespace and scope.namespaces is None:
            return self.projection.nodes()
        return [node for node in self.projection.nodes() if self.has("Node", node.namespace)]

    @property
    def denials(self) -> tuple[str, ...]:
        """What is not shown, and the rights that are missing."""
        scopes = (self.hub_scope, self.form_scope, self.node_scope)
        shown = [scope.denial for scope in scopes if scope.denial]
        watch = [f"The dashboard cannot watch: {text}" for text in self.projection.problems]
        return (*watch, *shown)


def node_line(entry: NodeEntry) -> SummaryView:
    """Return a node in one line."""
    return line("Node", entry, since=at(entry.since), created=at(entry.created))


def hub_line(hub: LynqHub) -> SummaryView:
    """Return a hub in one line."""
    summary, since = hub_summary(hub), _since(hub.status.conditions, ConditionType.READY)
    return line("Hub", summary, since=since, created=summary.created)


def form_line(form: LynqForm) -> SummaryView:
    """Return a form in one line."""
    summary, since = form_summary(form), _since(form.status.conditions, ConditionType.APPLIED)
    return line("Form", summary, since=since, created=summary.created)


def line(
    kind: Any,  # noqa: ANN401 - Hub, Form or Node
    summary: Summary | NodeEntry,
    *,
    since: datetime | None,
    created: datetime | None,
) -> SummaryView:
    """Return a summary for a page."""
    return SummaryView(
        kind=kind,
        namespace=summary.namespace,
        name=summary.name,
        state=_state(summary.state),
        ready=summary.ready,
        desired=summary.desired,
        cause=summary.cause,
        message=summary.message,
        uid=summary.uid,
        form=summary.form,
        hub=summary.hub,
        since=since,
        created=created,
    )


def _state(state: str) -> Any:  # noqa: ANN401 - the words of lynq.core.explain.summary
    return state


def _since(conditions: Conditions, kind: ConditionType) -> datetime | None:
    condition = find_condition(conditions, kind)
    return condition.last_transition_time if condition else None


def at(seconds: int) -> datetime | None:
    """Return the time of an entry."""
    return datetime.fromtimestamp(seconds, UTC) if seconds else None


def count(nodes: Iterable[NodeEntry]) -> NodesByState:
    """Return the number of nodes by state."""
    counts = {"total": 0, "ready": 0, "progressing": 0, "failed": 0, "paused": 0, "deleting": 0}
    for node in nodes:
        counts["total"] += 1
        counts[counted_as(node)] += 1
    return NodesByState(**counts)


def counted_as(node: NodeEntry) -> str:
    """Return the field of NodesByState that counts a node."""
    return "failed" if node.state == "Conflicted" else node.state.lower()


def condition_views(conditions: Conditions) -> tuple[ConditionView, ...]:
    """Return conditions in their order."""
    return tuple(
        ConditionView(
            type=each.type,
            status=each.status,
            reason=each.reason,
            message=each.message,
            since=each.last_transition_time,
        )
        for each in conditions
    )


def rollout_view(form: LynqForm) -> RolloutView | None:
    """Return the rollout of a form; None if its spec limits none."""
    rollout, limits = form.status.rollout, form.spec.rollout
    if rollout is None:
        return None
    return RolloutView(
        phase=rollout.phase or "Idle",
        total=rollout.total_nodes,
        updated=rollout.updated_nodes,
        ready=rollout.ready_updated_nodes,
        max_skew=limits.max_skew if limits else 0,
        message=rollout.message,
    )


def form_cell(form: LynqForm, nodes: Iterable[NodeEntry]) -> FormCell:
    """Return a form with the number of its nodes by state."""
    return FormCell(form=form_line(form), nodes=count(nodes), rollout=rollout_view(form))
