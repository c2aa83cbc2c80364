"""What a viewer may do: sync, pause, resume, reconcile, approve; with their own rights.

An action is what the command of the same name does. The API server decides whether the viewer may,
and its audit log names the viewer.
"""

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any, Final

from lynq.api import LynqForm, LynqHub, LynqNode
from lynq.api.names import (
    ANNOTATION_APPROVE_DELETION,
    ANNOTATION_FORCE_RECONCILE,
    ANNOTATION_FORCE_SYNC,
    ANNOTATION_PAUSED,
    TRUE,
)
from lynq.api.node_metadata import is_deleting, is_paused
from lynq.api.wire import rfc3339
from lynq.core.guard.approval_request import NotApprovable, check_digest, held_now
from lynq.dashboard.guards import RequestRefused
from lynq.dashboard.projection import FORMS, HUBS, NODES
from lynq.dashboard.types.details import ActionRequest, ActionResult
from lynq.kube import Client, Resource
from lynq.kube.requests import with_uid

FIELD_MANAGER: Final = "lynq-dashboard"

Target = LynqHub | LynqForm | LynqNode

_KINDS: Final[dict[str, tuple[Resource, Any]]] = {
    "Hub": (HUBS, LynqHub),
    "Form": (FORMS, LynqForm),
    "Node": (NODES, LynqNode),
}


async def perform(
    client: Client, action: str, request: ActionRequest, now: datetime
) -> ActionResult:
    """Carry out an action with the rights of a client; raises KubeError and RequestRefused."""
    perform_on = _ACTIONS.get(action)
    if perform_on is None:
        raise RequestRefused(404, f"There is no action {action}: use {', '.join(_ACTIONS)}.")
    resource, kind = _KINDS[request.kind]
    target: Target = await client.get(resource, request.name, request.namespace, into=kind)
    name = f"{request.kind.lower()}/{request.name}"
    if is_deleting(target):
        raise RequestRefused(409, f"{name} is being deleted. Nothing was changed.")

    async def patch(changes: dict[str, Any]) -> None:
        await client.patch(
            resource,
            request.name,
            with_uid(changes, target.metadata.uid),
            request.namespace,
            manager=FIELD_MANAGER,
        )

    return ActionResult(message=f"{name} {await perform_on(target, request, patch, rfc3339(now))}")


Patch = Callable[[dict[str, Any]], Awaitable[None]]


def _annotation(name: str, value: str | None) -> dict[str, Any]:
    return {"metadata": {"annotations": {name: value}}}


async def _sync(target: Target, _request: ActionRequest, patch: Patch, now: str) -> str:
    if not isinstance(target, LynqHub):
        raise RequestRefused(422, "Only a hub has rows to read.")
    if target.spec.paused:
        raise RequestRefused(409, "The hub is paused, so its rows are not read: resume it first.")
    await patch(_annotation(ANNOTATION_FORCE_SYNC, now))
    return "sync requested"


async def _reconcile(target: Target, _request: ActionRequest, patch: Patch, now: str) -> str:
    if not isinstance(target, LynqNode):
        raise RequestRefused(422, "Only a node has resources to apply.")
    if is_paused(target):
        raise RequestRefused(409, "The node is paused: resume it first.")
    await patch(_annotation(ANNOTATION_FORCE_RECONCILE, now))
    return "reconcile requested"


async def _pause(target: Target, _request: ActionRequest, patch: Patch, _now: str) -> str:
    await patch(_paused(target, paused=True))
    return "paused"


async def _resume(target: Target, _request: ActionRequest, patch: Patch, _now: str) -> str:
    await patch(_paused(target, paused=False))
    return "resumed"


def _paused(target: Target, *, paused: bool) -> dict[str, Any]:
    if isinstance(target, LynqNode):
        return _annotation(ANNOTATION_PAUSED, TRUE if paused else None)
    return {"spec": {"paused": paused}}


async def _approve(target: Target, request: ActionRequest, patch: Patch, _now: str) -> str:
    if not isinstance(target, LynqHub):
        raise RequestRefused(422, "Only a hub holds deletions.")
    try:
        held = held_now(target)
        check_digest(held, request.digest, origin="the page")
    except NotApprovable as error:
        raise RequestRefused(409, f"{error}.") from None
    await patch(_annotation(ANNOTATION_APPROVE_DELETION, held.digest))
    nodes = "1 node" if held.count == 1 else f"{held.count} nodes"
    return f"deletion of {nodes} approved"


_ACTIONS: Final[dict[str, Callable[[Target, ActionRequest, Patch, str], Awaitable[str]]]] = {
    "sync": _sync,
    "pause": _pause,
    "resume": _resume,
    "reconcile": _reconcile,
    "approve": _approve,
}
