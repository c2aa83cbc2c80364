"""The values of the chart: its schema rejects wrong ones and accepts those of the Go chart."""

import json
import re
from typing import Any

import pytest
import yaml

from deploy.manifests import CHART, InvalidValuesError, chart, manager, names, one, rendered

SCHEMA = json.loads((CHART / "values.schema.json").read_text())
VALUES = yaml.safe_load((CHART / "values.yaml").read_text())


def paths(schema: Any, start: str = "") -> set[str]:
    properties = schema.get("properties", {})
    return {f"{start}{name}" for name in properties}.union(
        *(paths(value, f"{start}{name}.") for name, value in properties.items())
    )


def keys(values: Any, schema: Any, start: str = "") -> set[str]:
    """Return the paths of values as deep as the schema defines properties."""
    properties = schema.get("properties")
    if not properties or not isinstance(values, dict):
        return set()
    return {f"{start}{name}" for name in values}.union(
        *(
            keys(value, properties.get(name, {}), f"{start}{name}.")
            for name, value in values.items()
        )
    )


GO_SELECTORS = {
    "networkPolicy.metrics.namespaceSelector",
    "networkPolicy.metrics.podSelector",
    "networkPolicy.webhook.namespaceSelector",
    "networkPolicy.webhook.podSelector",
}


def test_schema_covers_exactly_the_values() -> None:
    assert keys(VALUES, SCHEMA) == paths(SCHEMA) - {"global"} - GO_SELECTORS


