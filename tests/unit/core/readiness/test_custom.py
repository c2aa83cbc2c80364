"""Readiness of custom kinds, also of those that share their kind with a built-in one."""

from typing import Any

import pytest

from lynq.core.readiness.rules import evaluate_readiness
from lynq.core.readiness.verdict import Readiness
from unit.core.readiness.objects import READY, Object, condition, failed, new_object, not_ready


def certificate(*conditions: Object, generation: int = 2, **status: Any) -> Object:
    return new_object(
        "cert-manager.io/v1",
        "Certificate",
        generation=generation,
        conditions=list(conditions),
        **status,
    )


BEHIND = not_ready("GenerationNotObserved", "latest generation is not observed yet")
IS_READY = condition("Ready", "True")
ISSUING = condition("Ready", "False", "Issuing", "waiting for the order")


@pytest.mark.parametrize(
    ("obj", "verdict"),
    [
        pytest.param(certificate(), READY, id="no conditions"),
        pytest.param(
            new_object("example.com/v1", "Thing"), READY, id="no conditions in the status"
        ),
        pytest.param(certificate(IS_READY), READY, id="ready"),
        pytest.param(
            certificate(ISSUING),
            not_ready("Issuing", "Ready is False: waiting for the order"),
            id="not ready, with the reason of the controller",
        ),
        pytest.param(
            certificate(condition("Ready", "Unknown")),
            not_ready("NotReady", "Ready is Unknown"),
            id="unknown",
        ),
        pytest.param(
            certificate({"type": "Ready"}),
            not_ready("NotReady", "Ready is Unknown"),
            id="without status",
        ),
        pytest.param(certificate(IS_READY, observedGeneration=2), READY, id="observed"),
        pytest.param(certificate(IS_READY, observedGeneration=1), BEHIND, id="not observed yet"),
        pytest.param(certificate(observedGeneration=1), BEHIND, id="not observed, no conditions"),
        pytest.param(certificate(IS_READY, observedGeneration=0), BEHIND, id="never observed"),
        pytest.param(
            certificate(IS_READY | {"observedGeneration": 2}),
            READY,
            id="condition of this generation",
        ),
        pytest.param(
            certificate(IS_READY | {"observedGeneration": 1}),
            not_ready("GenerationNotObserved", "condition Ready is of an earlier generation"),
            id="condition of an earlier generation",
        ),
        pytest.param(
            certificate(condition("Stalled", "True", "InvalidURL", "no such host"), IS_READY),
            failed("InvalidURL", "stalled: no such host"),
            id="stalled",
        ),
        pytest.param(
            certificate(
                condition("Stalled", "True", observedGeneration=1),
                IS_READY | {"observedGeneration": 2},
            ),
            READY,
            id="stalled in an earlier generation",
        ),
        pytest.param(certificate(condition("Stalled", "False"), IS_READY), READY, id="not stalled"),
        pytest.param(
            certificate(IS_READY, condition("Reconciling", "True", "Progressing", "step 2 of 3")),
            not_ready("Progressing", "reconciling: step 2 of 3"),
            id="reconciling",
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
            id="Ready takes precedence over Available",
        ),
        pytest.param(
            certificate(condition("Accepted", "True"), condition("Programmed", "True")),
            not_ready(
                "ConditionMissing",
                "no condition Ready or Available yet; if this kind never has one,"
                " set waitForReady: false (conditions: Accepted, Programmed)",
            ),
            id="neither Ready nor Available",
        ),
        pytest.param(certificate(IS_READY, ISSUING), READY, id="duplicate type: first counts"),
    ],
)
def test_custom_kind_follows_kstatus(obj: Object, verdict: Readiness) -> None:
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
def test_kind_of_another_group_is_custom(api_version: str, kind: str) -> None:
    assert evaluate_readiness(new_object(api_version, kind, conditions=[IS_READY])) == READY
    verdict = evaluate_readiness(new_object(api_version, kind, conditions=[ISSUING]))
    assert verdict == not_ready("Issuing", "Ready is False: waiting for the order")


@pytest.mark.parametrize("api_version", ["apps/v1", "apps/v1beta2", "", None])
def test_rule_is_independent_of_version(
    api_version: str | None,
) -> None:
    obj = new_object(
        "apps/v1", "Deployment", updatedReplicas=1, readyReplicas=1, availableReplicas=0
    )
    obj["apiVersion"] = api_version
    assert evaluate_readiness(obj) == not_ready("ReplicasNotReady", "0 of 1 replicas available")


@pytest.mark.parametrize("kind", ["ConfigMap", "Deployment", "Certificate"])
def test_object_being_deleted_is_not_ready(kind: str) -> None:
    obj = new_object("", kind, conditions=[IS_READY])
    obj["metadata"]["deletionTimestamp"] = "2026-01-01T12:00:00Z"
    assert evaluate_readiness(obj) == not_ready("Deleting", "object is being deleted")


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("two\nlines\tand a tab", "Ready is False: two lines and a tab"),
        ("red \x1b[31mtext\x00 \u202eback", r"Ready is False: red \x1b[31mtext\x00 \u202eback"),
        ("x" * 300, f"Ready is False: {'x' * 283}…"),
        ("x " * 40_000, f"Ready is False: {'x ' * 141}x…"),
    ],
    ids=["lines", "control characters", "long", "very long"],
)
def test_foreign_message_is_one_line_of_300_characters(written: str, shown: str) -> None:
    verdict = evaluate_readiness(certificate(condition("Ready", "False", message=written)))
    assert verdict.message == shown
    assert len(verdict.message) <= 300


@pytest.mark.parametrize("reason", ["", "not a word", "password=hunter2", "X" * 101, "1st", "Ä"])
def test_foreign_reason_must_be_one_word(reason: str) -> None:
    assert evaluate_readiness(certificate(condition("Ready", "False", reason))).reason == "NotReady"
