"""Deployment, StatefulSet, DaemonSet, ReplicaSet: ready by counting."""

from typing import Any

import pytest

from lynq.core.readiness.rules import evaluate_readiness
from lynq.core.readiness.verdict import Readiness
from unit.core.readiness.objects import READY, Object, condition, make, not_ready

BEHIND = not_ready("GenerationNotObserved", "the newest generation is not observed yet")


def counting(message: str) -> Readiness:
    return not_ready("ReplicasNotReady", message)


def replicated(kind: str, wanted: int | None, spec: Object | None, status: Object) -> Object:
    full = {**({} if wanted is None else {"replicas": wanted}), **(spec or {})}
    return make("apps/v1", kind, spec=full, generation=2, **{"observedGeneration": 2, **status})


def deployment(
    wanted: int | None = 3,
    *,
    counts: tuple[int, int, int] = (0, 0, 0),
    spec: Object | None = None,
    **status: Any,
) -> Object:
    names = ("updatedReplicas", "readyReplicas", "availableReplicas")
    return replicated(
        "Deployment", wanted, spec, {**dict(zip(names, counts, strict=True)), **status}
    )


def stateful_set(
    wanted: int | None = 3,
    *,
    counts: tuple[int, int, int] = (0, 0, 0),
    spec: Object | None = None,
    **status: Any,
) -> Object:
    names = ("updatedReplicas", "readyReplicas", "currentReplicas")
    return replicated(
        "StatefulSet", wanted, spec, {**dict(zip(names, counts, strict=True)), **status}
    )


def daemon_set(wanted: int, *counts: int, spec: Object | None = None, **status: Any) -> Object:
    names = (
        "currentNumberScheduled",
        "updatedNumberScheduled",
        "numberReady",
        "numberAvailable",
    )
    counted = dict(zip(names, counts, strict=True))
    return replicated(
        "DaemonSet", None, spec, {"desiredNumberScheduled": wanted, **counted, **status}
    )


def replica_set(wanted: int | None, *counts: int, **status: Any) -> Object:
    names = ("replicas", "readyReplicas", "availableReplicas")
    return replicated(
        "ReplicaSet", wanted, None, {**dict(zip(names, counts, strict=True)), **status}
    )


FULL = (3, 3, 3)
LATE = condition(
    "Progressing", "False", "ProgressDeadlineExceeded", 'ReplicaSet "it-1" has timed out.'
)
REFUSED = condition("ReplicaFailure", "True", "FailedCreate", 'pods "it-1" is forbidden:\n quota')


