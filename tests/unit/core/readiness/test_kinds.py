"""The other kinds of Kubernetes itself."""

import json
from typing import Any

import pytest

from lynq.core.readiness.rules import evaluate_readiness
from lynq.core.readiness.verdict import Readiness
from unit.core.readiness.objects import READY, Object, condition, failed, make, not_ready


def job(*conditions: Object, spec: Object | None = None, **status: Any) -> Object:
    return make("batch/v1", "Job", spec=spec, conditions=list(conditions), **status)


def pod(phase: str, *conditions: Object, **status: Any) -> Object:
    return make("v1", "Pod", phase=phase, conditions=list(conditions), **status)


def waiting(name: str, reason: str) -> Object:
    return {"name": name, "state": {"waiting": {"reason": reason, "message": "a secret"}}}


@pytest.mark.parametrize(
    "obj",
    [
        make("v1", "ConfigMap"),
        make("v1", "Secret"),
        make("v1", "ServiceAccount"),
        make("batch/v1", "CronJob", lastScheduleTime="never"),
        make(
            "policy/v1",
            "PodDisruptionBudget",
            generation=2,
            observedGeneration=1,
            conditions=[condition("DisruptionAllowed", "False")],
        ),
        make("networking.k8s.io/v1", "NetworkPolicy"),
    ],
    ids=lambda obj: obj["kind"],
)
def test_a_kind_that_is_ready_as_soon_as_it_exists(obj: Object) -> None:
    assert evaluate_readiness(obj) == READY


@pytest.mark.parametrize(
    ("obj", "verdict"),
    [
        pytest.param(job(condition("Complete", "True")), READY, id="complete"),
        pytest.param(job(succeeded=1), READY, id="succeeded, condition still to come"),
        pytest.param(
            job(succeeded=1, spec={"completions": 3}, active=2),
            not_ready("JobNotComplete", "1 of 3 completions, 2 active"),
            id="one of three",
        ),
        pytest.param(
            job(active=1, failed=2),
            not_ready("JobNotComplete", "0 of 1 completions, 1 active, 2 failed"),
            id="trying again",
        ),
        pytest.param(job(), not_ready("JobNotComplete", "0 of 1 completions"), id="not started"),
        pytest.param(
            job(spec={"completions": 0}),
            not_ready("JobNotComplete", "0 of 1 completions"),
            id="nothing to do, not said to be complete yet",
        ),
        pytest.param(
            job(condition("Failed", "True", "BackoffLimitExceeded", "too many\nretries"), failed=7),
            failed("BackoffLimitExceeded", "the Job has failed: too many retries"),
            id="failed",
        ),
        pytest.param(
            job(condition("Failed", "True"), succeeded=1),
            failed("JobFailed", "the Job has failed"),
            id="failed although a pod succeeded",
        ),
        pytest.param(
            job(condition("Failed", "False"), condition("Complete", "False")),
            not_ready("JobNotComplete", "0 of 1 completions"),
            id="conditions that do not hold",
        ),
        pytest.param(
            job(condition("Suspended", "True")),
            not_ready("JobSuspended", "the Job is suspended (spec.suspend)"),
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
            pod("Succeeded", condition("Ready", "False", "PodCompleted")), READY, id="done"
        ),
        pytest.param(pod("Pending"), not_ready("PodNotReady", "pod is Pending"), id="just made"),
        pytest.param(make("v1", "Pod"), not_ready("PodNotReady", "pod is Pending"), id="no phase"),
        pytest.param(
            pod("Pending", condition("PodScheduled", "False", "Unschedulable", "0/2 nodes fit.")),
            not_ready("Unschedulable", "the pod has no machine yet: 0/2 nodes fit."),
            id="no machine",
        ),
        pytest.param(
            pod(
                "Pending",
                condition("Ready", "False"),
                containerStatuses=[{"name": "fine"}, waiting("main", "ImagePullBackOff")],
            ),
            not_ready("ImagePullBackOff", 'container "main" is waiting: ImagePullBackOff'),
            id="a broken image; the message is kept back",
        ),
        pytest.param(
            pod(
                "Pending",
                initContainerStatuses=[waiting("first", "CrashLoopBackOff")],
                containerStatuses=[waiting("main", "PodInitializing")],
            ),
            not_ready("CrashLoopBackOff", 'container "first" is waiting: CrashLoopBackOff'),
            id="an init container is what the others wait for",
        ),
        pytest.param(
            pod("Running", condition("Ready", "False", "ContainersNotReady", "unready: [main]")),
            not_ready("PodNotReady", "pod is Running: unready: [main]"),
            id="running, not ready",
        ),
        pytest.param(
            pod("Failed", condition("Ready", "True"), reason="Evicted", message="low on disk"),
            failed("Evicted", "the pod has failed: low on disk"),
            id="failed",
        ),
        pytest.param(
            pod("Failed"), failed("PodFailed", "the pod has failed"), id="failed without a word"
        ),
    ],
)
def test_pod(obj: Object, verdict: Readiness) -> None:
    assert evaluate_readiness(obj) == verdict


