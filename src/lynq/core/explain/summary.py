"""One line per hub, form and node: its state in one word, why, and filters over them."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from fnmatch import fnmatchcase
from typing import Final, Protocol

from lynq.api import Condition, ConditionStatus, LynqForm, LynqHub, LynqNode, RolloutPhase
from lynq.api.conditions import find_condition, is_true
from lynq.api.names import LABEL_HUB
from lynq.api.node_metadata import is_deleting, is_paused
from lynq.api.reasons import ConditionType
from lynq.api.resource import all_resources
from lynq.core.explain.model import Evidence, Explanation
from lynq.core.explain.node import explain_node

READY: Final = "Ready"
_PENDING: Final = "Progressing"
_TERM: Final = re.compile(r"(?P<key>[A-Za-z]+)\s*+(?P<operator>!?=)\s*+(?P<value>[^,]*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The state of a hub, form or node."""

    kind: str
    """hub, form or node."""
    namespace: str
    name: str
    state: str
    """One word: Ready, Progressing, Failed, Conflicted, Paused, Deleting, Held, Invalid."""
    ready: int = 0
    desired: int = 0
    cause: str = ""
    """Why it is not ready, in a few words."""
    message: str = ""
    """The whole reason."""
    uid: str = ""
    form: str = ""
    hub: str = ""
    created: datetime | None = None

    @property
    def is_problem(self) -> bool:
        """Whether it is neither ready nor paused: what progresses may never become ready."""
        return self.state not in {READY, "Paused"}

    def field(self, key: str) -> str:
        """Return the value that a filter compares."""
        return str(getattr(self, key))


FILTER_KEYS: Final = ("state", "form", "hub", "uid", "name", "namespace", "cause", "kind")


class Filterable(Protocol):
    """What a filter can be applied to."""

    def field(self, key: str) -> str:
        """Return the value of one of FILTER_KEYS."""


class FilterError(Exception):
    """The text of a filter is wrong; the message says how."""


def parse_filter(text: str) -> Callable[[Filterable], bool]:
    """Return the predicate of `state=Failed,form=web`; `!=` negates, `*` is any text."""
    terms = []
    for part in filter(str.strip, text.split(",")):
        match = _TERM.fullmatch(part.strip())
        if match is None:
            raise FilterError(f'"{part.strip()}" is not KEY=VALUE or KEY!=VALUE')
        if match["key"] not in FILTER_KEYS:
            raise FilterError(f'"{match["key"]}" is not one of {", ".join(FILTER_KEYS)}')
        terms.append((match["key"], match["value"], match["operator"] == "="))

    def matches(summary: Filterable) -> bool:
        return all(
            fnmatchcase(summary.field(key).lower(), value.lower()) is is_equal
            for key, value, is_equal in terms
        )

    return matches


def node_summary(node: LynqNode) -> Summary:
    """Return the state of a node; hub and form are not needed."""
    return summary_of(node, explain_status(node))


def explain_status(node: LynqNode) -> Explanation:
    """Return why a node is not ready, from its status alone."""
    return explain_node(node, None, None, Evidence(is_form_unread=True))


def summary_of(node: LynqNode, explanation: Explanation) -> Summary:
    """Return the state of a node that is explained."""
    first = explanation.causes[0] if explanation.causes else None
    is_explained = first is not None and bool(first.id)
    return Summary(
        kind="node",
        namespace=node.metadata.namespace,
        name=node.metadata.name,
        state=_node_state(node, is_ready=explanation.is_ready),
        ready=node.status.ready_resources,
        desired=node.status.desired_resources or len(all_resources(node.spec)),
        cause=f"{first.id}: {_reason(node, first.id)}" if first and is_explained else "",
        message=first.message if first else "",
        uid=node.spec.uid,
        form=node.spec.template_ref,
        hub=node.metadata.labels.get(LABEL_HUB, ""),
        created=node.metadata.creation_timestamp,
    )


def form_summary(form: LynqForm) -> Summary:
    """Return the state of a form."""
    valid = find_condition(form.status.conditions, ConditionType.VALID)
    rollout = form.status.rollout
    cause, message = "", ""
    if is_deleting(form):
        state = "Deleting"
    elif _is_false(valid):
        state, message = "Invalid", valid.message if valid else ""
    elif form.spec.paused:
        state = "Paused"
    elif rollout and rollout.phase is RolloutPhase.FAILED:
        state, cause, message = "Failed", "rollout failed", rollout.message
    else:
        state = READY if form.status.ready_nodes == form.status.total_nodes else _PENDING
        message = rollout.message if rollout and state != READY else ""
    return Summary(
        kind="form",
        namespace=form.metadata.namespace,
        name=form.metadata.name,
        state=state,
        ready=form.status.ready_nodes,
        desired=form.status.total_nodes,
        cause=cause,
        message=message,
        form=form.metadata.name,
        hub=form.spec.hub_id,
        created=form.metadata.creation_timestamp,
    )


def hub_summary(hub: LynqHub) -> Summary:
    """Return the state of a hub."""
    conditions, status = hub.status.conditions, hub.status
    ready = find_condition(conditions, ConditionType.READY)
    held = find_condition(conditions, ConditionType.DELETION_HELD)
    rejected = status.rejected_rows.count if status.rejected_rows else 0
    cause, message = "", ""
    if is_deleting(hub):
        state = "Deleting"
    elif hub.spec.paused:
        state = "Paused"
    elif ready is None:
        state, cause = _PENDING, "not read yet"
    elif _is_false(ready):
        state, cause, message = "Failed", ready.reason, ready.message
    elif held and is_true(conditions, ConditionType.DELETION_HELD):
        state, cause, message = "Held", held.reason, held.message
    elif rejected or status.failed:
        state, cause = "Degraded", _counted(status.failed, rejected)
    else:
        state = READY if status.ready == status.desired else _PENDING
    return Summary(
        kind="hub",
        namespace=hub.metadata.namespace,
        name=hub.metadata.name,
        state=state,
        ready=status.ready,
        desired=status.desired,
        cause=cause,
        message=message,
        hub=hub.metadata.name,
        created=hub.metadata.creation_timestamp,
    )


def _node_state(node: LynqNode, *, is_ready: bool) -> str:
    if is_deleting(node):
        return "Deleting"
    if is_paused(node):
        return "Paused"
    if is_ready:
        return READY
    if is_true(node.status.conditions, ConditionType.CONFLICTED):
        return "Conflicted"
    ready = find_condition(node.status.conditions, ConditionType.READY)
    is_failed = node.status.failed_resources or (ready and "Error" in ready.reason)
    return "Failed" if is_failed else _PENDING


def _reason(node: LynqNode, resource_id: str) -> str:
    reasons: Mapping[str, str] = {entry.id: entry.reason for entry in node.status.resources}
    return reasons.get(resource_id, "")


def _is_false(condition: Condition | None) -> bool:
    return condition is not None and condition.status is ConditionStatus.FALSE


def _counted(failed: int, rejected: int) -> str:
    parts: Iterable[str] = (
        f"{count} {what}" for count, what in ((failed, "failed"), (rejected, "rejected")) if count
    )
    return ", ".join(parts)
