"""Our verdict about real objects is that of kubectl, from the first moment to the last."""

from collections.abc import Callable
from typing import Any

import pytest

from built_in_resources import DEPLOYMENTS, PODS
from cluster.local.manifests import Manifest, claim, daemon_set, deployment, job, stateful_set
from lynq.core.readiness.rules import evaluate_readiness
from lynq.core.readiness.verdict import Readiness, ReadinessState
from lynq.kube import Client, Resource
from waiting import eventually

STATEFUL_SETS = Resource("apps", "v1", "StatefulSet", "statefulsets", namespaced=True)
DAEMON_SETS = Resource("apps", "v1", "DaemonSet", "daemonsets", namespaced=True)
JOBS = Resource("batch", "v1", "Job", "jobs", namespaced=True)
CLAIMS = Resource("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims", namespaced=True)

NEVER = {"local.lynq.sh/ready": "never"}
SLOWLY = {"local.lynq.sh/ready-after": "1s"}
PATIENCE = 60.0


class Watcher:
    """One object in one namespace, looked at by us and by kubectl."""

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

    async def change(self, body: dict[str, Any]) -> Readiness:
        patched = await self._client.patch(
            self._resource, self.name, body, namespace=self._namespace
        )
        return evaluate_readiness(patched)

    async def verdict(self) -> Readiness:
        obj = await self._client.get(self._resource, self.name, self._namespace)
        return evaluate_readiness(obj)

    async def until(self, state: ReadinessState, message: str | None = None) -> Readiness:
        async def reached() -> Readiness:
            verdict = await self.verdict()
            assert (verdict.state, verdict.message) == (state, message or verdict.message)
            return verdict

        return await eventually(reached, within=PATIENCE, every=0.1)

    def asked(self, *command: str) -> str:
        target = f"{self._resource.plural}/{self.name}"
        return self._kubectl(f"--namespace={self._namespace}", *command, target)


@pytest.fixture
def watcher(
    client: Client, kubectl: Callable[..., str], namespace: str
) -> Callable[[Resource], Watcher]:
    return lambda resource: Watcher(client, kubectl, namespace, resource)


Watching = Callable[[Resource], Watcher]


@pytest.mark.parametrize(
    ("resource", "manifest", "done"),
    [
        (DEPLOYMENTS, deployment("web", annotations=SLOWLY), "successfully rolled out"),
        (STATEFUL_SETS, stateful_set("db"), "roll out complete: 2 new pods"),
        (DAEMON_SETS, daemon_set("agent"), "successfully rolled out"),
    ],
    ids=["Deployment", "StatefulSet", "DaemonSet"],
)
async def test_workload_is_ready_when_kubectl_reports_it_rolled_out(
    watcher: Watching, resource: Resource, manifest: Manifest, done: str
) -> None:
    it = watcher(resource)
    assert (await it.create(manifest)).reason == "GenerationNotObserved"
    await it.until(ReadinessState.READY)
    assert done in it.asked("rollout", "status", "--watch=false")


async def test_changed_workload_is_not_ready_until_rolled_out(watcher: Watching) -> None:
    it = watcher(DEPLOYMENTS)
    await it.create(deployment("web"))
    await it.until(ReadinessState.READY)

    stuck = deployment("web", image="nginx:2", annotations=NEVER)["spec"]["template"]
    changed = await it.change({"spec": {"template": stuck}})
    assert changed.message == "latest generation is not observed yet"
    await it.until(ReadinessState.NOT_READY, "1 of 2 replicas updated")
    assert "1 out of 2 new replicas" in it.asked("rollout", "status", "--watch=false")

    repaired = deployment("web", image="nginx:3", annotations={"local.lynq.sh/ready": ""})
    await it.change({"spec": {"template": repaired["spec"]["template"]}})
    await it.until(ReadinessState.READY)
    assert "successfully rolled out" in it.asked("rollout", "status", "--watch=false")


async def test_scaled_to_zero_workload_is_ready_when_no_pods_remain(watcher: Watching) -> None:
    it = watcher(DEPLOYMENTS)
    await it.create(deployment("web"))
    await it.until(ReadinessState.READY)

    assert (await it.change({"spec": {"replicas": 0}})).state is ReadinessState.NOT_READY
    await it.until(ReadinessState.READY)
    assert it.asked("get", "-o", "jsonpath={.spec.replicas} {.status.replicas}") == "0 "


async def test_on_delete_stateful_set_stays_ready_while_pods_are_replaced(
    watcher: Watching, client: Client, namespace: str
) -> None:
    manifest = stateful_set("db")
    manifest["spec"]["updateStrategy"] = {"type": "OnDelete"}
    it = watcher(STATEFUL_SETS)
    await it.create(manifest)
    await it.until(ReadinessState.READY)

    template = deployment("db", image="nginx:2")["spec"]["template"]
    await it.change({"spec": {"template": template}})
    await it.until(ReadinessState.READY)
    assert it.asked("get", "-o", "jsonpath={.status.updatedReplicas}") in ("", "0")

    for pod in ("db-0", "db-1"):
        await client.delete(PODS, pod, namespace)
    await eventually(
        lambda: it.asked("get", "-o", "jsonpath={.status.updatedReplicas}") == "2", within=PATIENCE
    )
    await it.until(ReadinessState.READY)
    # What the Go operator would wait for never comes.
    assert it.asked("get", "-o", "jsonpath={.status.currentReplicas}") in ("", "0")


async def test_job_is_ready_when_complete(watcher: Watching) -> None:
    it = watcher(JOBS)
    assert (await it.create(job("once"))).message == "0 of 1 completions"
    await it.until(ReadinessState.READY)
    assert "condition met" in it.asked("wait", "--for=condition=Complete", "--timeout=30s")


async def test_failed_job_reports_reason_of_kubernetes(
    watcher: Watching,
) -> None:
    it = watcher(JOBS)
    await it.create(job("bad", job="fail"))
    verdict = await it.until(ReadinessState.FAILED)
    reason = it.asked("get", "-o", "jsonpath={.status.conditions[?(@.type=='Failed')].reason}")
    assert verdict.reason == reason == "BackoffLimitExceeded"
    assert verdict.message.startswith("Job failed: ")


async def test_claim_is_ready_when_bound(watcher: Watching) -> None:
    it = watcher(CLAIMS)
    assert (await it.create(claim("data"))).message == "claim is Pending"
    await it.until(ReadinessState.READY)
    assert it.asked("get", "-o", "jsonpath={.status.phase}") == "Bound"


async def test_broken_image_is_reported_by_deployment_and_pod(
    watcher: Watching, client: Client, namespace: str
) -> None:
    manifest = deployment("broken", replicas=1, image="registry.local/nonexistent:1")
    manifest["spec"]["progressDeadlineSeconds"] = 2
    it = watcher(DEPLOYMENTS)
    await it.create(manifest)

    stuck = await it.until(ReadinessState.NOT_READY, "0 of 1 replicas ready, no progress for 2 s")
    assert stuck.reason == "ProgressDeadlineExceeded"
    assert "exceeded its progress deadline" in it.asked("rollout", "status", "--watch=false")

    (pod,) = await client.list(PODS, namespace)
    # Items of a list do not say their kind; who caches them adds it.
    verdict = evaluate_readiness({**pod, "apiVersion": "v1", "kind": "Pod"})
    assert verdict.message == 'container "main" is waiting: ImagePullBackOff'
