"""How far a changed form reaches: the objects of its nodes that change, by kind.

The webhook of forms warns with it. Templates are compared as text, and none is rendered: an
admission answer depends on no row and on no key, only on the two forms and the number of nodes.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from lynq.api import FormSpec, TResource
from lynq.api.resource import all_resources
from lynq.api.text import plural
from lynq.core.readiness.rules import ROLLING_WORKLOADS


@dataclass(frozen=True, slots=True)
class BlastRadius:
    """What a form changes in each of its nodes."""

    nodes: int
    changed: Counter[str] = field(default_factory=Counter)
    """Resources of the form that are added or changed, by kind."""
    removed: Counter[str] = field(default_factory=Counter)
    """Resources that leave the form, by kind."""
    restarted: frozenset[str] = frozenset()
    """Kinds whose pods restart."""

    def warning(self, form: str) -> str:
        """Return one sentence for the author of the form; "" if nothing changes."""
        parts = (*self._counts("changes", self.changed), *self._counts("removes", self.removed))
        if not self.nodes or not parts:
            return ""
        text = "; ".join(parts)
        return f"LynqForm {form} {text}: lynq plan -f FILE shows them"

    def _counts(self, verb: str, kinds: Counter[str]) -> Iterator[str]:
        if kinds:
            named = (
                f"{number * self.nodes:,} {plural(kind, number * self.nodes)}"
                f"{self._restart(verb, kind)}"
                for kind, number in sorted(kinds.items())
            )
            yield f"{verb} {', '.join(named)}"

    def _restart(self, verb: str, kind: str) -> str:
        return " (pods restart)" if verb == "changes" and kind in self.restarted else ""


def blast_radius(old: FormSpec, new: FormSpec, nodes: int) -> BlastRadius:
    """Compare the resources of a form with its new ones; the form has this number of nodes."""
    before, after = _by_id(old), _by_id(new)
    changed = [
        resource
        for resource_id, resource in after.items()
        if resource_id not in before or _content(before[resource_id]) != _content(resource)
    ]
    return BlastRadius(
        nodes,
        Counter(map(_kind, changed)),
        Counter(_kind(before[resource_id]) for resource_id in before.keys() - after.keys()),
        frozenset(
            _kind(resource)
            for resource in changed
            if _restarts_pods(before.get(resource.id), resource)
        ),
    )


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


def _by_id(spec: FormSpec) -> dict[str, TResource]:
    return {resource.id: resource for resource in all_resources(spec)}


def _kind(resource: TResource) -> str:
    return str(resource.spec.get("kind") or "object")
