"""The dashboard of the chart: a Deployment with few rights of its own."""

import pytest

from deploy.manifests import NOT_SET, InvalidValuesError, Object, chart, kustomized, names, one


def test_dashboard_is_off_by_default() -> None:
    assert names(chart(), "Deployment") == ["lynq-controller-manager"]


def test_dashboard_may_only_list_and_watch_the_three_kinds() -> None:
    objects = chart({"dashboard": {"enabled": True}})
    role = one(objects, "ClusterRole", "lynq-dashboard-role")
    assert role["rules"] == [
        {
            "apiGroups": ["operator.lynq.sh"],
            "resources": ["lynqhubs", "lynqforms", "lynqnodes"],
            "verbs": ["list", "watch"],
        }
    ]
    assert "lynq-dashboard-impersonation-role" not in names(objects, "ClusterRole")
    bindings = [obj for obj in objects if obj["kind"].endswith("Binding")]
    subjects = [
        binding["metadata"]["name"]
        for binding in bindings
        if binding["subjects"][0]["name"] == "lynq-dashboard"
    ]
    assert subjects == ["lynq-dashboard-rolebinding"]


def test_dashboard_pods_are_not_selected_by_the_services_of_the_operator() -> None:
    objects = chart({"dashboard": {"enabled": True}})
    deployment = one(objects, "Deployment", "lynq-dashboard")
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    service = one(objects, "Service", "lynq-dashboard")
    assert service["spec"]["selector"].items() <= labels.items()
    for name in names(objects, "Service"):
        if name != "lynq-dashboard":
            selector = one(objects, "Service", name)["spec"]["selector"]
            assert not selector.items() <= labels.items()


def test_proxy_mode_adds_impersonation_and_needs_addresses() -> None:
    values = {"enabled": True, "auth": "proxy", "trustedProxies": ["10.0.0.0/8"]}
    docs = "https://docs.example.com/lynq"
    objects = chart({"dashboard": {**values, "allowActions": True, "docsUrl": docs}})
    rules = one(objects, "ClusterRole", "lynq-dashboard-impersonation-role")["rules"]
    assert rules[0]["verbs"] == ["impersonate"]
    container = one(objects, "Deployment", "lynq-dashboard")["spec"]["template"]["spec"][
        "containers"
    ][0]
    assert {
        "--auth=proxy",
        "--trusted-proxies=10.0.0.0/8",
        "--allow-actions",
        f"--docs-url={docs}",
    } <= {*container["args"]}
    with pytest.raises(InvalidValuesError, match="trustedProxies is empty"):
        chart({"dashboard": {"enabled": True, "auth": "proxy"}})


def test_watched_namespace_limits_the_dashboard_to_a_role() -> None:
    watched = {"manager": {"watchNamespaces": ["shop"]}, "dashboard": {"enabled": True}}
    objects = chart(watched)
    assert one(objects, "Role", "lynq-dashboard-role")["metadata"]["namespace"] == "shop"
    assert "lynq-dashboard-role" not in names(objects, "ClusterRole")
    with pytest.raises(InvalidValuesError, match="one namespace, or all"):
        chart({**watched, "manager": {"watchNamespaces": ["shop", "bank"]}})


def test_kustomize_and_chart_install_the_same_dashboard() -> None:
    def container(objects: list[Object], name: str) -> Object:
        spec = one(objects, "Deployment", name)["spec"]["template"]["spec"]
        first: Object = spec["containers"][0]
        return {key: first[key] for key in first if key not in ("args", "imagePullPolicy")}

    ours, charts = (
        kustomized("dashboard"),
        chart({"dashboard": {"enabled": True}, "image": {"repository": NOT_SET}}),
    )
    assert container(ours, "dashboard") == container(charts, "lynq-dashboard")
    rules = one(charts, "ClusterRole", "lynq-dashboard-role")["rules"]
    assert one(ours, "ClusterRole")["rules"] == rules
    ports = one(charts, "Service", "lynq-dashboard")["spec"]["ports"]
    assert one(ours, "Service")["spec"]["ports"] == ports
