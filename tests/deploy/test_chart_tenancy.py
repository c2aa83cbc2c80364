"""The tenancy profile of the chart: multiTenant."""

from typing import Any

import pytest
from click.testing import CliRunner

from deploy.manifests import Object, chart, kustomized, manager, names, one, rendered
from lynq.cli.run import run

PROFILE = [
    "--require-service-account",
    "--allow-standalone-nodes=false",
    "--allowed-cluster-kinds=Namespace",
    "--deny-source-hosts=127.0.0.0/8,::1,localhost",
    "--denied-namespace-labels=pod-security.kubernetes.io/*,metrics",
]
API_SERVER = {"ipBlock": {"cidr": "10.0.0.1/32"}}


def tenancy_arguments(objects: list[Object]) -> list[str]:
    return [argument for argument in manager(objects)["args"] if argument in PROFILE]


def test_profile_is_off_by_default() -> None:
    assert tenancy_arguments(chart()) == []
    assert names(chart(), "NetworkPolicy") == []


@pytest.mark.parametrize(
    "objects",
    [chart({"multiTenant": True}), kustomized("multi-tenant")],
    ids=["chart", "kustomize"],
)
def test_profile_sets_the_flags_and_the_network_policies(objects: list[Object]) -> None:
    assert tenancy_arguments(objects) == PROFILE
    policies = ["lynq-allow-metrics-traffic", "lynq-allow-webhook-traffic"]
    assert names(objects, "NetworkPolicy") == policies
    for policy in policies:
        metadata = one(objects, "NetworkPolicy", policy)["metadata"]
        assert metadata["namespace"] == "lynq-system"


def test_arguments_of_the_user_win() -> None:
    """They come last: a kind is added by naming the whole list."""
    more = "--allowed-cluster-kinds=Namespace,PriorityClass.scheduling.k8s.io"
    arguments = manager(chart({"multiTenant": True, "manager": {"args": [more]}}))["args"]
    assert arguments[-1] == more
    parsed = run.make_context("run", arguments, resilient_parsing=True).params
    assert parsed["allowed_cluster_kinds"] == more.partition("=")[2]


def test_namespaces_of_forms_get_no_label_that_a_network_policy_selects() -> None:
    selector = {
        "matchLabels": {"team": "ops", "env": "prod"},
        "matchExpressions": [{"key": "tier", "operator": "Exists"}],
    }
    peers: dict[str, Any] = {
        "metrics": {"from": [{"namespaceSelector": selector}]},
        "webhook": {"from": [API_SERVER, {"namespaceSelector": {"matchLabels": {"team": "a"}}}]},
    }
    arguments = manager(chart({"multiTenant": True, "networkPolicy": peers}))["args"]
    denied = "--denied-namespace-labels=pod-security.kubernetes.io/*,env,team,tier"
    assert denied in arguments


def test_only_the_listed_peers_reach_the_webhooks() -> None:
    values = {"multiTenant": True, "networkPolicy": {"webhook": {"from": [API_SERVER]}}}
    policy = one(chart(values), "NetworkPolicy", "lynq-allow-webhook-traffic")["spec"]
    assert policy["policyTypes"] == ["Ingress"]
    (rule,) = policy["ingress"]
    assert rule == {"from": [API_SERVER], "ports": [{"port": 9443, "protocol": "TCP"}]}
    assert policy["podSelector"]["matchLabels"]["control-plane"] == "controller-manager"


def test_only_labelled_namespaces_reach_the_metrics() -> None:
    policy = one(chart({"multiTenant": True}), "NetworkPolicy", "lynq-allow-metrics-traffic")
    (rule,) = policy["spec"]["ingress"]
    assert rule["from"] == [{"namespaceSelector": {"matchLabels": {"metrics": "enabled"}}}]


def test_notes_name_the_peer_that_is_missing() -> None:
    warning = "networkPolicy.webhook.from is empty"
    assert warning in rendered({"multiTenant": True})
    closed = {"multiTenant": True, "networkPolicy": {"webhook": {"from": [API_SERVER]}}}
    assert warning not in rendered(closed)
    assert warning not in rendered()


def test_operator_accepts_the_flags_of_the_profile() -> None:
    # Of a kubeconfig that does not exist, so that it does not start.
    result = CliRunner().invoke(run, [*PROFILE, "--kubeconfig=/not/there"])
    assert "'--kubeconfig'" in result.output
