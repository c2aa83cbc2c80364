"""Our readiness of real objects agrees with kubectl during their whole life."""

from collections.abc import Callable
from typing import Any

import pytest

from built_in_resources import DEPLOYMENTS, PERSISTENT_VOLUME_CLAIMS, PODS
from lynq.core.readiness.rules import evaluate_readiness
from lynq.core.readiness.verdict import Readiness, ReadinessState
from lynq.kube import Client, Resource
from operated.manifests import Manifest, claim, daemon_set, deployment, job, stateful_set
from waiting import eventually

STATEFUL_SETS = Resource("apps", "v1", "StatefulSet", "statefulsets", namespaced=True)
DAEMON_SETS = Resource("apps", "v1", "DaemonSet", "daemonsets", namespaced=True)
JOBS = Resource("batch", "v1", "Job", "jobs", namespaced=True)

NEVER = {"local.lynq.sh/ready": "never"}
DELAYED = {"local.lynq.sh/ready-after": "1s"}
TIMEOUT = 60.0


class ObservedObject:
    """One object, observed by us and by kubectl."""

    def __init__(
        self, client: Client, kubectl: Callable[..., str], namespace: str, resource: Resource
    ) -> None:
        self._client = client
        self._kubectl = kubectl
        self._namespace = namespace
        self._resource = resource
        self.name = ""

    async def create(self, manifest: Manifest) -> Readiness:
        self.name = manifest["metadata"]["name"]
        return evaluate_readiness(
            await self._client.create(self._resource, manifest, self._namespace)
        )

    async def patch(self, body: dict[str, Any]) -> Readiness:
        patched = await self._client.patch(
            self._resource, self.name, body, namespace=self._namespace
        )
        return evaluate_readiness(patched)

    async def readiness(self) -> Readiness:
        obj = await self._client.get(self._resource, self.name, self._namespace)
        return evaluate_readiness(obj)

    async def wait_for(self, state: ReadinessState, message: str | None = None) -> Readiness:
        async def reached() -> Readiness:
            readiness = await self.readiness()
            assert (readiness.state, readiness.message) == (state, message or readiness.message)
            return readiness

        return await eventually(reached, within=TIMEOUT, every=0.1)

    def kubectl(self, *command: str) -> str:
        target = f"{self._resource.plural}/{self.name}"
        return self._kubectl(f"--namespace={self._namespace}", *command, target)


@pytest.fixture
def observe(
    client: Client, kubectl: Callable[..., str], namespace: str
) -> Callable[[Resource], ObservedObject]:
    return lambda resource: ObservedObject(client, kubectl, namespace, resource)


Observe = Callable[[Resource], ObservedObject]


@pytest.mark.parametrize(
    ("resource", "manifest", "done"),
    [
        (DEPLOYMENTS, deployment("web", annotations=DELAYED), "successfully rolled out"),
        (STATEFUL_SETS, stateful_set("db"), "roll out complete: 2 new pods"),
        (DAEMON_SETS, daemon_set("agent"), "successfully rolled out"),
    ],
    ids=["Deployment", "StatefulSet", "DaemonSet"],
)
async def test_workload_is_ready_when_kubectl_reports_it_rolled_out(
    observe: Observe, resource: Resource, manifest: Manifest, done: str
) -> None:
    observed = observe(resource)
    assert (await observed.create(manifest)).reason == "GenerationNotObserved"
    await observed.wait_for(ReadinessState.READY)
    assert done in observed.kubectl("rollout", "status", "--watch=false")


async def test_changed_workload_is_not_ready_until_rolled_out(observe: Observe) -> None:
    observed = observe(DEPLOYMENTS)
    await observed.create(deployment("web"))
    await observed.wait_for(ReadinessState.READY)

    stuck = deployment("web", image="nginx:2", annotations=NEVER)["spec"]["template"]
    changed = await observed.patch({"spec": {"template": stuck}})
    assert changed.message == "latest generation is not observed yet"
    await observed.wait_for(ReadinessState.NOT_READY, "1 of 2 replicas updated")
    assert "1 out of 2 new replicas" in observed.kubectl("rollout", "status", "--watch=false")

    repaired = deployment("web", image="nginx:3", annotations={"local.lynq.sh/ready": ""})
    await observed.patch({"spec": {"template": repaired["spec"]["template"]}})
    await observed.wait_for(ReadinessState.READY)
    assert "successfully rolled out" in observed.kubectl("rollout", "status", "--watch=false")


