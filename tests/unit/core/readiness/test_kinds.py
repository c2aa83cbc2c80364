"""Readiness of built-in kinds other than replicated workloads."""

import json
from typing import Any

import pytest

from lynq.core.readiness.rules import evaluate_readiness
from lynq.core.readiness.verdict import Readiness
from unit.core.readiness.objects import READY, Object, condition, failed, new_object, not_ready


def job(*conditions: Object, spec: Object | None = None, **status: Any) -> Object:
    return new_object("batch/v1", "Job", spec=spec, conditions=list(conditions), **status)


def pod(phase: str, *conditions: Object, **status: Any) -> Object:
    return new_object("v1", "Pod", phase=phase, conditions=list(conditions), **status)


def waiting(name: str, reason: str) -> Object:
    return {"name": name, "state": {"waiting": {"reason": reason, "message": "a secret"}}}


@pytest.mark.parametrize(
    "obj",
    [
        new_object("v1", "ConfigMap"),
        new_object("v1", "Secret"),
        new_object("v1", "ServiceAccount"),
        new_object("batch/v1", "CronJob", lastScheduleTime="never"),
        new_object(
            "policy/v1",
            "PodDisruptionBudget",
            generation=2,
            observedGeneration=1,
            conditions=[condition("DisruptionAllowed", "False")],
        ),
        new_object("networking.k8s.io/v1", "NetworkPolicy"),
    ],
    ids=lambda obj: obj["kind"],
)
def test_kind_is_ready_once_it_exists(obj: Object) -> None:
    assert evaluate_readiness(obj) == READY


@pytest.mark.parametrize(
    ("obj", "verdict"),
    [
        pytest.param(job(condition("Complete", "True")), READY, id="complete"),
        pytest.param(job(succeeded=1), READY, id="succeeded, no condition yet"),
        pytest.param(
            job(succeeded=1, spec={"completions": 3}, active=2),
            not_ready("JobNotComplete", "1 of 3 completions, 2 active"),
            id="one of three",
        ),
        pytest.param(
            job(active=1, failed=2),
            not_ready("JobNotComplete", "0 of 1 completions, 1 active, 2 failed"),
            id="retrying",
        ),
        pytest.param(job(), not_ready("JobNotComplete", "0 of 1 completions"), id="not started"),
        pytest.param(
            job(spec={"completions": 0}),
            not_ready("JobNotComplete", "0 of 1 completions"),
            id="zero completions, no condition yet",
        ),
        pytest.param(
            job(condition("Failed", "True", "BackoffLimitExceeded", "too many\nretries"), failed=7),
            failed("BackoffLimitExceeded", "Job failed: too many retries"),
            id="failed",
        ),
        pytest.param(
            job(condition("Failed", "True"), succeeded=1),
            failed("JobFailed", "Job failed"),
            id="failed with a succeeded pod",
        ),
        pytest.param(
            job(condition("Failed", "False"), condition("Complete", "False")),
            not_ready("JobNotComplete", "0 of 1 completions"),
            id="conditions are False",
        ),
        pytest.param(
            job(condition("Suspended", "True")),
            not_ready("JobSuspended", "Job is suspended (spec.suspend)"),
            id="suspended",
        ),
    ],
)
def test_job(obj: Object, verdict: Readiness) -> None:
    assert evaluate_readiness(obj) == verdict


@pytest.mark.parametrize(
    ("obj", "verdict"),
    [
        pytest.param(pod("Running", condition("Ready", "True")), READY, id="ready"),
        pytest.param(
            pod("Succeeded", condition("Ready", "False", "PodCompleted")), READY, id="succeeded"
        ),
        pytest.param(pod("Pending"), not_ready("PodNotReady", "pod is Pending"), id="just created"),
        pytest.param(
            new_object("v1", "Pod"), not_ready("PodNotReady", "pod is Pending"), id="no phase"
        ),
        pytest.param(
            pod("Pending", condition("PodScheduled", "False", "Unschedulable", "0/2 nodes fit.")),
            not_ready("Unschedulable", "pod is not scheduled yet: 0/2 nodes fit."),
            id="not scheduled",
        ),
        pytest.param(
            pod(
                "Pending",
                condition("Ready", "False"),
                containerStatuses=[{"name": "fine"}, waiting("main", "ImagePullBackOff")],
            ),
            not_ready("ImagePullBackOff", 'container "main" is waiting: ImagePullBackOff'),
            id="image pull fails; message is not shown",
        ),
        pytest.param(
            pod(
                "Pending",
                initContainerStatuses=[waiting("first", "CrashLoopBackOff")],
                containerStatuses=[waiting("main", "PodInitializing")],
            ),
            not_ready("CrashLoopBackOff", 'container "first" is waiting: CrashLoopBackOff'),
            id="init container comes first",
        ),
        pytest.param(
            pod("Running", condition("Ready", "False", "ContainersNotReady", "unready: [main]")),
            not_ready("PodNotReady", "pod is Running: unready: [main]"),
            id="running, not ready",
        ),
        pytest.param(
            pod("Failed", condition("Ready", "True"), reason="Evicted", message="low on disk"),
            failed("Evicted", "pod failed: low on disk"),
            id="failed",
        ),
        pytest.param(pod("Failed"), failed("PodFailed", "pod failed"), id="failed without reason"),
    ],
)
def test_pod(obj: Object, verdict: Readiness) -> None:
    assert evaluate_readiness(obj) == verdict


