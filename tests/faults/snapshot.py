"""The state of two namespaces in a form that two runs of the same flow share.

Names of namespaces, uids, times, digests and versions differ between runs and are replaced.
"""

import re
from dataclasses import dataclass
from typing import Any

from built_in_resources import DEPLOYMENTS, SERVICES
from faults.tenants import watched_namespaces
from lynq.kube import Resource
from lynq.kube.resource import CONFIG_MAPS, SECRETS
from operated.environment import FORMS, HUBS, NODES, Environment, Object

Key = tuple[str, str, str]
"""Kind, namespace and name of an object; the namespace is `own` or `other`."""

_OWN: tuple[Resource, ...] = (HUBS, FORMS, NODES)
_CHILDREN: tuple[Resource, ...] = (CONFIG_MAPS, SECRETS, SERVICES, DEPLOYMENTS)
_OF_CLUSTER = "kube-root-ca.crt"
_PER_RUN = frozenset(
    {"resourceVersion", "uid", "creationTimestamp", "generation", "clusterIP", "clusterIPs"}
    | {"lynq.sh/bucket"}
)
"""Fields whose value is another one in every run."""
_TIME = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-][\d:]+)")
_DIGEST = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|\b[0-9a-f]{8,}\b")


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All objects that Lynq and its tests have written."""

    objects: dict[Key, Any]
    uids: dict[Key, str]

    def surviving(self, before: "Snapshot") -> set[Key]:
        """Return the objects that are the same ones as before, not new ones of the same name."""
        return {key for key, uid in self.uids.items() if before.uids.get(key) == uid}


async def snapshot(env: Environment) -> Snapshot:
    """Return the present state of both namespaces of an environment."""
    objects: dict[Key, Any] = {}
    uids: dict[Key, str] = {}
    own, other = watched_namespaces(env)
    for place, namespace, resources in (
        ("own", own, (*_OWN, *_CHILDREN)),
        ("other", other, _CHILDREN),
    ):
        for resource in resources:
            for obj in (await env.client.list(resource, namespace)).items:
                name = obj["metadata"]["name"]
                if name == _OF_CLUSTER:
                    continue
                key = (resource.kind, place, name)
                uids[key] = obj["metadata"]["uid"]
                objects[key] = _comparable(obj, own)
    return Snapshot(objects, uids)


def _comparable(obj: Object, namespace: str) -> Any:
    metadata, status = obj["metadata"], obj.get("status", {})
    managers = {
        (entry["manager"], entry["operation"], entry.get("subresource", ""))
        for entry in metadata.pop("managedFields", ())
    }
    if "observedGeneration" in status:
        status["observedGeneration"] = status["observedGeneration"] == metadata["generation"]
    if "observedUpdateStart" in status:
        written = metadata["annotations"]["lynq.sh/rollout-update-start"]
        status["observedUpdateStart"] = status["observedUpdateStart"] == written
    return {**_without_run(obj, namespace), "managers": sorted(managers)}


def _without_run(value: Any, namespace: str) -> Any:
    if isinstance(value, dict):
        return {
            key: _without_run(item, namespace) for key, item in value.items() if key not in _PER_RUN
        }
    if isinstance(value, list):
        return [_without_run(item, namespace) for item in value]
    if isinstance(value, str):
        return _DIGEST.sub("<digest>", _TIME.sub("<time>", value.replace(namespace, "<own>")))
    return value


def differences(actual: Any, expected: Any, path: str = "") -> list[str]:
    """Return the paths at which two values differ, with both values."""
    if isinstance(actual, dict) and isinstance(expected, dict):
        return [
            line
            for key in sorted(actual.keys() | expected.keys(), key=str)
            for line in differences(actual.get(key), expected.get(key), f"{path}.{key}")
        ]
    return [] if actual == expected else [f"{path}: {actual!r}, expected {expected!r}"]
