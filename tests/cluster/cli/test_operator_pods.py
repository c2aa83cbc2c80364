"""`lynq logs` and `lynq top`: what the API server passes on from the operator's pods."""

import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from built_in_resources import PODS, SERVICES
from cluster.cli.conftest import Lynq
from cluster.cli.tenants import normalized, running_tenants
from lynq.cli.exit_codes import ExitCode
from lynq.kube import Client, Resource
from lynq.tls.context import self_signed_server_context
from operated.environment import NODES, Environment
from waiting import eventually

KUBERNETES_NODES = Resource("", "v1", "Node", "nodes", namespaced=False)
ENDPOINTS = Resource("", "v1", "Endpoints", "endpoints", namespaced=True)
OPERATOR = {"app.kubernetes.io/name": "lynq"}
METRICS = """\
# TYPE workqueue_depth gauge
workqueue_depth{name="node"} 2
# TYPE lynq_row_to_ready_seconds histogram
lynq_row_to_ready_seconds_bucket{le="0.5"} 10
lynq_row_to_ready_seconds_bucket{le="+Inf"} 10
lynq_row_to_ready_seconds_count 10
lynq_row_to_ready_seconds_sum 2
"""
LOAD = [
    "queue   2 keys wait, 0 reconciles in progress",
    "row to ready   p50 250 ms, p99 495 ms",
    "reconciles   0.0/s, p99 -, 0 failed since the start",
    "requests   0.0/s to the API server",
]
UNREADABLE = (
    "The load of the operator is unknown: The metrics need a token, which the API server's proxy "
    "does not pass on. Forward the port: kubectl -n NS port-forward service/lynq-metrics 8443, "
    "then LYNQ_METRICS_TOKEN=$(kubectl create token ACCOUNT) lynq top --metrics-url "
    "https://127.0.0.1:8443/metrics"
)


@dataclass(slots=True)
class Endpoint:
    """An HTTP server that the API server connects to."""

    address: str
    port: int
    text: str = ""
    token: str = ""
    """The token that a request must have; empty: none."""
    paths: list[str] = field(default_factory=list)
    """The paths of all requests."""


