"""How far a changed form reaches: the objects of its nodes that change, counted without a request.

The webhook of forms warns with it, so it must be quick. Each node's row is rendered with the new
form and compared with the node's spec. Manifests are compared as templates; those that differ are
rendered, because a row may not fit them. Of many nodes a sample is examined, and counts are scaled.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from msgspec.structs import replace

from lynq.api import LynqForm, LynqHub, LynqNode, NodeSpec, TResource
from lynq.api.installation_key import KeyState
from lynq.api.node_metadata import pair_or_spec, written_at
from lynq.api.resource import all_resources
from lynq.api.text import and_more, plural
from lynq.api.wire import EPOCH
from lynq.core.hub.desired_node import render_spec
from lynq.core.hub.row_values import RowRenderError, RowValues
from lynq.core.node.render import Renderer, RenderError
from lynq.core.node.variables import VariablesError, variables_of
from lynq.core.readiness.rules import ROLLING_WORKLOADS

MAX_NODES: Final = 2_000
"""Nodes that are examined."""


@dataclass(slots=True)
class BlastRadius:
    """What a form changes in the examined nodes."""

    nodes: int
    """All nodes of the form."""
    examined: int = 0
    changed: Counter[str] = field(default_factory=Counter)
    """Objects that are created or changed, by kind."""
    removed: Counter[str] = field(default_factory=Counter)
    """Objects that leave the form, by kind."""
    restarted: set[str] = field(default_factory=set)
    """Kinds whose pods restart."""
    failed: list[str] = field(default_factory=list)
    """The uids of rows that cannot be rendered."""

    def warning(self, form: str) -> str:
        """Return one sentence for the author of the form; "" if nothing changes."""
        parts = [*self._counts("changes", self.changed), *self._counts("removes", self.removed)]
        if self.failed:
            rows = "1 row" if len(self.failed) == 1 else f"{self._scaled(len(self.failed))} rows"
            parts.append(f"{rows} cannot be rendered ({and_more(sorted(self.failed), shown=3)})")
        if not parts:
            return ""
        text = "; ".join(parts)
        if self.examined < self.nodes:
            text = f"about: {text} (from {self.examined:,} of {self.nodes:,} LynqNodes)"
        return f"LynqForm {form} {text}: lynq plan -f FILE shows them"

    def _counts(self, verb: str, kinds: Counter[str]) -> Iterator[str]:
        if kinds:
            named = (
                f"{self._scaled(count)} {plural(kind, count)}{self._restart(verb, kind)}"
                for kind, count in sorted(kinds.items())
            )
            yield f"{verb} {', '.join(named)}"

    def _restart(self, verb: str, kind: str) -> str:
        return " (pods restart)" if verb == "changes" and kind in self.restarted else ""

    def _scaled(self, count: int) -> str:
        return f"{round(count * self.nodes / max(self.examined, 1)):,}"


def blast_radius(
    hub: LynqHub,
    form: LynqForm,
    nodes: Sequence[LynqNode],
    key: KeyState,
    *,
    may_continue: Callable[[], bool],
) -> BlastRadius:
    """Compare the nodes of a form with its new spec, as long as `may_continue` allows."""
    radius = BlastRadius(len(nodes))
    step = max(1, -(-len(nodes) // MAX_NODES))
    for node in nodes[::step]:
        if not may_continue():
            break
        radius.examined += 1
        _examine(radius, hub, form, node, key)
    return radius


def _examine(
    radius: BlastRadius, hub: LynqHub, form: LynqForm, node: LynqNode, key: KeyState
) -> None:
    uid = pair_or_spec(node).uid
    values = RowValues.reflected_by(node, uid)
    try:
        spec = render_spec(hub, form, values, now=written_at(node) or EPOCH, previous=node, key=key)
        changed = list(_changed(node.spec, spec))
        _render_bodies(replace(node, spec=spec), changed, key)
    except (RowRenderError, RenderError, VariablesError):
        radius.failed.append(uid)
        return
    radius.changed.update(_kind(resource) for resource in changed)
    before = _by_id(node.spec)
    radius.restarted.update(
        _kind(resource) for resource in changed if _restarts_pods(before.get(resource.id), resource)
    )
    removed = before.keys() - _by_id(spec).keys()
    radius.removed.update(_kind(before[resource_id]) for resource_id in removed)


def _changed(before: NodeSpec, after: NodeSpec) -> Iterator[TResource]:
    old = _by_id(before)
    for resource in all_resources(after):
        if resource.id not in old or _content(old[resource.id]) != _content(resource):
            yield resource


def _render_bodies(node: LynqNode, resources: Sequence[TResource], key: KeyState) -> None:
    renderer = Renderer.of(node, variables_of(node), key)
    for resource in resources:
        renderer.render(resource, namespaced=True)


def _content(resource: TResource) -> tuple[object, ...]:
    """Return what an object is made of; a changed policy alone changes no object."""
    return (
        resource.spec,
        resource.name_template,
        resource.labels_template,
        resource.annotations_template,
        resource.target_namespace,
    )


def _restarts_pods(before: TResource | None, after: TResource) -> bool:
    if before is None or _kind(after) not in ROLLING_WORKLOADS:
        return False
    return _pod_template(before.spec) != _pod_template(after.spec)


def _pod_template(manifest: Mapping[str, Any]) -> object:
    spec = manifest.get("spec")
    return spec.get("template") if isinstance(spec, Mapping) else None


def _by_id(spec: NodeSpec) -> dict[str, TResource]:
    return {resource.id: resource for resource in all_resources(spec)}


def _kind(resource: TResource) -> str:
    return str(resource.spec.get("kind") or "object")
