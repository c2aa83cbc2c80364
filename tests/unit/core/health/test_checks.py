"""The checks of `lynq doctor`."""

from copy import deepcopy
from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from lynq.api import HeldDeletions, HubStatus, LynqHub, RejectedRows
from lynq.api.conditions import new_condition
from lynq.api.crds import build
from lynq.api.installation_key import InstallationKey, KeyState, MissingKey
from lynq.api.reasons import ConditionReason, ConditionType
from lynq.core.health.checks import (
    CheckResult,
    KindInUse,
    LeaseFacts,
    Severity,
    check_clock,
    check_crd,
    check_deployments,
    check_hub,
    check_key,
    check_leases,
    check_scale,
    failure,
    key_secret_of,
    kinds_in_use,
    ok,
    warning,
    worst,
)
from unit.core.hub.fixtures import DB, NOON, WEB, Cluster, a_hub, at, planned, rows

CRD = build()[0]


def installed(**parts: Any) -> dict[str, Any]:
    established = {"type": "Established", "status": "True"}
    return deepcopy(CRD) | {"status": {"conditions": [established]}} | parts


def hub_with(*, ready: bool = True, **status: Any) -> LynqHub:
    condition = new_condition(
        ConditionType.READY,
        ConditionReason.DATABASE_CONNECTED,
        "login failed",
        holds=ready,
        generation=1,
        now=NOON,
    )
    return replace(a_hub(), status=HubStatus(conditions=(condition,), **status))


KEY = InstallationKey(b"k" * 32)


@pytest.mark.parametrize(
    ("key", "denied", "was_used", "severity", "text"),
    [
        (KEY, "", True, Severity.OK, "a/b has a key"),
        (KEY, "lynq", True, Severity.FAILURE, "lynq may not get Secret a/b"),
        (MissingKey("too short"), "", False, Severity.FAILURE, "too short: LynqNodes of hubs wait"),
        (None, "", True, Severity.FAILURE, "restore it from a backup"),
        (None, "", False, Severity.WARNING, "the operator creates it"),
    ],
)
def test_key_of_the_installation(
    key: KeyState | None, denied: str, *, was_used: bool, severity: Severity, text: str
) -> None:
    result = check_key("Secret a/b", key, denied=denied, was_used=was_used)
    assert result.severity is severity
    assert text in result.detail


def test_secret_of_the_key_is_named_by_flags() -> None:
    def deployment(*args: str) -> dict[str, Any]:
        return {"spec": {"template": {"spec": {"containers": [{"args": args}, {}]}}}}

    assert key_secret_of([], "ops", "key") == ("ops", "key")
    assert key_secret_of([deployment("run")], "ops", "key") == ("ops", "key")
    named = deployment("--installation-key-secret=my", "--installation-key-namespace=other")
    assert key_secret_of([named], "ops", "key") == ("other", "my")


def test_worst_severity_wins() -> None:
    assert worst([]) is Severity.OK
    assert worst([ok("a", ""), warning("b", "")]) is Severity.WARNING
    assert worst([failure("a", ""), ok("b", "")]) is Severity.FAILURE


def test_installed_crd_is_ok() -> None:
    assert check_crd(CRD, installed()) == ok("crd lynqhubs", "v1 is served")


def test_missing_and_unestablished_crds_fail() -> None:
    assert check_crd(CRD, None).severity is Severity.FAILURE
    assert check_crd(CRD, installed(status={"conditions": None})).severity is Severity.FAILURE
    unserved = installed()
    unserved["spec"]["versions"][0]["served"] = False
    assert check_crd(CRD, unserved).severity is Severity.FAILURE


def test_older_crd_names_its_missing_fields() -> None:
    older = installed()
    schema = older["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    del schema["properties"]["status"]["properties"]["rejectedRows"]
    result = check_crd(CRD, older)
    assert result.severity is Severity.WARNING
    assert "status.rejectedRows, status.rejectedRows.count" in result.detail


@pytest.mark.parametrize(("available", "severity"), [(1, Severity.OK), (0, Severity.FAILURE)])
def test_deployment_needs_an_available_replica(available: int, severity: Severity) -> None:
    pod = {"spec": {"containers": [{"image": "lynq:1"}]}}
    deployment = {
        "metadata": {"name": "lynq", "namespace": "system"},
        "spec": {"template": pod},
        "status": {"availableReplicas": available},
    }
    (result,) = check_deployments([deployment])
    assert result.severity is severity
    assert result.detail.startswith(f"system/lynq: {available} of 1 replicas, lynq:1")


@pytest.mark.parametrize(
    ("image", "problem"),
    [
        ("IMAGE-NOT-SET:0.1.0", "no image is set"),
        ("mirror.example.com/ghcr.io/k8s-lynq/lynq:1.1", "the image of the Go operator"),
    ],
)
def test_image_of_another_operator_or_none_is_a_failure(image: str, problem: str) -> None:
    deployment = {
        "metadata": {"name": "lynq", "namespace": "system"},
        "spec": {"template": {"spec": {"containers": [{"image": image}]}}},
        "status": {"availableReplicas": 1},
    }
    (result,) = check_deployments([deployment])
    assert result.severity is Severity.FAILURE
    assert problem in result.detail


@pytest.mark.parametrize(
    ("holder", "age", "severity"),
    [
        ("lynq-0", 2, Severity.OK),
        ("lynq-0", -2, Severity.OK),
        ("lynq-0", 60, Severity.FAILURE),
        ("", 2, Severity.FAILURE),
    ],
)
def test_lease_must_be_held_and_renewed(holder: str, age: int, severity: Severity) -> None:
    lease = LeaseFacts("lease", "system", holder, at(-age), timedelta(seconds=15))
    (result,) = check_leases([lease], NOON)
    assert result.severity is severity


def test_missing_lease_and_deployment_are_warnings() -> None:
    assert [result.severity for result in check_leases([], NOON)] == [Severity.WARNING]
    assert [result.severity for result in check_deployments([])] == [Severity.WARNING]


def test_clock_says_which_side_is_ahead() -> None:
    assert check_clock(NOON, at(5)).severity is Severity.OK
    assert check_clock(NOON, at(6)).detail == (
        "this machine is 6 s ahead of the API server: check NTP"
    )
    assert "behind" in check_clock(NOON, at(-60)).detail


@pytest.mark.parametrize(
    ("hub", "expected"),
    [
        (hub_with(desired=2, ready=True), Severity.OK),
        (hub_with(ready=False), Severity.FAILURE),
        (hub_with(held_deletions=HeldDeletions(count=3)), Severity.WARNING),
        (hub_with(rejected_rows=RejectedRows(count=3)), Severity.WARNING),
        (a_hub(), Severity.WARNING),
        (a_hub(paused=True), Severity.WARNING),
    ],
)
def test_hub_is_judged_by_its_status(hub: LynqHub, expected: Severity) -> None:
    assert check_hub(hub).severity is expected


def test_kinds_in_use_are_listed_once() -> None:
    assert kinds_in_use([WEB, DB]) == [KindInUse("v1", "ConfigMap", "prod")]


def test_scale_warns_near_the_threshold() -> None:
    cluster = Cluster()
    cluster.apply(planned(cluster, rows("a"), WEB))
    (node,) = cluster.nodes.values()
    assert list(check_scale([node], 1)) == [ok("scale", "1 node in 1 namespace")]
    results: list[CheckResult] = list(check_scale([node] * 8000, 1))
    assert [result.severity for result in results] == [Severity.WARNING] * 2
    assert len(list(check_scale([node] * 8000, 2))) == 1