async def test_scaled_to_zero_workload_is_ready_when_no_pods_remain(observe: Observe) -> None:
    observed = observe(DEPLOYMENTS)
    await observed.create(deployment("web"))
    await observed.wait_for(ReadinessState.READY)

    assert (await observed.patch({"spec": {"replicas": 0}})).state is ReadinessState.NOT_READY
    await observed.wait_for(ReadinessState.READY)
    assert observed.kubectl("get", "-o", "jsonpath={.spec.replicas} {.status.replicas}") == "0 "


async def test_on_delete_stateful_set_stays_ready_while_pods_are_replaced(
    observe: Observe, client: Client, namespace: str
) -> None:
    manifest = stateful_set("db")
    manifest["spec"]["updateStrategy"] = {"type": "OnDelete"}
    observed = observe(STATEFUL_SETS)
    await observed.create(manifest)
    await observed.wait_for(ReadinessState.READY)

    template = deployment("db", image="nginx:2")["spec"]["template"]
    await observed.patch({"spec": {"template": template}})
    await observed.wait_for(ReadinessState.READY)
    assert observed.kubectl("get", "-o", "jsonpath={.status.updatedReplicas}") in ("", "0")

    for pod in ("db-0", "db-1"):
        await client.delete(PODS, pod, namespace)
    await eventually(
        lambda: observed.kubectl("get", "-o", "jsonpath={.status.updatedReplicas}") == "2",
        within=TIMEOUT,
    )
    await observed.wait_for(ReadinessState.READY)
    # The Go operator would wait for this count forever.
    assert observed.kubectl("get", "-o", "jsonpath={.status.currentReplicas}") in ("", "0")


async def test_job_is_ready_when_complete(observe: Observe) -> None:
    observed = observe(JOBS)
    assert (await observed.create(job("once"))).message == "0 of 1 completions"
    await observed.wait_for(ReadinessState.READY)
    assert "condition met" in observed.kubectl("wait", "--for=condition=Complete", "--timeout=30s")


async def test_failed_job_reports_reason_of_kubernetes(
    observe: Observe,
) -> None:
    observed = observe(JOBS)
    await observed.create(job("bad", job="fail"))
    readiness = await observed.wait_for(ReadinessState.FAILED)
    reason = observed.kubectl(
        "get", "-o", "jsonpath={.status.conditions[?(@.type=='Failed')].reason}"
    )
    assert readiness.reason == reason == "BackoffLimitExceeded"
    assert readiness.message.startswith("Job failed: ")


async def test_claim_is_ready_when_bound(observe: Observe) -> None:
    observed = observe(PERSISTENT_VOLUME_CLAIMS)
    assert (await observed.create(claim("data"))).message == "claim is Pending"
    await observed.wait_for(ReadinessState.READY)
    assert observed.kubectl("get", "-o", "jsonpath={.status.phase}") == "Bound"


async def test_broken_image_is_reported_by_deployment_and_pod(
    observe: Observe, client: Client, namespace: str
) -> None:
    manifest = deployment("broken", replicas=1, image="registry.local/nonexistent:1")
    manifest["spec"]["progressDeadlineSeconds"] = 2
    observed = observe(DEPLOYMENTS)
    await observed.create(manifest)

    stuck = await observed.wait_for(
        ReadinessState.NOT_READY, "0 of 1 replicas ready, no progress for 2 s"
    )
    assert stuck.reason == "ProgressDeadlineExceeded"
    assert "exceeded its progress deadline" in observed.kubectl(
        "rollout", "status", "--watch=false"
    )

    (pod,) = await client.list(PODS, namespace)
    # List items omit their kind; the cache adds it.
    readiness = evaluate_readiness({**pod, "apiVersion": "v1", "kind": "Pod"})
    assert readiness.message == 'container "main" is waiting: ImagePullBackOff'
