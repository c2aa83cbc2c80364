"""Readiness of Deployment, StatefulSet, DaemonSet and ReplicaSet by their replica counters."""

from typing import Any

import pytest

from lynq.core.readiness.rules import evaluate_readiness
from lynq.core.readiness.verdict import Readiness
from unit.core.readiness.objects import READY, Object, condition, new_object, not_ready

BEHIND = not_ready("GenerationNotObserved", "latest generation is not observed yet")


def replicas_not_ready(message: str) -> Readiness:
    return not_ready("ReplicasNotReady", message)


def replicated(kind: str, desired: int | None, spec: Object | None, status: Object) -> Object:
    full = {**({} if desired is None else {"replicas": desired}), **(spec or {})}
    return new_object(
        "apps/v1", kind, spec=full, generation=2, **{"observedGeneration": 2, **status}
    )


def deployment(
    desired: int | None = 3,
    *,
    counts: tuple[int, int, int] = (0, 0, 0),
    spec: Object | None = None,
    **status: Any,
) -> Object:
    names = ("updatedReplicas", "readyReplicas", "availableReplicas")
    return replicated(
        "Deployment", desired, spec, {**dict(zip(names, counts, strict=True)), **status}
    )


def stateful_set(
    desired: int | None = 3,
    *,
    counts: tuple[int, int, int] = (0, 0, 0),
    spec: Object | None = None,
    **status: Any,
) -> Object:
    names = ("updatedReplicas", "readyReplicas", "currentReplicas")
    return replicated(
        "StatefulSet", desired, spec, {**dict(zip(names, counts, strict=True)), **status}
    )


def daemon_set(desired: int, *counts: int, spec: Object | None = None, **status: Any) -> Object:
    names = (
        "currentNumberScheduled",
        "updatedNumberScheduled",
        "numberReady",
        "numberAvailable",
    )
    counted = dict(zip(names, counts, strict=True))
    return replicated(
        "DaemonSet", None, spec, {"desiredNumberScheduled": desired, **counted, **status}
    )


def replica_set(desired: int | None, *counts: int, **status: Any) -> Object:
    names = ("replicas", "readyReplicas", "availableReplicas")
    return replicated(
        "ReplicaSet", desired, None, {**dict(zip(names, counts, strict=True)), **status}
    )


FULL = (3, 3, 3)
LATE = condition(
    "Progressing", "False", "ProgressDeadlineExceeded", 'ReplicaSet "it-1" has timed out.'
)
FORBIDDEN = condition("ReplicaFailure", "True", "FailedCreate", 'pods "it-1" is forbidden:\n quota')


@pytest.mark.parametrize(
    ("obj", "verdict"),
    [
        pytest.param(deployment(counts=FULL), READY, id="all updated, ready, available"),
        pytest.param(deployment(None, counts=(1, 1, 1)), READY, id="default of one replica"),
        pytest.param(
            deployment(None, counts=(0, 0, 0)),
            replicas_not_ready("0 of 1 replicas updated"),
            id="one is desired by default",
        ),
        pytest.param(deployment(counts=FULL, observedGeneration=1), BEHIND, id="not observed yet"),
        pytest.param(deployment(counts=FULL, observedGeneration=None), BEHIND, id="never observed"),
        pytest.param(
            deployment(counts=(1, 3, 3)),
            replicas_not_ready("1 of 3 replicas updated"),
            id="rolling out",
        ),
        pytest.param(
            deployment(counts=(3, 2, 2)), replicas_not_ready("2 of 3 replicas ready"), id="starting"
        ),
        pytest.param(
            deployment(counts=(3, 3, 2)),
            replicas_not_ready("2 of 3 replicas available"),
            id="becoming available",
        ),
        pytest.param(
            deployment(counts=(3, 4, 4)),
            replicas_not_ready("4 replicas ready, 3 desired: waiting for the rest to terminate"),
            id="surge: more ready than desired",
        ),
        pytest.param(
            deployment(counts=FULL, replicas=4),
            replicas_not_ready("4 replicas present, 3 desired: waiting for the rest to terminate"),
            id="old replica still exists",
        ),
        pytest.param(deployment(counts=FULL, replicas=3), READY, id="no old replica left"),
        pytest.param(deployment(0), READY, id="scaled to zero, none left"),
        pytest.param(
            deployment(0, replicas=2),
            replicas_not_ready("2 replicas present, 0 desired: waiting for the rest to terminate"),
            id="scaled to zero, two unready left",
        ),
        pytest.param(
            deployment(0, observedGeneration=1), BEHIND, id="scaled to zero, not observed yet"
        ),
        pytest.param(
            deployment(counts=(3, 1, 1), conditions=[LATE]),
            not_ready("ProgressDeadlineExceeded", "1 of 3 replicas ready, no progress for 600 s"),
            id="no progress is not a failure",
        ),
        pytest.param(
            deployment(counts=(3, 1, 1), spec={"progressDeadlineSeconds": 60}, conditions=[LATE]),
            not_ready("ProgressDeadlineExceeded", "1 of 3 replicas ready, no progress for 60 s"),
            id="no progress within progressDeadlineSeconds",
        ),
        pytest.param(deployment(counts=FULL, conditions=[LATE]), READY, id="ready after deadline"),
        pytest.param(
            deployment(conditions=[FORBIDDEN, LATE]),
            not_ready("FailedCreate", '0 of 3 replicas updated: pods "it-1" is forbidden: quota'),
            id="pods are forbidden",
        ),
        pytest.param(
            deployment(counts=(1, 3, 3), spec={"paused": True}),
            not_ready("Paused", "1 of 3 replicas updated: rollout is paused (spec.paused)"),
            id="paused during rollout",
        ),
        pytest.param(
            deployment(counts=FULL, spec={"paused": True}), READY, id="paused after rollout"
        ),
    ],
)
def test_deployment(obj: Object, verdict: Readiness) -> None:
    assert evaluate_readiness(obj) == verdict


