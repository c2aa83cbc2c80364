"""Finds the pods and the metrics service of the operator."""

from dataclasses import dataclass
from typing import Any, Final

from lynq.cli.connection import Cluster
from lynq.cli.exit_codes import CommandError
from lynq.cli.lookup import denial_of
from lynq.kube import Resource
from lynq.kube.errors import Forbidden
from lynq.kube.resource import PODS, SERVICES

_SELECTOR: Final = "app.kubernetes.io/name=lynq"
_METRICS: Final = "metrics"

Object = dict[str, Any]


async def operator_pods(cluster: Cluster, namespace: str | None) -> list[Object]:
    """Return the pods of the operator by name; raises CommandError if there are none."""
    pods = await _labelled(cluster, PODS, namespace)
    if not pods:
        raise CommandError(
            f"No operator pod with the label {_SELECTOR} in {_place(namespace)}: the operator "
            "runs outside of the cluster, or is not installed."
        )
    return sorted(pods, key=lambda pod: str(pod["metadata"]["name"]))


@dataclass(frozen=True, slots=True)
class MetricsService:
    """The service of the operator's metrics."""

    namespace: str
    name: str
    port: int
    scheme: str

    @property
    def proxy_path(self) -> str:
        """The path of the metrics in the API server's proxy."""
        target = f"{self.scheme}:{self.name}:{self.port}"
        return f"/api/v1/namespaces/{self.namespace}/services/{target}/proxy/metrics"

    @property
    def forwarding(self) -> str:
        """How the metrics are read without the proxy."""
        url = f"{self.scheme}://127.0.0.1:{self.port}/metrics"
        return (
            f"kubectl -n {self.namespace} port-forward service/{self.name} {self.port}, then "
            f"LYNQ_METRICS_TOKEN=$(kubectl create token ACCOUNT) lynq top --metrics-url {url}"
        )


async def metrics_service(cluster: Cluster, namespace: str | None) -> MetricsService:
    """Return the service of the operator's metrics; raises CommandError."""
    for service in await _labelled(cluster, SERVICES, namespace):
        metadata, ports = service["metadata"], service.get("spec", {}).get("ports") or ()
        if _METRICS in metadata["name"] and ports:
            port = ports[0]
            is_plain = port.get("name") == "http" or port.get("port") in (80, 8080)
            scheme = "http" if is_plain else "https"
            return MetricsService(metadata["namespace"], metadata["name"], port["port"], scheme)
    raise CommandError(
        f"No metrics service with the label {_SELECTOR} in {_place(namespace)}. "
        "Name the endpoint: --metrics-url http://127.0.0.1:8080/metrics"
    )


async def _labelled(cluster: Cluster, resource: Resource, namespace: str | None) -> list[Object]:
    try:
        return (await cluster.client.list(resource, namespace, labels=_SELECTOR)).items
    except Forbidden as error:
        raise CommandError(f"{denial_of(resource, error)}.") from None


def _place(namespace: str | None) -> str:
    return f'the namespace "{namespace}"' if namespace else "any namespace"
