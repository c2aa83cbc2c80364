"""The forms that are measured, and the writes that a tenant of each form needs at least.

The bodies of the floor have the fields of the operator's own writes: labels, annotations, owner
references and status. A test compares what both have stored.
"""

from dataclasses import dataclass
from typing import Any

from lynq.api.initial_inventory import InitialObject, initial_inventory
from operated.manifests import deployment

Object = dict[str, Any]

_TIME = "2026-11-16T00:00:00.000000Z"
_BUCKET = {"lynq.sh/bucket": "0"}

_SERVICE: Object = {"apiVersion": "v1", "kind": "Service", "spec": {"ports": [{"port": 80}]}}
_ACCOUNT: Object = {"apiVersion": "v1", "kind": "ServiceAccount"}
_SETTINGS: Object = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"plan": "{{ .plan }}"}}
_INGRESS: Object = {
    "apiVersion": "networking.k8s.io/v1",
    "kind": "Ingress",
    "spec": {
        "rules": [
            {
                "host": "{{ .uid }}.example.com",
                "http": {
                    "paths": [
                        {
                            "path": "/",
                            "pathType": "Prefix",
                            "backend": {
                                "service": {"name": "{{ .uid }}-web", "port": {"number": 80}}
                            },
                        }
                    ]
                },
            }
        ]
    },
}


@dataclass(frozen=True, slots=True)
class Entry:
    """A resource of a form."""

    list: str
    """The list of the form, for example configMaps."""
    id: str
    manifest: Object
    path: str
    """The path of its kind, below the API server's address and before the namespace."""
    depends_on: tuple[str, ...] = ()

    @property
    def plural(self) -> str:
        return self.list.lower()

    def in_form(self) -> Object:
        entry = {"id": self.id, "nameTemplate": f"{{{{ .uid }}}}-{self.id}", "spec": self.manifest}
        return entry | ({"dependIds": list(self.depends_on)} if self.depends_on else {})

    def object(self, namespace: str, uid: str, revision: str, owner: str) -> Object:
        """Return the object of a tenant as the operator would apply it."""
        metadata = {
            "name": f"{uid}-{self.id}",
            "namespace": namespace,
            "labels": {"lynq.sh/managed": "true", **_BUCKET},
            "annotations": {
                "lynq.sh/applied-hash": f"{revision:0>16}",
                "lynq.sh/apply-start-time": _TIME,
                "lynq.sh/deletion-policy": "Delete",
            },
            "ownerReferences": [_owner_reference("LynqNode", f"{uid}-web", owner)],
        }
        obj: Object = _rendered(self.manifest, uid, revision)
        obj["metadata"] = obj.get("metadata", {}) | metadata
        return obj


@dataclass(frozen=True, slots=True)
class Shape:
    """A form, by the resources of a tenant."""

    name: str
    entries: tuple[Entry, ...]
    waits_for: str = ""
    """The id of a Deployment that must be available before the others are written."""

    def form(self, **changes: Object) -> Object:
        """Return the spec of the form; `changes` replaces parts of manifests by resource id."""
        lists: Object = {}
        for entry in self.entries:
            in_form = entry.in_form()
            in_form["spec"] = in_form["spec"] | changes.get(entry.id, {})
            lists.setdefault(entry.list, []).append(in_form)
        return {"hubId": "hub", **lists}

    def node(self, namespace: str, uid: str, revision: str, hub: str) -> Object:
        """Return the LynqNode of a tenant as the hub with this uid would create it."""
        lists: Object = {}
        for entry in self.entries:
            in_form = entry.in_form() | {"nameTemplate": f"{uid}-{entry.id}"}
            lists.setdefault(entry.list, []).append(in_form)
        return {
            "apiVersion": "operator.lynq.sh/v1",
            "kind": "LynqNode",
            "metadata": {
                "name": f"{uid}-web",
                "namespace": namespace,
                "labels": {"lynq.sh/hub": "hub", "lynq.sh/uid": uid, **_BUCKET},
                "annotations": {
                    "lynq.sh/activate": "1",
                    "lynq.sh/extra": f'{{"plan":"{revision}"}}',
                    "lynq.sh/hostOrUrl": "",
                    "lynq.sh/hubId": "hub",
                    **initial_inventory(
                        InitialObject(
                            entry.id,
                            entry.manifest["apiVersion"],
                            entry.manifest["kind"],
                            namespace,
                            f"{uid}-{entry.id}",
                        )
                        for entry in self.entries
                    ),
                    "lynq.sh/rollout-budget": "Row",
                    "lynq.sh/rollout-update-start": _TIME,
                    "lynq.sh/row-changed-at": _TIME,
                    "lynq.sh/signature": f"{revision:0>64}",
                    "lynq.sh/spec-digest": f"{revision:0>16}",
                    "lynq.sh/template-generation": revision,
                },
                "finalizers": ["lynqnode.operator.lynq.sh/finalizer"],
                "ownerReferences": [_owner_reference("LynqHub", "hub", hub)],
            },
            "spec": {"uid": uid, "hubId": "hub", "templateRef": "web", **lists},
        }

    def status(self, namespace: str, uid: str, revision: str) -> Object:
        """Return the status of a ready node."""
        generation, count = {"observedGeneration": int(revision)}, len(self.entries)
        since = "2026-11-16T00:00:00Z"
        resources = [
            {
                "id": entry.id,
                "apiVersion": entry.manifest["apiVersion"],
                "kind": entry.manifest["kind"],
                "namespace": namespace,
                "name": f"{uid}-{entry.id}",
                "state": "Ready",
                "reason": "Ready",
                "since": since,
                "fieldsDigest": f"{revision:0>16}",
            }
            for entry in self.entries
        ]
        conditions = [
            {
                "type": kind,
                "status": "True" if kind == "Ready" else "False",
                "reason": "Reconciled",
                "message": f"all {count} resources are ready",
                "lastTransitionTime": since,
                **generation,
            }
            for kind in ("Ready", "Progressing", "Conflicted", "Degraded")
        ]
        return {
            "conditions": conditions,
            "resources": resources,
            "appliedResources": [
                f"{entry['kind']}/{namespace}/{entry['name']}@{entry['id']}" for entry in resources
            ],
            "desiredResources": count,
            "readyResources": count,
            "randomSource": "InstallationKey",
            "lastFullReconcileAt": since,
            "observedUpdateStart": _TIME,
            "settledUpdateStart": _TIME,
            **generation,
        }


