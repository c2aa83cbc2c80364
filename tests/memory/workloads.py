"""Deployments that become available, and Jobs that complete and expire.

They have a status, and no pods. The annotations `local.lynq.sh/…` of the pod template steer them as
on the local control plane: see docs/reference/local-cluster.md.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, Final

from lynq.template.gotime.duration import parse_duration
from memory.garbage_collection import OPTIONS, target_of
from memory.registry import DeleteOptions, Registry
from memory.store import Key

Body = dict[str, Any]
AddAt = Callable[[datetime, Key], None]

_JOB_CONTROLLER: Final = "kubernetes.io/job-controller"
"""The value of `managedBy` of a Job whose status is written here."""


class DeploymentController:
    """Writes the status of Deployments."""

    def __init__(self, registry: Registry, add_at: AddAt) -> None:
        self._registry = registry
        self._add_at = add_at
        self._started: dict[tuple[str, int], datetime] = {}
        """When a generation was seen first."""

    def reconcile(self, key: Key, obj: Body) -> None:
        """Process one object."""
        metadata = obj["metadata"]
        if key.resource != "deployments.apps" or metadata.get("deletionTimestamp"):
            return
        now = self._registry.clock()
        started = self._started.setdefault((metadata["uid"], metadata["generation"]), now)
        template = obj["spec"]["template"]
        steering = _steering(template)
        ready_at = started + _duration(steering.get("ready-after"))
        never = steering.get("ready") == "never" or _lacks_image(template)
        is_ready = not never and ready_at <= now
        _write_status(self._registry, key, _deployment_status(obj, is_ready=is_ready))
        if not never and ready_at > now:
            self._add_at(ready_at, key)


class JobController:
    """Writes the status of Jobs, and deletes them after `ttlSecondsAfterFinished`."""

    def __init__(self, registry: Registry, add_at: AddAt) -> None:
        self._registry = registry
        self._add_at = add_at

    def reconcile(self, key: Key, obj: Body) -> None:
        """Process one object."""
        metadata, spec = obj["metadata"], obj["spec"] if key.resource == "jobs.batch" else {}
        if not spec or metadata.get("deletionTimestamp"):
            return
        now = self._registry.clock()
        if finished := _finished_at(obj):
            if spec.get("ttlSecondsAfterFinished") is None:
                return
            expires = finished + timedelta(seconds=spec["ttlSecondsAfterFinished"])
            if expires > now:
                self._add_at(expires, key)
                return
            options = DeleteOptions(uid=metadata["uid"], propagation="Background")
            self._registry.delete(target_of(self._registry, key), options)
            return
        if spec.get("managedBy", _JOB_CONTROLLER) != _JOB_CONTROLLER:
            return
        steering = _steering(spec["template"])
        started = datetime.fromisoformat(metadata["creationTimestamp"])
        ends = started + _duration(steering.get("complete-after", "1s"))
        if spec.get("suspend") or steering.get("job") == "never":
            status: Body = {} if spec.get("suspend") else {"active": 1}
        elif ends > now:
            status = {"active": 1}
            self._add_at(ends, key)
        else:
            status = _finished(self._registry.now, has_failed=steering.get("job") == "fail")
        _write_status(self._registry, key, status)


def _write_status(registry: Registry, key: Key, status: Body) -> None:
    target = target_of(registry, key, "status")
    registry.patch(target, lambda live: {**live, "status": status}, OPTIONS)


def _deployment_status(obj: Body, *, is_ready: bool) -> Body:
    """Return the status; the old pods stay available until the new ones are."""
    replicas = obj["spec"]["replicas"]
    old = obj.get("status") or {}
    available = replicas if is_ready else min(old.get("availableReplicas", 0), replicas)
    reason = "NewReplicaSetAvailable" if is_ready else "ReplicaSetUpdated"
    is_available = available >= replicas
    status = {
        "observedGeneration": obj["metadata"]["generation"],
        # One more pod is started before an old one ends.
        "replicas": replicas if is_ready else replicas + min(available, 1),
        "updatedReplicas": replicas,
        "readyReplicas": available,
        "availableReplicas": available,
        "unavailableReplicas": 0 if is_ready else 1,
        "conditions": [
            {
                "type": "Available",
                "status": "True" if is_available else "False",
                "reason": f"MinimumReplicas{'Available' if is_available else 'Unavailable'}",
                "message": "",
            },
            {"type": "Progressing", "status": "True", "reason": reason, "message": ""},
        ],
    }
    return {key: value for key, value in status.items() if value not in (0, None)}


def _finished(now: str, *, has_failed: bool) -> Body:
    kind, reason = ("Failed", "BackoffLimitExceeded") if has_failed else ("Complete", "Completed")
    condition = {
        "type": kind,
        "status": "True",
        "reason": reason,
        "message": "Job has reached the specified backoff limit" if has_failed else "",
        "lastTransitionTime": now,
    }
    counts: Body = {"failed": 1} if has_failed else {"succeeded": 1, "completionTime": now}
    return counts | {"conditions": [condition]}


def _finished_at(job: Body) -> datetime | None:
    for condition in (job.get("status") or {}).get("conditions") or ():
        if condition["type"] in {"Complete", "Failed"} and condition["status"] == "True":
            return datetime.fromisoformat(condition["lastTransitionTime"])
    return None


def _steering(template: Body) -> dict[str, str]:
    annotations = (template.get("metadata") or {}).get("annotations") or {}
    prefix = "local.lynq.sh/"
    return {
        key.removeprefix(prefix): value
        for key, value in annotations.items()
        if key.startswith(prefix)
    }


def _lacks_image(template: Body) -> bool:
    """Return whether a container's image cannot be pulled on the local control plane."""
    images = [container.get("image") or "" for container in template["spec"]["containers"]]
    return any(word in image for image in images for word in ("nonexistent", "invalid"))


def _duration(text: str | None) -> timedelta:
    return timedelta(microseconds=parse_duration(text or "0s") / 1000)
