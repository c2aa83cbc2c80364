"""Predicates of the node's event handlers: when a changed object needs a reconcile of its node.

Controllers write to the objects of nodes all the time: the revision of a Deployment into an
annotation, each stage of a rollout into its status. A reconcile depends on the labels and
annotations of Lynq, on the fields that Lynq owns, and on readiness. What an object lacks to be
ready is shown in a status that is debounced, so that its reconcile can wait for the next stages.
"""

from collections.abc import Mapping
from enum import Enum, auto

from msgspec.structs import replace

from lynq.api.names import PREFIX
from lynq.core.node.objects import LiveObject
from lynq.core.readiness.verdict import ReadinessState


class ObjectEffect(Enum):
    """What the change of an object means for its node."""

    NONE = auto()
    """No decision depends on the difference."""
    PROGRESS = auto()
    """The object is still not ready, for another reason than before."""
    RECONCILE = auto()


def object_changed(old: LiveObject | None, new: LiveObject | None) -> ObjectEffect:
    """Return the effect of a change; None is an object that does not exist."""
    if old is None or new is None:
        return ObjectEffect.RECONCILE
    old, new = _relevant(old), _relevant(new)
    if old == new:
        return ObjectEffect.NONE
    is_waiting = old.readiness.state is new.readiness.state is ReadinessState.NOT_READY
    if is_waiting and replace(old, readiness=new.readiness) == new:
        return ObjectEffect.PROGRESS
    return ObjectEffect.RECONCILE


def _relevant(live: LiveObject) -> LiveObject:
    """Return the object without the labels and annotations of others."""
    return replace(live, labels=_own(live.labels), annotations=_own(live.annotations))


def _own(names: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in names.items() if name.startswith(PREFIX)}
