"""Small workloads for a local cluster, and for the API server in memory."""

from typing import Any

Manifest = dict[str, Any]


def pod_template(
    name: str, *, image: str = "nginx", annotations: dict[str, str] | None = None
) -> Manifest:
    return {
        "metadata": {"labels": {"app": name}, "annotations": annotations or {}},
        "spec": {
            # The deletion of the namespace must not wait.
            "terminationGracePeriodSeconds": 0,
            "containers": [{"name": "main", "image": image}],
        },
    }


def deployment(name: str, *, replicas: int = 2, **template: Any) -> Manifest:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": pod_template(name, **template),
        },
    }


def stateful_set(name: str) -> Manifest:
    manifest = deployment(name)
    manifest["kind"] = "StatefulSet"
    manifest["spec"]["serviceName"] = name
    manifest["spec"]["volumeClaimTemplates"] = [
        {"metadata": {"name": "data"}, "spec": claim("data")["spec"]}
    ]
    return manifest


def daemon_set(name: str) -> Manifest:
    manifest = deployment(name)
    manifest["kind"] = "DaemonSet"
    del manifest["spec"]["replicas"]
    return manifest


def job(name: str, **annotations: str) -> Manifest:
    steering = {f"local.lynq.sh/{key}": value for key, value in annotations.items()}
    template = pod_template(name, annotations=steering)
    template["spec"]["restartPolicy"] = "Never"
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {"backoffLimit": 0, "template": template},
    }


def claim(name: str) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }
