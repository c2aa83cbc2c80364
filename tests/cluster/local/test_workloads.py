"""Workloads in a local cluster behave like in any other."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from operated.manifests import Manifest, claim, daemon_set, deployment, job, stateful_set
from waiting import eventually

Kubectl = Callable[..., str]


class Workbench:
    """Kubectl in the namespace of one test."""

    def __init__(self, kubectl: Kubectl, namespace: str, folder: Path) -> None:
        self._kubectl = kubectl
        self.namespace = namespace
        self._file = folder / "manifest.json"

    def __call__(self, *command: str) -> str:
        return self._kubectl(f"--namespace={self.namespace}", *command)

    def apply(self, manifest: Manifest) -> None:
        self._file.write_text(json.dumps(manifest))
        answer = self("apply", "-f", str(self._file))
        assert "created" in answer, answer

    def wait(self, target: str, condition: str) -> None:
        answer = self("wait", target, f"--for={condition}", "--timeout=60s")
        assert "condition met" in answer, answer

    def get(self, *target: str) -> Any:
        return json.loads(self("get", *target, "-o", "json"))


@pytest.fixture
def bench(kubectl: Kubectl, namespace: str, tmp_path: Path) -> Workbench:
    return Workbench(kubectl, namespace, tmp_path)


@pytest.mark.parametrize(
    ("manifest", "target", "condition"),
    [
        (deployment("web"), "deployment/web", "condition=Available"),
        (stateful_set("db"), "statefulset/db", "jsonpath={.status.readyReplicas}=2"),
        (daemon_set("agent"), "daemonset/agent", "jsonpath={.status.numberAvailable}=2"),
        (job("once"), "job/once", "condition=Complete"),
        (job("bad", job="fail"), "job/bad", "condition=Failed"),
        (claim("data"), "pvc/data", "jsonpath={.status.phase}=Bound"),
    ],
    ids=lambda value: value if isinstance(value, str) and "/" in value else "",
)
def test_workload_becomes_ready_or_completes(
    bench: Workbench, manifest: Manifest, target: str, condition: str
) -> None:
    bench.apply(manifest)
    bench.wait(target, condition)


@pytest.mark.parametrize("image", ["registry.local/nonexistent:1", "invalid"])
async def test_invalid_image_never_becomes_ready(bench: Workbench, image: str) -> None:
    bench.apply(deployment("broken", replicas=1, image=image))

    def reasons() -> list[str]:
        return [
            status["state"]["waiting"]["reason"]
            for pod in bench.get("pods")["items"]
            for status in pod["status"].get("containerStatuses", [])
        ]

    await eventually(lambda: reasons() == ["ImagePullBackOff"])
    assert bench.get("deployment/broken")["status"].get("availableReplicas", 0) == 0


def test_readiness_can_be_delayed(bench: Workbench) -> None:
    annotations = {"local.lynq.sh/ready-after": "2s"}
    bench.apply(deployment("slow", replicas=1, annotations=annotations))
    bench.wait("deployment/slow", "condition=Available")
    (pod,) = bench.get("pods")["items"]
    conditions = {
        condition["type"]: condition["lastTransitionTime"]
        for condition in pod["status"]["conditions"]
    }
    assert conditions["Ready"] > conditions["PodScheduled"]


async def test_volume_is_deleted_with_its_claim(bench: Workbench) -> None:
    bench.apply(claim("data"))
    bench.wait("pvc/data", "jsonpath={.status.phase}=Bound")
    volume = bench.get("pvc/data")["spec"]["volumeName"]
    bench("delete", "pvc/data")
    await eventually(lambda: "NotFound" in bench("get", "pv", volume))


async def test_dependents_of_a_deployment_are_garbage_collected(bench: Workbench) -> None:
    bench.apply(deployment("web"))
    bench.wait("deployment/web", "condition=Available")
    bench("delete", "deployment/web")
    await eventually(lambda: not bench.get("replicasets,pods")["items"])


async def test_service_account_has_a_token_without_permissions(bench: Workbench) -> None:
    bench("create", "serviceaccount", "guest")
    token = bench("create", "token", "guest").strip()
    assert token.count(".") == 2
    account = f"system:serviceaccount:{bench.namespace}:guest"
    can_list = partial(bench, "auth", "can-i", "list", "pods", f"--as={account}")
    assert "no" in can_list()
    bench("create", "rolebinding", "guest", "--clusterrole=view", f"--user={account}")
    await eventually(lambda: "yes" in can_list())
