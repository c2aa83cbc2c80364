"""Readiness is evaluated for any JSON without an exception."""

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lynq.core.readiness.rules import _RULES, evaluate_readiness, reads_body
from lynq.core.readiness.verdict import ReadinessState

_NAMES = (
    "type status reason message name state waiting observedGeneration phase replicas conditions"
    " updatedReplicas readyReplicas availableReplicas currentReplicas desiredNumberScheduled"
    " currentNumberScheduled updatedNumberScheduled numberReady numberAvailable numberMisscheduled"
    " completions succeeded active failed paused progressDeadlineSeconds updateStrategy"
    " rollingUpdate partition rules loadBalancer ingress containerStatuses initContainerStatuses"
    " generation deletionTimestamp annotations autoscaling.alpha.kubernetes.io/conditions"
)
_WORDS = (
    "True False Unknown Ready Available Stalled Reconciling Complete Failed Suspended Progressing"
    " ReplicaFailure ProgressDeadlineExceeded AbleToScale Established NamesAccepted PodScheduled"
    " LoadBalancer OnDelete RollingUpdate Bound Pending Lost Active Running Succeeded"
)
NAMES = _NAMES.split()
WORDS = _WORDS.split()
GROUPS = ["v1", "apps/v1", "batch/v1", "autoscaling/v1", "example.com/v1", "", "/", "a/b/c"]
KINDS = sorted({kind for _, kind in _RULES} | {"Certificate"})

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-1, 3),
    st.integers(),
    st.floats(),
    st.text(max_size=8),
    st.sampled_from(WORDS),
    st.sampled_from(['[{"type": "AbleToScale", "status": "True"}]', "x\n" * 200]),
)
anything = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(NAMES), inner, max_size=6)
    ),
    max_leaves=12,
)
parts = st.one_of(anything, st.dictionaries(st.sampled_from(NAMES), anything, max_size=8))

conditions = st.lists(
    st.one_of(
        anything,
        st.fixed_dictionaries(
            {"type": st.sampled_from(WORDS), "status": st.sampled_from(["True", "False", "?"])},
            optional={
                "reason": scalars,
                "message": scalars,
                "observedGeneration": st.integers(0, 3),
            },
        ),
    ),
    max_size=4,
)
counts = st.dictionaries(st.sampled_from(NAMES), st.one_of(st.integers(0, 2), scalars), max_size=9)


def likely() -> st.SearchStrategy[dict[str, Any]]:
    """Draw objects that often have the right fields with nearly the right values."""
    status = st.builds(lambda left, right: {**left, "conditions": right}, counts, conditions)
    return st.fixed_dictionaries(
        {"apiVersion": st.sampled_from(GROUPS), "kind": st.sampled_from(KINDS)},
        optional={
            "metadata": st.one_of(parts, counts),
            "spec": st.one_of(parts, counts),
            "status": st.one_of(parts, status),
        },
    )


objects = st.one_of(likely(), st.dictionaries(st.text(max_size=4), anything), anything)


@settings(max_examples=400)
@given(objects)
def test_any_json_gives_bounded_printable_message(obj: Any) -> None:
    readiness = evaluate_readiness(obj)
    assert len(readiness.message) <= 300
    assert readiness.message == " ".join(readiness.message.split())
    assert readiness.message.isprintable()
    assert readiness.reason.isidentifier()
    assert (
        (readiness.state is ReadinessState.READY) == readiness.is_ready == (readiness.message == "")
    )


@settings(max_examples=400)
@given(objects)
def test_evaluation_is_repeatable_and_does_not_modify_object(obj: Any) -> None:
    original = deepcopy(obj)
    readiness = evaluate_readiness(obj)
    assert repr(obj) == repr(original)
    assert evaluate_readiness(original) == readiness


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("broken", [None, [], {}, "text", 7, True, [None], {"conditions": None}])
def test_missing_or_mistyped_parts_do_not_raise(kind: str, broken: Any) -> None:
    for part in ("metadata", "spec", "status"):
        evaluate_readiness({"kind": kind, part: broken})
        evaluate_readiness({"kind": kind, "status": {"conditions": broken, "loadBalancer": broken}})


def test_message_quotes_no_field_of_the_spec() -> None:
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "generation": 3, "managedFields": [{"manager": "x"}]},
        "spec": {"replicas": 2, "template": {"spec": {"containers": [{"env": ["secret"]}]}}},
        "status": {
            "observedGeneration": 3,
            "replicas": 2,
            "updatedReplicas": 2,
            "readyReplicas": 1,
            "unavailableReplicas": 1,
            "conditions": [{"type": "Available", "status": "False", "reason": "No"}],
        },
    }
    assert evaluate_readiness(deployment).message == "1 of 2 replicas ready"


@pytest.mark.parametrize(
    ("api_version", "kind", "needed"),
    [
        ("v1", "Secret", False),
        ("", "ConfigMap", False),
        ("batch/v1", "CronJob", False),
        ("apps/v1", "Deployment", True),
        ("example.com/v1", "Secret", True),
        ("example.com/v1", "Certificate", True),
    ],
)
def test_only_kinds_with_criteria_need_a_body(api_version: str, kind: str, *, needed: bool) -> None:
    assert reads_body(api_version, kind) is needed
