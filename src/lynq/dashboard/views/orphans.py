"""The orphans of the kinds that forms use, as the viewer may list them."""

from collections.abc import Iterable
from typing import Final

import structlog

from lynq.api import LynqForm
from lynq.api.resource import all_resources
from lynq.dashboard.viewers import Viewer
from lynq.dashboard.visible import Visible
from lynq.inspection.orphans import Orphan, find_orphans
from lynq.kube import Discovery, Resource
from lynq.kube.errors import KubeError, UnknownKind

_log = structlog.get_logger("dashboard")

_MAX_KINDS: Final = 30
_MAX_NAMESPACES: Final = 5


async def visible_orphans(viewer: Viewer, visible: Visible, discovery: Discovery) -> list[Orphan]:
    """Return the orphans that a viewer may list; what is denied is left out."""
    kinds = await _kinds(visible.forms(), discovery)
    scope = visible.node_scope.namespaces
    namespaces: list[str | None] = [visible.namespace or None]
    if not visible.namespace and scope is not None:
        namespaces = [*sorted(scope)[:_MAX_NAMESPACES]]
    found: list[Orphan] = []
    for namespace in namespaces:
        own = [kind for kind in kinds if kind.namespaced or namespace is None]
        try:
            found += (await find_orphans(viewer.client, own, namespace))[0]
        except* KubeError as errors:
            _log.info("orphans are not listed", error=str(errors.exceptions[0]))
    return found


async def _kinds(forms: Iterable[LynqForm], discovery: Discovery) -> list[Resource]:
    names = dict.fromkeys(
        (str(resource.spec.get("apiVersion", "")), str(resource.spec.get("kind", "")))
        for form in forms
        for resource in all_resources(form.spec)
    )
    kinds = []
    for api_version, kind in list(names)[:_MAX_KINDS]:
        try:
            kinds.append(await discovery.resource(api_version, kind))
        except UnknownKind:
            continue
    return kinds