def hub() -> Object:
    """Return a hub that no operator reconciles; the nodes of the floor belong to it."""
    mysql = {"host": "none", "username": "none", "database": "none", "table": "none"}
    source = {"type": "mysql", "mysql": mysql, "syncInterval": "1h"}
    mappings = {"uid": "uid", "activate": "active"}
    return {"metadata": {"name": "hub"}, "spec": {"source": source, "valueMappings": mappings}}


def _owner_reference(kind: str, name: str, uid: str) -> Object:
    return {
        "apiVersion": "operator.lynq.sh/v1",
        "kind": kind,
        "name": name,
        "uid": uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def _rendered(value: Any, uid: str, revision: str) -> Any:
    if isinstance(value, dict):
        return {key: _rendered(item, uid, revision) for key, item in value.items()}
    if isinstance(value, list):
        return [_rendered(item, uid, revision) for item in value]
    if isinstance(value, str):
        return value.replace("{{ .uid }}", uid).replace("{{ .plan }}", revision)
    return value


def _workload(replicas: int) -> Object:
    manifest = deployment("app", replicas=replicas)
    del manifest["metadata"]
    return manifest


PLAIN = Shape(
    "ConfigMap, Service, ServiceAccount",
    (
        Entry("configMaps", "settings", _SETTINGS, "/api/v1"),
        Entry("services", "web", _SERVICE, "/api/v1"),
        Entry("serviceAccounts", "account", _ACCOUNT, "/api/v1"),
    ),
)
WITHOUT_SERVICES = Shape(
    "2 ConfigMaps, ServiceAccount",
    (
        Entry("configMaps", "settings", _SETTINGS, "/api/v1"),
        Entry("configMaps", "more-settings", _SETTINGS, "/api/v1"),
        Entry("serviceAccounts", "account", _ACCOUNT, "/api/v1"),
    ),
)
CHAIN = Shape(
    "Deployment → Service → ConfigMap",
    (
        Entry("deployments", "app", _workload(1), "/apis/apps/v1"),
        Entry("services", "web", _SERVICE, "/api/v1", depends_on=("app",)),
        Entry("configMaps", "settings", _SETTINGS, "/api/v1", depends_on=("web",)),
    ),
    waits_for="app",
)
FLUX = Shape(
    "Deployment (0 replicas), ServiceAccount, Service, Ingress",
    (
        Entry("deployments", "app", _workload(0), "/apis/apps/v1"),
        Entry("serviceAccounts", "account", _ACCOUNT, "/api/v1"),
        Entry("services", "web", _SERVICE, "/api/v1"),
        Entry("ingresses", "entry", _INGRESS, "/apis/networking.k8s.io/v1"),
    ),
)
SHAPES = {"plain": PLAIN, "without-services": WITHOUT_SERVICES, "chain": CHAIN, "flux": FLUX}