NO_ADDRESS = not_ready("NoAddress", "waiting for a load balancer address")
ADDRESS = {"ingress": [{"ip": "192.0.2.1"}]}


@pytest.mark.parametrize(
    ("obj", "verdict"),
    [
        pytest.param(new_object("v1", "Service"), READY, id="no type"),
        pytest.param(new_object("v1", "Service", spec={"type": "NodePort"}), READY, id="NodePort"),
        pytest.param(
            new_object("v1", "Service", spec={"type": "LoadBalancer"}), NO_ADDRESS, id="no status"
        ),
        pytest.param(
            new_object(
                "v1", "Service", spec={"type": "LoadBalancer"}, loadBalancer={"ingress": []}
            ),
            NO_ADDRESS,
            id="no address",
        ),
        pytest.param(
            new_object("v1", "Service", spec={"type": "LoadBalancer"}, loadBalancer=ADDRESS),
            READY,
            id="an address",
        ),
    ],
)
def test_service(obj: Object, verdict: Readiness) -> None:
    assert evaluate_readiness(obj) == verdict


@pytest.mark.parametrize(
    ("spec", "balancer", "verdict"),
    [
        ({"rules": [{"host": "a.example"}]}, {}, READY),
        ({"defaultBackend": {}}, ADDRESS, READY),
        ({"defaultBackend": {}}, {}, NO_ADDRESS),
        ({"rules": []}, {"ingress": None}, NO_ADDRESS),
    ],
    ids=["rules", "address", "neither", "both empty"],
)
def test_ingress(spec: Object, balancer: Object, verdict: Readiness) -> None:
    obj = new_object("networking.k8s.io/v1", "Ingress", spec=spec, loadBalancer=balancer)
    assert evaluate_readiness(obj) == verdict


@pytest.mark.parametrize(
    ("phase", "verdict"),
    [
        ("Bound", READY),
        ("Pending", not_ready("ClaimNotBound", "claim is Pending")),
        ("Lost", not_ready("ClaimNotBound", "claim is Lost: its volume no longer exists")),
        (None, not_ready("ClaimNotBound", "claim is Pending")),
    ],
)
def test_persistent_volume_claim(phase: str | None, verdict: Readiness) -> None:
    assert evaluate_readiness(new_object("v1", "PersistentVolumeClaim", phase=phase)) == verdict


@pytest.mark.parametrize(
    ("phase", "verdict"),
    [
        ("Active", READY),
        ("Terminating", not_ready("NamespaceNotActive", "namespace is Terminating")),
        (None, not_ready("NamespaceNotActive", "namespace is not Active yet")),
    ],
)
def test_namespace(phase: str | None, verdict: Readiness) -> None:
    assert evaluate_readiness(new_object("v1", "Namespace", phase=phase)) == verdict


ABLE = condition("AbleToScale", "True", "ReadyForNewScale")
UNABLE = condition("AbleToScale", "False", "FailedGetScale", 'deployments.apps "web" not found')
NOT_REPORTED = not_ready("UnableToScale", "autoscaler has not reported AbleToScale yet")
MISSING = not_ready(
    "FailedGetScale",
    'autoscaler cannot scale its target: deployments.apps "web" not found',
)


@pytest.mark.parametrize(
    ("conditions", "verdict"),
    [
        ([ABLE, condition("ScalingActive", "False", "FailedGetResourceMetric")], READY),
        ([UNABLE], MISSING),
        ([condition("ScalingActive", "True")], NOT_REPORTED),
        ([], NOT_REPORTED),
    ],
    ids=["able", "unable", "other condition", "no condition"],
)
@pytest.mark.parametrize("version", ["v2", "v1"])
def test_horizontal_pod_autoscaler(
    version: str, conditions: list[Object], verdict: Readiness
) -> None:
    obj = new_object(f"autoscaling/{version}", "HorizontalPodAutoscaler", conditions=conditions)
    if version == "v1":
        del obj["status"]["conditions"]
        key = "autoscaling.alpha.kubernetes.io/conditions"
        obj["metadata"]["annotations"] = {key: json.dumps(conditions)}
    assert evaluate_readiness(obj) == verdict


@pytest.mark.parametrize("text", ["{", "7", "[7]", "null", "[" * 100_000])
def test_malformed_conditions_annotation_is_ignored(text: str) -> None:
    obj = new_object("autoscaling/v1", "HorizontalPodAutoscaler")
    obj["metadata"]["annotations"] = {"autoscaling.alpha.kubernetes.io/conditions": text}
    assert evaluate_readiness(obj) == NOT_REPORTED


@pytest.mark.parametrize(
    ("conditions", "verdict"),
    [
        (
            [condition("NamesAccepted", "True"), condition("Established", "True")],
            READY,
        ),
        (
            [condition("NamesAccepted", "True"), condition("Established", "False", "Installing")],
            not_ready("NotEstablished", "kind is not served yet"),
        ),
        (
            [condition("NamesAccepted", "False", "KindConflict", '"Shop" is already in use')],
            failed("KindConflict", 'names of the kind are not accepted: "Shop" is already in use'),
        ),
        ([], not_ready("NotEstablished", "kind is not served yet")),
    ],
    ids=["established", "installing", "names taken", "just created"],
)
def test_custom_resource_definition(conditions: list[Object], verdict: Readiness) -> None:
    obj = new_object("apiextensions.k8s.io/v1", "CustomResourceDefinition", conditions=conditions)
    assert evaluate_readiness(obj) == verdict
