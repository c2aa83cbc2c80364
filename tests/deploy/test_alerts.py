"""Every alert fires when due and not before, and links to its runbook."""

import re
from pathlib import Path
from typing import Any, Final

import pytest

from deploy.manifests import ROOT
from deploy.promtool import missing, promtool, rules

NODE: Final = 'lynqnode="acme-web", namespace="shop"'
HUB: Final = 'hub="tenants", namespace="shop"'
PASS: Final = "lynqnode_reconcile_duration_seconds"
ROW: Final = "lynq_row_to_ready_seconds"

# Per alert: the minutes after which it is due, and its input series.
CASES: Final[dict[str, tuple[int, dict[str, str]]]] = {
    "LynqNodeDegraded": (5, {f'lynqnode_degraded_status{{{NODE}, reason="X"}}': "1x90"}),
    "LynqNodeResourcesFailed": (5, {f"lynqnode_resources_failed{{{NODE}}}": "1x90"}),
    "LynqNodeNotReady": (15, {f'lynqnode_condition_status{{{NODE}, type="Ready"}}': "0x90"}),
    "LynqNodeStatusUnknown": (10, {f'lynqnode_condition_status{{{NODE}, type="Ready"}}': "2x90"}),
    "LynqNodeResourcesMismatch": (
        15,
        {
            f"lynqnode_resources_ready{{{NODE}}}": "1x90",
            f"lynqnode_resources_desired{{{NODE}}}": "2x90",
        },
    ),
    "LynqNodeResourcesConflicted": (10, {f"lynqnode_resources_conflicted{{{NODE}}}": "1x90"}),
    "LynqNodeHighConflictRate": (11, {f"lynqnode_conflicts_total{{{NODE}}}": "0+60x90"}),
    "LynqNodeNewConflictsDetected": (3, {f"lynqnode_conflicts_total{{{NODE}}}": "0+1x90"}),
    "HubManyNodesFailure": (5, {f"hub_failed{{{HUB}}}": "6x90"}),
    "HubNodesFailure": (10, {f"hub_failed{{{HUB}}}": "1x90"}),
    "HubDesiredCountMismatch": (
        20,
        {f"hub_desired{{{HUB}}}": "3x90", f"hub_ready{{{HUB}}}": "2x90"},
    ),
    "LynqSourceDown": (5, {f"lynq_source_up{{{HUB}}}": "0x90"}),
    "LynqDeletionHeld": (1, {f"lynq_deletion_held{{{HUB}}}": "12x90"}),
    "LynqPushLost": (10, {f"lynq_push_connected{{{HUB}}}": "0x90"}),
    "LynqInstallationKeyMissing": (2, {"lynq_installation_key_loaded": "0x90"}),
    "LynqNodeReconciliationErrors": (11, {f'{PASS}_count{{result="error"}}': "0+60x90"}),
    "LynqNodeReconciliationSlow": (
        16,
        {
            f'{PASS}_bucket{{result="success", le="30.0"}}': "0+1x90",
            f'{PASS}_bucket{{result="success", le="60.0"}}': "0+9x90",
            f'{PASS}_bucket{{result="success", le="+Inf"}}': "0+9x90",
        },
    ),
    "HighApplyFailureRate": (
        11,
        {
            'apply_attempts_total{kind="Deployment", result="error"}': "0+60x90",
            'apply_attempts_total{kind="Deployment", result="success"}': "0+140x90",
        },
    ),
    "LynqRowToReadySlow": (
        16,
        {f'{ROW}_bucket{{le="30"}}': "0+9x90", f"{ROW}_count": "0+10x90"},
    ),
}