@pytest.mark.parametrize(
    "wrong",
    [
        {"replicas": 3},
        {"replicaCount": "3"},
        {"image": {"pullPolicy": "Sometimes"}},
        {"manager": {"metricsBindAddress": "8443"}},
        {"manager": {"logLevel": "loud"}},
        {"manager": {"watchNamespaces": "shop"}},
        {"manager": {"watchNamespaces": ["Shop"]}},
        {"webhook": {"port": 70000}},
        {"webhook": {"certificate": {"duration": "90 days"}}},
        {"certManager": {"install": True}},
        {"podDisruptionBudget": {"maxUnavailable": 0}},
        {"podDisruptionBudget": {"maxUnavailable": "0%"}},
        {"image": {"digest": "latest"}},
        {"flowControl": {"lendablePercent": 120}},
        {"networkPolicy": {"enabled": "yes"}},
        {"crds": {"keeep": True}},
        {"dashboard": {"auth": "kubeconfig"}},
        {"dashboard": {"trustedProxies": ["proxy.example"]}},
    ],
    ids=str,
)
def test_wrong_value_is_rejected(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidValuesError, match=next(iter(wrong))):
        rendered(wrong)


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        (
            {"monitoring": {"enabled": True}, "manager": {"metricsBindAddress": "0"}},
            "monitoring.enabled is true, but manager.metricsBindAddress",
        ),
        (
            {
                "networkPolicy": {"enabled": True},
                "manager": {"metricsBindAddress": "0"},
                "webhook": {"enabled": False},
            },
            "networkPolicy.enabled is true, but both the metrics and the webhooks are disabled",
        ),
        (
            {"webhook": {"certificate": {"issuerName": "corp"}}},
            "webhook.certificate.issuerName is corp, but cert-manager is not used",
        ),
        (
            {"webhook": {"port": 8443}},
            "manager.metricsBindAddress and webhook.port have the same port 8443",
        ),
        (
            {"manager": {"healthProbeBindAddress": "127.0.0.1:8443"}},
            "manager.healthProbeBindAddress and manager.metricsBindAddress have the same port 8443",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_values_that_do_not_work_together_are_rejected(
    values: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(InvalidValuesError, match=re.escape(sentence)):
        chart(values)


def test_disabled_endpoints_share_the_address_0() -> None:
    off = {"healthProbeBindAddress": "0", "metricsBindAddress": "0"}
    assert chart({"manager": off})


def test_selectors_of_the_go_chart_are_network_peers() -> None:
    selectors = {"namespaceSelector": {"matchLabels": {"name": "monitoring"}}, "podSelector": {}}
    policy = {"enabled": True, "metrics": {"from": [], **selectors}, "webhook": {"from": []}}
    objects = chart({"networkPolicy": policy})
    metrics = one(objects, "NetworkPolicy", "lynq-allow-metrics-traffic")["spec"]["ingress"][0]
    assert metrics["from"] == [selectors]


def go_values() -> dict[str, Any]:
    """Return the values of the Go operator's chart; keys that are new here are absent.

    `helm upgrade --reuse-values` renders a chart with exactly the values of the release before. A
    null removes a default.
    """
    values: dict[str, Any] = {
        "multiTenant": None,
        "podDisruptionBudget": None,
        "flowControl": None,
        "image": {"digest": None},
        "rbac": {"create": True, "userRoles": None},
        "certManager": {"enabled": True, "install": False},
        "manager": dict.fromkeys(("metricsSecure", "watchNamespaces")),
        "monitoring": dict.fromkeys(("alerts", "dashboard", "dashboardLabels")),
        "networkPolicy": {
            "enabled": False,
            "metrics": {"from": None, "namespaceSelector": {}, "podSelector": {}},
            "webhook": {"from": None, "namespaceSelector": {}},
        },
        "dashboard": {
            "enabled": False,
            "replicaCount": 1,
            "image": {"repository": "k8s-lynq/lynq-dashboard", "tag": ""},
            "serviceAccount": {"create": True},
            "rbac": {"create": True},
            "service": {"port": 80, "targetPort": 8080},
            "ingress": {"enabled": False},
            "resources": {"limits": {"cpu": "200m", "memory": "256Mi"}},
        },
    }
    return values


def test_reused_image_of_the_go_operator_is_rejected() -> None:
    reused = {"registry": "images.example.com", "repository": "k8s-lynq/lynq", "tag": ""}
    with pytest.raises(InvalidValuesError, match=r"image.*k8s-lynq/lynq.*Go operator"):
        chart(go_values() | {"image": reused})


@pytest.mark.parametrize(
    "image",
    [
        {"registry": "ghcr.io", "repository": "k8s-lynq/lynq"},
        {"registry": "mirror.example.com/ghcr.io", "repository": "k8s-lynq/lynq-operator"},
        {"registry": "mirror.example.com/k8s-lynq", "repository": "lynq"},
        {"repository": "k8s-lynq/lynq", "digest": f"sha256:{'a' * 64}"},
    ],
    ids=str,
)
def test_mirrored_image_of_the_go_operator_is_rejected(image: dict[str, str]) -> None:
    with pytest.raises(InvalidValuesError, match="is the image of the Go operator"):
        chart({"image": image})


@pytest.mark.parametrize("image", [{}, {"registry": "registry.example.com", "tag": "1.0"}], ids=str)
def test_chart_without_an_image_is_not_rendered(image: dict[str, str]) -> None:
    """A default would be a name that others can own."""
    message = r"image\.repository is not set.*make image.*image\.registry and image\.repository"
    with pytest.raises(InvalidValuesError, match=message):
        chart({"image": {"repository": "", **image}})
    assert VALUES["image"]["repository"] == ""


@pytest.mark.parametrize("extra", [{}, {"networkPolicy": True}, {"monitoring": True}])
def test_reused_values_of_the_go_chart_are_accepted(extra: dict[str, bool]) -> None:
    values = go_values()
    for name, enabled in extra.items():
        values[name]["enabled"] = enabled
    objects = chart(values)
    arguments = manager(objects)["args"]
    assert not [argument for argument in arguments if argument.startswith("--metrics-secure")]
    assert names(objects, "Certificate") == ["lynq-serving-cert"]


@pytest.mark.parametrize("file", sorted(path.name for path in CHART.glob("values*.yaml")))
def test_values_files_are_accepted(file: str) -> None:
    values = yaml.safe_load((CHART / file).read_text())
    image = {**values.get("image", {}), "repository": "platform/lynq-operator"}
    assert chart({**values, "image": image})


def test_production_values_survive_a_drain_and_limit_traffic() -> None:
    objects = chart(yaml.safe_load((CHART / "values-prod.yaml").read_text()))
    assert one(objects, "Deployment")["spec"]["replicas"] == 2
    assert one(objects, "PodDisruptionBudget")["spec"]["maxUnavailable"] == 1
    assert len(names(objects, "NetworkPolicy")) == 2
    assert names(objects, "PriorityLevelConfiguration") == ["lynq-controller-manager"]