NO_ADDRESS = not_ready("NoAddress", "waiting for a load balancer address")
ADDRESS = {"ingress": [{"ip": "192.0.2.1"}]}


@pytest.mark.parametrize(
    ("obj", "verdict"),
    [
        pytest.param(make("v1", "Service"), READY, id="no type"),
        pytest.param(make("v1", "Service", spec={"type": "NodePort"}), READY, id="NodePort"),
        pytest.param(
            make("v1", "Service", spec={"type": "LoadBalancer"}), NO_ADDRESS, id="no status"
        ),
        pytest.param(
            make("v1", "Service", spec={"type": "LoadBalancer"}, loadBalancer={"ingress": []}),
            NO_ADDRESS,
            id="no address",
        ),
        pytest.param(
            make("v1", "Service", spec={"type": "LoadBalancer"}, loadBalancer=ADDRESS),
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
    obj = make("networking.k8s.io/v1", "Ingress", spec=spec, loadBalancer=balancer)
    assert evaluate_readiness(obj) == verdict


@pytest.mark.parametrize(
    ("phase", "verdict"),
    [
        ("Bound", READY),
        ("Pending", not_ready("ClaimNotBound", "claim is Pending")),
        ("Lost", not_ready("ClaimNotBound", "claim is Lost: its volume is gone")),
        (None, not_ready("ClaimNotBound", "claim is Pending")),
    ],
)
def test_persistent_volume_claim(phase: str | None, verdict: Readiness) -> None:
    assert evaluate_readiness(make("v1", "PersistentVolumeClaim", phase=phase)) == verdict


@pytest.mark.parametrize(
    ("phase", "verdict"),
    [
        ("Active", READY),
        ("Terminating", not_ready("NamespaceNotActive", "namespace is Terminating")),
        (None, not_ready("NamespaceNotActive", "namespace is not Active yet")),
    ],
)
def test_namespace(phase: str | None, verdict: Readiness) -> None:
    assert evaluate_readiness(make("v1", "Namespace", phase=phase)) == verdict


ABLE = condition("AbleToScale", "True", "ReadyForNewScale")
UNABLE = condition("AbleToScale", "False", "FailedGetScale", 'deployments.apps "web" not found')
UNSEEN = not_ready("UnableToScale", "the autoscaler has not looked at its target yet")
MISSING = not_ready(
    "FailedGetScale",
    'the autoscaler cannot scale its target: deployments.apps "web" not found',
)


@pytest.mark.parametrize(
    ("conditions", "verdict"),
    [
        ([ABLE, condition("ScalingActive", "False", "FailedGetResourceMetric")], READY),
        ([UNABLE], MISSING),
        ([condition("ScalingActive", "True")], UNSEEN),
        ([], UNSEEN),
    ],
    ids=["able", "unable", "not said", "not looked yet"],
)
@pytest.mark.parametrize("version", ["v2", "v1"])
def test_horizontal_pod_autoscaler(
    version: str, conditions: list[Object], verdict: Readiness
) -> None:
    obj = make(f"autoscaling/{version}", "HorizontalPodAutoscaler", conditions=conditions)
    if version == "v1":
        del obj["status"]["conditions"]
        key = "autoscaling.alpha.kubernetes.io/conditions"
        obj["metadata"]["annotations"] = {key: json.dumps(conditions)}
    assert evaluate_readiness(obj) == verdict


@pytest.mark.parametrize("text", ["{", "7", "[7]", "null", "[" * 100_000])
def test_an_annotation_that_is_no_conditions_is_none(text: str) -> None:
    obj = make("autoscaling/v1", "HorizontalPodAutoscaler")
    obj["metadata"]["annotations"] = {"autoscaling.alpha.kubernetes.io/conditions": text}
    assert evaluate_readiness(obj) == UNSEEN


@pytest.mark.parametrize(
    ("conditions", "verdict"),
    [
        (
            [condition("NamesAccepted", "True"), condition("Established", "True")],
            READY,
        ),
        (
            [condition("NamesAccepted", "True"), condition("Established", "False", "Installing")],
            not_ready("NotEstablished", "the kind is not served yet"),
        ),
        (
            [condition("NamesAccepted", "False", "KindConflict", '"Shop" is already in use')],
            failed("KindConflict", 'the names of the kind are taken: "Shop" is already in use'),
        ),
        ([], not_ready("NotEstablished", "the kind is not served yet")),
    ],
    ids=["established", "installing", "names taken", "just made"],
)
def test_custom_resource_definition(conditions: list[Object], verdict: Readiness) -> None:
    obj = make("apiextensions.k8s.io/v1", "CustomResourceDefinition", conditions=conditions)
    assert evaluate_readiness(obj) == verdict