@pytest.mark.parametrize(
    ("obj", "verdict"),
    [
        pytest.param(deployment(counts=FULL), READY, id="all updated, ready, available"),
        pytest.param(deployment(None, counts=(1, 1, 1)), READY, id="one is the default"),
        pytest.param(
            deployment(None, counts=(0, 0, 0)),
            counting("0 of 1 replicas updated"),
            id="and one is wanted by default",
        ),
        pytest.param(deployment(counts=FULL, observedGeneration=1), BEHIND, id="not observed yet"),
        pytest.param(deployment(counts=FULL, observedGeneration=None), BEHIND, id="never observed"),
        pytest.param(
            deployment(counts=(1, 3, 3)), counting("1 of 3 replicas updated"), id="rolling out"
        ),
        pytest.param(
            deployment(counts=(3, 2, 2)), counting("2 of 3 replicas ready"), id="starting"
        ),
        pytest.param(
            deployment(counts=(3, 3, 2)), counting("2 of 3 replicas available"), id="settling"
        ),
        pytest.param(
            deployment(counts=(3, 4, 4)),
            counting("replicas ready: 4, wanted: 3, the rest has yet to go"),
            id="a surge is not ready: the counts are strict",
        ),
        pytest.param(
            deployment(counts=FULL, replicas=4),
            counting("replicas present: 4, wanted: 3, the rest has yet to go"),
            id="an old one is still there, and counts in place of a new one",
        ),
        pytest.param(deployment(counts=FULL, replicas=3), READY, id="no old one is left"),
        pytest.param(deployment(0), READY, id="scaled to zero, none left"),
        pytest.param(
            deployment(0, replicas=2),
            counting("replicas present: 2, wanted: 0, the rest has yet to go"),
            id="scaled to zero, two left that are not even ready",
        ),
        pytest.param(
            deployment(0, observedGeneration=1), BEHIND, id="scaled to zero, not observed yet"
        ),
        pytest.param(
            deployment(counts=(3, 1, 1), conditions=[LATE]),
            not_ready(
                "ProgressDeadlineExceeded", "1 of 3 replicas ready, and no progress for 600 s"
            ),
            id="no progress is told, and is not failed: it goes on trying",
        ),
        pytest.param(
            deployment(counts=(3, 1, 1), spec={"progressDeadlineSeconds": 60}, conditions=[LATE]),
            not_ready(
                "ProgressDeadlineExceeded", "1 of 3 replicas ready, and no progress for 60 s"
            ),
            id="no progress, with a deadline of its own",
        ),
        pytest.param(
            deployment(counts=FULL, conditions=[LATE]), READY, id="late, but there in the end"
        ),
        pytest.param(
            deployment(conditions=[REFUSED, LATE]),
            not_ready("FailedCreate", '0 of 3 replicas updated: pods "it-1" is forbidden: quota'),
            id="pods are refused",
        ),
        pytest.param(
            deployment(counts=(1, 3, 3), spec={"paused": True}),
            not_ready("Paused", "1 of 3 replicas updated: the rollout is paused (spec.paused)"),
            id="paused in the middle",
        ),
        pytest.param(
            deployment(counts=FULL, spec={"paused": True}), READY, id="paused with nothing to do"
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
            stateful_set(counts=(1, 3, 2)), counting("1 of 3 replicas updated"), id="rolling out"
        ),
        pytest.param(
            stateful_set(counts=(3, 2, 3)), counting("2 of 3 replicas ready"), id="starting"
        ),
        pytest.param(
            stateful_set(counts=(3, 3, 0)),
            counting("0 of 3 replicas at the current revision"),
            id="the roll-out is not closed yet",
        ),
        pytest.param(stateful_set(0), READY, id="scaled to zero"),
        pytest.param(
            stateful_set(0, replicas=1),
            counting("replicas present: 1, wanted: 0, the rest has yet to go"),
            id="scaling to zero",
        ),
        pytest.param(stateful_set(counts=FULL, spec=partition(0)), READY, id="a partition of none"),
        pytest.param(
            stateful_set(counts=(1, 3, 2), spec=partition(2)), READY, id="its part is updated"
        ),
        pytest.param(
            stateful_set(counts=FULL, spec=partition(2)), READY, id="a partition, no new revision"
        ),
        pytest.param(
            stateful_set(counts=(0, 3, 3), spec=partition(2)),
            counting("0 of 1 replicas updated (partition 2)"),
            id="its part is not updated",
        ),
        pytest.param(
            stateful_set(counts=(0, 3, 3), spec=partition(5)), READY, id="nothing is to be updated"
        ),
        pytest.param(
            stateful_set(counts=(1, 2, 2), spec=partition(2)),
            counting("2 of 3 replicas ready"),
            id="a partition, one replica down",
        ),
        pytest.param(
            stateful_set(counts=(0, 3, 3), spec=ON_DELETE), READY, id="a person has yet to delete"
        ),
        pytest.param(
            stateful_set(counts=(3, 3, 0), spec=ON_DELETE), READY, id="a person has deleted all"
        ),
        pytest.param(
            stateful_set(counts=(1, 2, 2), spec=ON_DELETE),
            counting("2 of 3 replicas ready"),
            id="a person has deleted one",
        ),
    ],
)
def test_stateful_set(obj: Object, verdict: Readiness) -> None:
    assert evaluate_readiness(obj) == verdict


@pytest.mark.parametrize(
    ("obj", "verdict"),
    [
        pytest.param(daemon_set(2, 2, 2, 2, 2), READY, id="on every machine"),
        pytest.param(
            daemon_set(2, 2, 2, 2, 2, observedGeneration=1), BEHIND, id="not observed yet"
        ),
        pytest.param(
            daemon_set(2, 1, 1, 1, 1), counting("1 of 2 pods scheduled"), id="a machine without"
        ),
        pytest.param(daemon_set(2, 2, 1, 2, 2), counting("1 of 2 pods updated"), id="rolling out"),
        pytest.param(daemon_set(2, 2, 2, 0, 0), counting("0 of 2 pods ready"), id="starting"),
        pytest.param(daemon_set(2, 2, 2, 2, 1), counting("1 of 2 pods available"), id="settling"),
        pytest.param(daemon_set(0, 0, 0, 0, 0), READY, id="no machine wants one"),
        pytest.param(
            daemon_set(0, 0, 0, 0, 0, numberMisscheduled=2),
            counting("pods present: 2, wanted: 0, the rest has yet to go"),
            id="no machine wants one any more",
        ),
        pytest.param(
            daemon_set(2, 2, 0, 2, 2, spec=ON_DELETE), READY, id="a person has yet to delete"
        ),
    ],
)
def test_daemon_set(obj: Object, verdict: Readiness) -> None:
    assert evaluate_readiness(obj) == verdict


@pytest.mark.parametrize(
    ("obj", "verdict"),
    [
        pytest.param(replica_set(2, 2, 2, 2), READY, id="all there"),
        pytest.param(replica_set(2, 2, 2, 2, observedGeneration=1), BEHIND, id="not observed"),
        pytest.param(replica_set(2, 1, 1, 1), counting("1 of 2 replicas present"), id="scaling"),
        pytest.param(replica_set(2, 2, 1, 1), counting("1 of 2 replicas ready"), id="starting"),
        pytest.param(replica_set(0, 0, 0, 0), READY, id="an old one of a Deployment"),
        pytest.param(
            replica_set(2, 0, 0, 0, conditions=[REFUSED]),
            not_ready("FailedCreate", '0 of 2 replicas present: pods "it-1" is forbidden: quota'),
            id="pods are refused",
        ),
    ],
)
def test_replica_set(obj: Object, verdict: Readiness) -> None:
    assert evaluate_readiness(obj) == verdict