def machine_address() -> str:
    """Return an address of this machine that the API server connects to: no loopback address."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        # Sends nothing: it only selects the interface.
        probe.connect(("192.0.2.1", 9))
        address: str = probe.getsockname()[0]
    return address


@contextmanager
def serving(*, tls: bool) -> Iterator[Endpoint]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            endpoint.paths.append(self.path)
            is_allowed = self.headers.get("Authorization", "") == (
                f"Bearer {endpoint.token}" if endpoint.token else ""
            )
            self.send_response(200 if is_allowed or not endpoint.token else 401)
            self.end_headers()
            if is_allowed or not endpoint.token:
                self.wfile.write(endpoint.text.encode())

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("0.0.0.0", 0), Handler)
    if tls:
        server.socket = self_signed_server_context().wrap_socket(server.socket, server_side=True)
    endpoint = Endpoint(machine_address(), server.server_port)
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield endpoint
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
async def kubelet(client: Client, env: Environment) -> AsyncIterator[Endpoint]:
    """A kubelet that serves the log of the only pod of the operator."""
    with serving(tls=True) as endpoint:
        name = f"kubelet-{env.namespace}"
        await client.create(KUBERNETES_NODES, {"metadata": {"name": name}})

        async def initialized() -> bool:
            node = await client.get(KUBERNETES_NODES, name)
            return bool(node["status"].get("addresses"))

        # KWOK sets the addresses once.
        await eventually(initialized)
        status = {
            "addresses": [{"type": "InternalIP", "address": endpoint.address}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": endpoint.port}},
        }
        patch = {"status": status}
        await client.patch(KUBERNETES_NODES, name, patch, subresource="status")
        container = {"name": "manager", "image": "lynq"}
        pod = {
            "metadata": {"name": "lynq-0", "labels": OPERATOR},
            "spec": {"nodeName": name, "containers": [container]},
        }
        await client.create(PODS, pod, env.namespace)
        yield endpoint
        await client.delete(PODS, "lynq-0", env.namespace)
        await client.delete(KUBERNETES_NODES, name)


async def test_log_comes_from_the_pods_of_the_operator(
    env: Environment, run_lynq: Lynq, kubelet: Endpoint
) -> None:
    node = {"metadata": {"name": "acme-web"}, "spec": {"uid": "acme", "templateRef": "web"}}
    await env.client.create(NODES, node, env.namespace)
    kubelet.text = f"started\napplied node={env.namespace}/acme-web\n"
    logs = await run_lynq("logs", "--operator-namespace", env.namespace, "--tail", "7")
    assert logs.exit_code == ExitCode.OK, logs.output
    assert logs.stdout == kubelet.text
    of_node = await run_lynq("logs", "--node", "acme", "--operator-namespace", env.namespace)
    assert of_node.stdout == f"applied node={env.namespace}/acme-web\n"
    assert kubelet.paths[:1] == [f"/containerLogs/{env.namespace}/lynq-0/manager?tailLines=7"]


async def test_log_without_a_pod_is_an_error(env: Environment, run_lynq: Lynq) -> None:
    logs = await run_lynq("logs", "--operator-namespace", env.namespace)
    assert logs.exit_code == ExitCode.ERROR
    assert logs.stderr == (
        f"Error: No operator pod with the label app.kubernetes.io/name=lynq in the namespace "
        f'"{env.namespace}": the operator runs outside of the cluster, or is not installed.\n'
    )


async def create_metrics_service(env: Environment, endpoint: Endpoint, port_name: str) -> None:
    ports = [{"name": port_name, "port": 8443, "targetPort": endpoint.port}]
    service = {"metadata": {"name": "lynq-metrics", "labels": OPERATOR}, "spec": {"ports": ports}}
    await env.client.create(SERVICES, service, env.namespace)
    # The API server connects only to addresses that pods have.
    pod = {"metadata": {"name": "lynq-0"}, "spec": {"containers": [{"name": "a", "image": "a"}]}}
    await env.client.create(PODS, pod, env.namespace)

    async def running() -> bool:
        pod = await env.client.get(PODS, "lynq-0", env.namespace)
        return bool(pod["status"].get("podIP"))

    await eventually(running)
    status = {"podIP": endpoint.address, "podIPs": [{"ip": endpoint.address}]}
    patch = {"status": status}
    await env.client.patch(PODS, "lynq-0", patch, env.namespace, subresource="status")
    target = {"kind": "Pod", "namespace": env.namespace, "name": "lynq-0"}
    subset = {
        "addresses": [{"ip": endpoint.address, "targetRef": target}],
        "ports": [{"name": port_name, "port": endpoint.port}],
    }
    endpoints = {"metadata": {"name": "lynq-metrics"}, "subsets": [subset]}
    await env.client.create(ENDPOINTS, endpoints, env.namespace)


async def test_load_comes_through_the_proxy_of_the_api_server(
    env: Environment, run_lynq: Lynq
) -> None:
    async with running_tenants(env):
        await env.wait_for_event("RowRejected")
        await env.wait_for_status(ready=1, failed=2)
        with serving(tls=False) as endpoint:
            endpoint.text = METRICS
            await create_metrics_service(env, endpoint, "http")
            where = ("--operator-namespace", env.namespace, "--interval", "0.1")
            top = await run_lynq("top", *where)
            assert top.exit_code == ExitCode.OK, top.output
            assert normalized(top.output, env).splitlines() == [
                "NAMESPACE   HUB   NODES   READY   FAILED   REJECTED   READ",
                "NS   hub   3   1   2   1   AGE",
                "",
                *LOAD,
            ]
            assert endpoint.paths == ["/metrics", "/metrics"]


async def test_metrics_with_a_token_are_read_from_a_forwarded_port(
    env: Environment, run_lynq: Lynq, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(tls=True) as endpoint:
        endpoint.text, endpoint.token = METRICS, "hunter2"
        await create_metrics_service(env, endpoint, "https")
        denied = await run_lynq("top", "--operator-namespace", env.namespace)
        assert denied.exit_code == ExitCode.OK
        assert normalized(denied.stderr, env).splitlines() == [
            "No hubs found.",
            UNREADABLE,
        ]
        monkeypatch.setenv("LYNQ_METRICS_TOKEN", "hunter2")
        url = f"https://127.0.0.1:{endpoint.port}/metrics"
        top = await run_lynq("top", "--metrics-url", url, "--interval", "0.1")
        assert normalized(top.stdout, env).splitlines()[-4:] == LOAD


async def test_load_without_a_metrics_service_names_the_option(
    env: Environment, run_lynq: Lynq
) -> None:
    top = await run_lynq("top", "--operator-namespace", env.namespace)
    assert top.exit_code == ExitCode.OK
    assert "The load of the operator is unknown: No metrics service" in top.stderr
    assert "--metrics-url http://127.0.0.1:8080/metrics" in top.stderr