# Values of a healthy fleet: no alert may fire.
HEALTHY: Final = {
    f'lynqnode_degraded_status{{{NODE}, reason="X"}}': "0x90",
    f"lynqnode_resources_failed{{{NODE}}}": "0x90",
    f"lynqnode_resources_conflicted{{{NODE}}}": "0x90",
    f'lynqnode_condition_status{{{NODE}, type="Ready"}}': "1x90",
    f"lynqnode_resources_ready{{{NODE}}}": "2x90",
    f"lynqnode_resources_desired{{{NODE}}}": "2x90",
    f"lynqnode_conflicts_total{{{NODE}}}": "5x90",
    f"hub_desired{{{HUB}}}": "3x90",
    f"hub_ready{{{HUB}}}": "3x90",
    f"hub_failed{{{HUB}}}": "0x90",
    f"lynq_source_up{{{HUB}}}": "1x90",
    f"lynq_deletion_held{{{HUB}}}": "0x90",
    f"lynq_push_connected{{{HUB}}}": "1x90",
    "lynq_installation_key_loaded": "1x90",
    f'{PASS}_count{{result="error"}}': "0x90",
    f'{PASS}_bucket{{result="success", le="30.0"}}': "0+9x90",
    f'{PASS}_bucket{{result="success", le="+Inf"}}': "0+9x90",
    'apply_attempts_total{kind="Deployment", result="error"}': "0x90",
    'apply_attempts_total{kind="Deployment", result="success"}': "0+9x90",
    # One rejected object in an otherwise healthy fleet.
    'apply_attempts_total{kind="ConfigMap", result="error"}': "0+2x90",
    f'{ROW}_bucket{{le="30.0"}}': "0+10x90",
    f"{ROW}_count": "0+10x90",
}

GO_ALERTS: Final = {
    "critical": {
        "LynqNodeDegraded": "5m",
        "LynqNodeResourcesFailed": "5m",
        "LynqNodeNotReady": "15m",
        "LynqNodeStatusUnknown": "10m",
        "HubManyNodesFailure": "5m",
    },
    "warning": {
        "LynqNodeResourcesMismatch": "15m",
        "LynqNodeResourcesConflicted": "10m",
        "LynqNodeHighConflictRate": "10m",
        "HubNodesFailure": "10m",
        "HubDesiredCountMismatch": "20m",
        "LynqNodeReconciliationErrors": "10m",
        "LynqNodeReconciliationSlow": "15m",
        "HighApplyFailureRate": "10m",
    },
    "info": {"LynqNodeNewConflictsDetected": "2m"},
}


def firing_test(alert: str, minute: int, series: dict[str, str], *, is_due: bool) -> dict[str, Any]:
    """Return a promtool test that checks at a minute whether an alert fires."""
    return {
        "interval": "1m",
        "input_series": [{"series": name, "values": values} for name, values in series.items()],
        "promql_expr_test": [
            {
                "expr": f'count(ALERTS{{alertname="{alert}", alertstate="firing"}}) or vector(0)',
                "eval_time": f"{minute}m",
                "exp_samples": [{"labels": "{}", "value": int(is_due)}],
            }
        ],
    }


def test_alerts_of_go_operator_exist() -> None:
    existing = {rule["alert"]: (rule["labels"]["severity"], rule["for"]) for rule in rules()}
    expected = {
        alert: (severity, duration)
        for severity, alerts in GO_ALERTS.items()
        for alert, duration in alerts.items()
    }
    assert existing.items() >= expected.items()
    assert len(expected) == 14
    assert existing.keys() == CASES.keys()


@pytest.mark.parametrize("alert", CASES)
def test_alert_fires_when_due_and_not_before(alert: str, tmp_path: Path) -> None:
    minute, series = CASES[alert]
    tests = [
        firing_test(alert, minute - 1, series, is_due=False),
        firing_test(alert, minute + 2, series, is_due=True),
    ]
    assert promtool(tmp_path, {"tests": tests}) == ""


def test_no_alert_fires_when_healthy(tmp_path: Path) -> None:
    tests = [firing_test(alert, 80, HEALTHY, is_due=False) for alert in CASES]
    assert promtool(tmp_path, {"tests": tests}) == ""


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: str(rule["alert"]))
def test_alert_links_to_its_runbook(rule: dict[str, Any]) -> None:
    page, _, anchor = rule["annotations"]["runbook_url"].partition("#")
    headings = re.findall(r"^#+ (.*)$", (ROOT / page).read_text(), re.MULTILINE)
    assert anchor == rule["alert"].lower()
    assert rule["alert"] in headings


def test_missing_metric_is_detected(tmp_path: Path) -> None:
    complaints = missing(tmp_path, f"hub_desired{{{HUB}}} 1\nhub_ready{{{HUB}}} 1\n")
    assert "lynq_source_up" in complaints
    assert "lynqnode_condition_status{type=" in complaints
    assert "count(hub_desired)" not in complaints
