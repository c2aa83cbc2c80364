"""Kinds that we know nothing about, and kinds that only look like one that we know."""

from typing import Any

import pytest

from lynq.core.readiness.rules import evaluate_readiness
from lynq.core.readiness.verdict import Readiness
from unit.core.readiness.objects import READY, Object, condition, failed, make, not_ready


def certificate(*conditions: Object, generation: int = 2, **status: Any) -> Object:
    return make(
        "cert-manager.io/v1",
        "Certificate",
        generation=generation,
        conditions=list(conditions),
        **status,
    )


BEHIND = not_ready("GenerationNotObserved", "the newest generation is not observed yet")
IS_READY = condition("Ready", "True")
ISSUING = condition("Ready", "False", "Issuing", "waiting for the order")


@pytest.mark.parametrize(
    ("obj", "verdict"),
    [
        pytest.param(certificate(), READY, id="no conditions"),
        pytest.param(make("example.com/v1", "Thing"), READY, id="no conditions in the status"),
        pytest.param(certificate(IS_READY), READY, id="ready"),
        pytest.param(
            certificate(ISSUING),
            not_ready("Issuing", "Ready is False: waiting for the order"),
            id="not ready, in the controller's words",
        ),
        pytest.param(
            certificate(condition("Ready", "Unknown")),
            not_ready("NotReady", "Ready is Unknown"),
            id="not known",
        ),
        pytest.param(
            certificate({"type": "Ready"}), not_ready("NotReady", "Ready is Unknown"), id="not said"
        ),
        pytest.param(certificate(IS_READY, observedGeneration=2), READY, id="observed"),
        pytest.param(certificate(IS_READY, observedGeneration=1), BEHIND, id="not observed yet"),
        pytest.param(certificate(observedGeneration=1), BEHIND, id="not observed, no conditions"),
        pytest.param(certificate(IS_READY, observedGeneration=0), BEHIND, id="never observed"),
        pytest.param(
            certificate(IS_READY | {"observedGeneration": 2}), READY, id="about this generation"
        ),
        pytest.param(
            certificate(IS_READY | {"observedGeneration": 1}),
            not_ready(
                "GenerationNotObserved", "its condition Ready is about an earlier generation"
            ),
            id="about an earlier generation",
        ),
        pytest.param(
            certificate(condition("Stalled", "True", "InvalidURL", "no such host"), IS_READY),
            failed("InvalidURL", "stalled: no such host"),
            id="given up",
        ),
        pytest.param(
            certificate(
                condition("Stalled", "True", observedGeneration=1),
                IS_READY | {"observedGeneration": 2},
            ),
            READY,
            id="gave up on an earlier generation",
        ),
        pytest.param(certificate(condition("Stalled", "False"), IS_READY), READY, id="not stalled"),
        pytest.param(
            certificate(IS_READY, condition("Reconciling", "True", "Progressing", "step 2 of 3")),
            not_ready("Progressing", "its controller is still at work: step 2 of 3"),
            id="at work",
        ),
        pytest.param(certificate(condition("Available", "True")), READY, id="available"),
        pytest.param(
            certificate(condition("Available", "False", "MinimumReplicas")),
            not_ready("MinimumReplicas", "Available is False"),
            id="not available",
        ),
        pytest.param(
            certificate(condition("Available", "True"), ISSUING),
            not_ready("Issuing", "Ready is False: waiting for the order"),
            id="Ready goes before Available",
        ),
        pytest.param(
            certificate(condition("Accepted", "True"), condition("Programmed", "True")),
            not_ready(
                "ConditionMissing",
                "there is no condition Ready or Available yet; if this kind never has one,"
                " set waitForReady: false (conditions: Accepted, Programmed)",
            ),
            id="conditions, but none that says it",
        ),
        pytest.param(certificate(IS_READY, ISSUING), READY, id="doubled: the first counts"),
    ],
)
def test_a_custom_resource_goes_by_convention(obj: Object, verdict: Readiness) -> None:
    assert evaluate_readiness(obj) == verdict


@pytest.mark.parametrize(
    ("api_version", "kind"),
    [
        ("batch.volcano.sh/v1alpha1", "Job"),
        ("serving.knative.dev/v1", "Service"),
        ("example.com/v1", "Secret"),
        ("apps.example.com/v1", "Deployment"),
    ],
)
def test_a_kind_of_another_group_goes_by_its_own_conditions(api_version: str, kind: str) -> None:
    assert evaluate_readiness(make(api_version, kind, conditions=[IS_READY])) == READY
    verdict = evaluate_readiness(make(api_version, kind, conditions=[ISSUING]))
    assert verdict == not_ready("Issuing", "Ready is False: waiting for the order")


@pytest.mark.parametrize("api_version", ["apps/v1", "apps/v1beta2", "", None])
def test_a_version_makes_no_difference_and_without_any_the_kind_decides(
    api_version: str | None,
) -> None:
    obj = make("apps/v1", "Deployment", updatedReplicas=1, readyReplicas=1, availableReplicas=0)
    obj["apiVersion"] = api_version
    assert evaluate_readiness(obj) == not_ready("ReplicasNotReady", "0 of 1 replicas available")


@pytest.mark.parametrize("kind", ["ConfigMap", "Deployment", "Certificate"])
def test_what_is_being_deleted_is_not_ready_whatever_its_status_says(kind: str) -> None:
    obj = make("", kind, conditions=[IS_READY])
    obj["metadata"]["deletionTimestamp"] = "2026-01-01T12:00:00Z"
    assert evaluate_readiness(obj) == not_ready("Deleting", "it is being deleted")


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("two\nlines\tand a tab", "Ready is False: two lines and a tab"),
        ("red \x1b[31mtext\x00 \u202eback", "Ready is False: red [31mtext back"),
        ("x" * 300, f"Ready is False: {'x' * 283}…"),
        ("x " * 40_000, f"Ready is False: {'x ' * 141}x…"),
    ],
    ids=["lines", "control characters", "long", "very long"],
)
def test_what_another_controller_says_is_shown_on_one_line_of_300(written: str, shown: str) -> None:
    verdict = evaluate_readiness(certificate(condition("Ready", "False", message=written)))
    assert verdict.message == shown
    assert len(verdict.message) <= 300


@pytest.mark.parametrize("reason", ["", "not a word", "password=hunter2", "X" * 101, "1st", "Ä"])
def test_a_reason_that_is_no_word_is_not_passed_on(reason: str) -> None:
    assert evaluate_readiness(certificate(condition("Ready", "False", reason))).reason == "NotReady"
