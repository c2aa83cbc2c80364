"""The discovery documents, in the aggregated form."""

import re
from collections.abc import Iterable
from typing import Any, Final

from memory.kinds import VERBS, ServedKind

Body = dict[str, Any]

_VERSION: Final = re.compile(r"v(\d+)(?:(alpha|beta)(\d+))?")


def document(kinds: Iterable[ServedKind], *, core: bool) -> Body:
    """Return the groups of `/api` or `/apis` with their versions and resources."""
    groups: dict[str, dict[str, list[Body]]] = {}
    for kind in kinds:
        resource = kind.resource
        if (resource.group == "") is core:
            versions = groups.setdefault(resource.group, {})
            versions.setdefault(resource.version, []).append(_resource(kind))
    return {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": [
            {
                "metadata": {"name": group} if group else {},
                "versions": [
                    {"version": version, "resources": resources, "freshness": "Current"}
                    for version, resources in sorted(
                        versions.items(), key=lambda item: _rank(item[0]), reverse=True
                    )
                ],
            }
            for group, versions in groups.items()
        ],
    }


def _rank(version: str) -> tuple[int, int, int]:
    """Return the rank of a version such as v1 or v2beta1: stable ones first, then the newest."""
    parts = _VERSION.fullmatch(version)
    if parts is None:
        raise ValueError(f"{version} has no rank")
    number, stage, minor = parts.groups()
    return ("alpha", "beta", None).index(stage), int(number), int(minor or 0)


def _resource(kind: ServedKind) -> Body:
    resource = kind.resource
    kind_name = {"group": resource.group, "version": resource.version, "kind": resource.kind}
    entry: Body = {
        "resource": resource.plural,
        "responseKind": kind_name,
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": resource.kind.lower(),
        "verbs": list(VERBS),
    }
    if kind.has_status:
        entry["subresources"] = [
            {
                "subresource": "status",
                "responseKind": kind_name,
                "verbs": ["get", "patch", "update"],
            }
        ]
    return entry


def resource_list(kinds: Iterable[ServedKind], group_version: str) -> Body | None:
    """Return the document of one group version; None if it is not served."""
    resources = [
        {
            "name": kind.resource.plural,
            "singularName": kind.resource.kind.lower(),
            "namespaced": kind.resource.namespaced,
            "kind": kind.resource.kind,
            "verbs": list(VERBS),
        }
        for kind in kinds
        if kind.resource.api_version == group_version
    ]
    if not resources:
        return None
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": group_version,
        "resources": resources,
    }