def partition(number: int) -> Object:
    return {"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": number}}}


ON_DELETE: Object = {"updateStrategy": {"type": "OnDelete"}}


@pytest.mark.parametrize(
    ("obj", "verdict"),
    [
        pytest.param(stateful_set(counts=FULL), READY, id="all updated, ready, current"),
        pytest.param(stateful_set(counts=FULL, observedGeneration=1), BEHIND, id="not observed"),
        pytest.param(
            stateful_set(counts=(1, 3, 2)),
            replicas_not_ready("1 of 3 replicas updated"),
            id="rolling out",
        ),
        pytest.param(
            stateful_set(counts=(3, 2, 3)),
            replicas_not_ready("2 of 3 replicas ready"),
            id="starting",
        ),
        pytest.param(
            stateful_set(counts=(3, 3, 0)),
            replicas_not_ready("0 of 3 replicas at the current revision"),
            id="current revision not advanced yet",
        ),
        pytest.param(stateful_set(0), READY, id="scaled to zero"),
        pytest.param(
            stateful_set(0, replicas=1),
            replicas_not_ready("1 replicas present, 0 desired: waiting for the rest to terminate"),
            id="scaling to zero",
        ),
        pytest.param(stateful_set(counts=FULL, spec=partition(0)), READY, id="partition 0"),
        pytest.param(
            stateful_set(counts=(1, 3, 2), spec=partition(2)), READY, id="partition updated"
        ),
        pytest.param(
            stateful_set(counts=FULL, spec=partition(2)), READY, id="partition without new revision"
        ),
        pytest.param(
            stateful_set(counts=(0, 3, 3), spec=partition(2)),
            replicas_not_ready("0 of 1 replicas updated (partition 2)"),
            id="partition not updated",
        ),
        pytest.param(
            stateful_set(counts=(0, 3, 3), spec=partition(5)), READY, id="partition above replicas"
        ),
        pytest.param(
            stateful_set(counts=(1, 2, 2), spec=partition(2)),
            replicas_not_ready("2 of 3 replicas ready"),
            id="partition, one replica not ready",
        ),
        pytest.param(
            stateful_set(counts=(0, 3, 3), spec=ON_DELETE), READY, id="OnDelete, none deleted yet"
        ),
        pytest.param(
            stateful_set(counts=(3, 3, 0), spec=ON_DELETE), READY, id="OnDelete, all deleted"
        ),
        pytest.param(
            stateful_set(counts=(1, 2, 2), spec=ON_DELETE),
            replicas_not_ready("2 of 3 replicas ready"),
            id="OnDelete, one deleted",
        ),
    ],
)
def test_stateful_set(obj: Object, verdict: Readiness) -> None:
    assert evaluate_readiness(obj) == verdict


@pytest.mark.parametrize(
    ("obj", "verdict"),
    [
        pytest.param(daemon_set(2, 2, 2, 2, 2), READY, id="on every eligible node"),
        pytest.param(
            daemon_set(2, 2, 2, 2, 2, observedGeneration=1), BEHIND, id="not observed yet"
        ),
        pytest.param(
            daemon_set(2, 1, 1, 1, 1),
            replicas_not_ready("1 of 2 pods scheduled"),
            id="one node without a pod",
        ),
        pytest.param(
            daemon_set(2, 2, 1, 2, 2), replicas_not_ready("1 of 2 pods updated"), id="rolling out"
        ),
        pytest.param(
            daemon_set(2, 2, 2, 0, 0), replicas_not_ready("0 of 2 pods ready"), id="starting"
        ),
        pytest.param(
            daemon_set(2, 2, 2, 2, 1),
            replicas_not_ready("1 of 2 pods available"),
            id="becoming available",
        ),
        pytest.param(daemon_set(0, 0, 0, 0, 0), READY, id="no eligible node"),
        pytest.param(
            daemon_set(0, 0, 0, 0, 0, numberMisscheduled=2),
            replicas_not_ready("2 pods present, 0 desired: waiting for the rest to terminate"),
            id="no eligible node any more",
        ),
        pytest.param(
            daemon_set(2, 2, 0, 2, 2, spec=ON_DELETE), READY, id="OnDelete, none deleted yet"
        ),
    ],
)
def test_daemon_set(obj: Object, verdict: Readiness) -> None:
    assert evaluate_readiness(obj) == verdict


@pytest.mark.parametrize(
    ("obj", "verdict"),
    [
        pytest.param(replica_set(2, 2, 2, 2), READY, id="all present"),
        pytest.param(replica_set(2, 2, 2, 2, observedGeneration=1), BEHIND, id="not observed"),
        pytest.param(
            replica_set(2, 1, 1, 1), replicas_not_ready("1 of 2 replicas present"), id="scaling"
        ),
        pytest.param(
            replica_set(2, 2, 1, 1), replicas_not_ready("1 of 2 replicas ready"), id="starting"
        ),
        pytest.param(replica_set(0, 0, 0, 0), READY, id="old ReplicaSet of a Deployment"),
        pytest.param(
            replica_set(2, 0, 0, 0, conditions=[FORBIDDEN]),
            not_ready("FailedCreate", '0 of 2 replicas present: pods "it-1" is forbidden: quota'),
            id="pods are forbidden",
        ),
    ],
)
def test_replica_set(obj: Object, verdict: Readiness) -> None:
    assert evaluate_readiness(obj) == verdict
