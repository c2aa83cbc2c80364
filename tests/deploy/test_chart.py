"""The chart rendered by Helm's engine: values take effect."""

import json

import pytest
import yaml

from deploy.manifests import (
    CHART,
    InvalidValuesError,
    Object,
    chart,
    image,
    manager,
    names,
    one,
    rendered,
)


def pod(objects: list[Object]) -> Object:
    spec: Object = one(objects, "Deployment")["spec"]["template"]["spec"]
    return spec


def test_default_values_need_no_third_party_apis() -> None:
    groups = {obj["apiVersion"].rpartition("/")[0] for obj in chart()}
    assert groups == {
        "",
        "apps",
        "apiextensions.k8s.io",
        "admissionregistration.k8s.io",
        "policy",
        "rbac.authorization.k8s.io",
    }
    assert "cert-manager is not needed" in rendered()


def test_namespace_is_created_unless_it_is_the_release_namespace() -> None:
    assert names(chart(namespace="default"), "Namespace") == ["lynq-system"]
    assert names(chart(namespace="lynq-system"), "Namespace") == []
    assert names(chart({"namespace": {"create": False}}, namespace="default"), "Namespace") == []
    elsewhere = chart({"namespace": {"name": "tools"}}, namespace="default")
    placed = {obj["metadata"].get("namespace", "tools") for obj in elsewhere}
    assert placed == {"tools"}
    own = chart({"namespace": {"name": ""}}, namespace="mine")
    assert one(own, "Deployment")["metadata"]["namespace"] == "mine"


def test_image_and_pod_follow_values() -> None:
    objects = chart(
        {
            "replicaCount": 3,
            "image": {"registry": "images.example.com", "repository": "x/y", "tag": "7"},
            "imagePullSecrets": [{"name": "pull"}],
            "podAnnotations": {"a": "1"},
            "podLabels": {"b": "2"},
            "podSecurityContext": {"fsGroup": 5},
            "securityContext": {"runAsUser": 5},
            "resources": {"limits": {"memory": "1Gi"}},
            "livenessProbe": {"timeoutSeconds": 7},
            "readinessProbe": {"timeoutSeconds": 8},
            "nodeSelector": {"disk": "ssd"},
            "tolerations": [{"operator": "Exists"}],
            "affinity": {"nodeAffinity": {}},
        }
    )
    spec = one(objects, "Deployment")["spec"]
    container = manager(objects)
    assert spec["replicas"] == 3
    assert container["image"] == "images.example.com/x/y:7"
    assert spec["template"]["metadata"]["annotations"]["a"] == "1"
    assert spec["template"]["metadata"]["labels"]["b"] == "2"
    assert pod(objects)["imagePullSecrets"] == [{"name": "pull"}]
    assert pod(objects)["securityContext"]["fsGroup"] == 5
    assert container["securityContext"]["runAsUser"] == 5
    assert container["resources"]["limits"]["memory"] == "1Gi"
    assert container["livenessProbe"]["timeoutSeconds"] == 7
    assert container["readinessProbe"]["timeoutSeconds"] == 8
    assert pod(objects)["nodeSelector"] == {"disk": "ssd"}
    assert pod(objects)["tolerations"] == [{"operator": "Exists"}]
    assert pod(objects)["affinity"] == {"nodeAffinity": {}}


def test_image_is_that_of_this_version() -> None:
    assert manager(chart())["image"] == image()
    mirrored = manager(chart({"image": {"registry": "registry.example.com:5000"}}))
    assert mirrored["image"] == f"registry.example.com:5000/{image()}"
    digest = f"sha256:{'a' * 64}"
    assert manager(chart({"image": {"digest": digest}}))["image"] == f"{image()}@{digest}"


def test_manager_values_become_arguments() -> None:
    values = {
        "manager": {
            "leaderElection": False,
            "healthProbeBindAddress": ":9081",
            "metricsBindAddress": ":9443",
            "metricsSecure": False,
            "logLevel": "debug",
            "args": ["--node-concurrency=20"],
            "env": [{"name": "TZ", "value": "UTC"}],
            "volumes": [{"name": "rows", "emptyDir": {}}],
            "volumeMounts": [{"name": "rows", "mountPath": "/rows"}],
        },
        "webhook": {"port": 9444},
    }
    objects = chart(values)
    container = manager(objects)
    assert container["args"] == [
        "--metrics-bind-address=:9443",
        "--health-probe-bind-address=:9081",
        "--scratch-dir=/tmp/lynq",
        "--metrics-secure=false",
        "--zap-log-level=debug",
        "--webhook-port=9444",
        "--node-concurrency=20",
    ]
    assert container["env"] == [{"name": "TZ", "value": "UTC"}]
    assert {"name": "rows", "mountPath": "/rows"} in container["volumeMounts"]
    assert {"name": "rows", "emptyDir": {}} in pod(objects)["volumes"]
    assert [port["containerPort"] for port in container["ports"]] == [9443, 9444, 9081]
    metrics = one(objects, "Service", "lynq-controller-manager-metrics-service")
    assert metrics["spec"]["ports"][0]["targetPort"] == 9443
    assert "lynq-leader-election-role" not in names(objects, "Role")
    assert "lynq-metrics-auth-role" not in names(objects, "ClusterRole")


def test_two_replicas_without_leader_election_are_rejected() -> None:
    alone = {"manager": {"leaderElection": False}}
    with pytest.raises(InvalidValuesError, match=r"replicaCount is 2.*manager\.leaderElection"):
        chart({**alone, "replicaCount": 2})
    for few in (0, 1):
        assert one(chart({**alone, "replicaCount": few}), "Deployment")["spec"]["replicas"] == few


def test_deployment_without_leader_election_uses_recreate_strategy() -> None:
    alone = chart({"manager": {"leaderElection": False}})
    assert one(alone, "Deployment")["spec"]["strategy"] == {"type": "Recreate"}
    assert one(chart(), "Deployment")["spec"]["strategy"]["type"] == "RollingUpdate"


@pytest.mark.parametrize(
    ("address", "port"), [(":8081", 8081), (":9081", 9081), ("[::]:9082", 9082)]
)
def test_probes_use_health_port(address: str, port: int) -> None:
    container = manager(chart({"manager": {"healthProbeBindAddress": address}}))
    named = {port["name"]: port["containerPort"] for port in container["ports"]}
    assert named["health"] == port
    for probe in ("livenessProbe", "readinessProbe"):
        assert container[probe]["httpGet"]["port"] == "health"


def test_probes_are_omitted_when_health_endpoint_is_disabled() -> None:
    container = manager(chart({"manager": {"healthProbeBindAddress": "0"}}))
    assert "--health-probe-bind-address=0" in container["args"]
    assert not {"livenessProbe", "readinessProbe"} & container.keys()
    assert "health" not in [port["name"] for port in container["ports"]]


def test_metrics_can_be_disabled() -> None:
    objects = chart({"manager": {"metricsBindAddress": "0"}})
    assert names(objects, "Service") == ["lynq-webhook-service"]
    assert not [name for name in names(objects, "ClusterRole") if "metrics" in name]


def test_services_follow_values() -> None:
    objects = chart(
        {
            "service": {
                "type": "NodePort",
                "metricsPort": 443,
                "metricsPortName": "metrics",
                "annotations": {"a": "1"},
            },
            "webhook": {"serviceType": "LoadBalancer", "serviceAnnotations": {"b": "2"}},
        }
    )
    metrics = one(objects, "Service", "lynq-controller-manager-metrics-service")
    assert metrics["spec"]["type"] == "NodePort"
    assert metrics["spec"]["ports"] == [
        {"name": "metrics", "port": 443, "protocol": "TCP", "targetPort": 8443}
    ]
    assert metrics["metadata"]["annotations"] == {"a": "1"}
    webhook = one(objects, "Service", "lynq-webhook-service")
    assert webhook["spec"]["type"] == "LoadBalancer"
    assert webhook["metadata"]["annotations"] == {"b": "2"}


def test_existing_service_account_is_used() -> None:
    objects = chart({"serviceAccount": {"create": False, "name": "mine"}})
    assert names(objects, "ServiceAccount") == []
    assert pod(objects)["serviceAccountName"] == "mine"
    bindings = [obj for obj in objects if obj["kind"].endswith("Binding")]
    assert {binding["subjects"][0]["name"] for binding in bindings} == {"mine"}
    objects_with_account = chart(
        {"serviceAccount": {"annotations": {"a": "1"}, "automount": False, "name": "x"}}
    )
    account = one(objects_with_account, "ServiceAccount")
    assert account["metadata"]["name"] == "x"
    assert account["metadata"]["annotations"] == {"a": "1"}
    assert account["automountServiceAccountToken"] is False


def test_release_name_is_used_in_names_and_arguments() -> None:
    objects = chart(release="second")
    assert one(objects, "Deployment")["metadata"]["name"] == "second-lynq-controller-manager"
    assert "--webhook-service-name=second-lynq-webhook-service" in manager(objects)["args"]
    assert "--webhook-configuration-prefix=second-lynq-" in manager(objects)["args"]
    configured = one(objects, "MutatingWebhookConfiguration")
    assert configured["metadata"]["name"] == "second-lynq-mutating-webhook-configuration"
    service = configured["webhooks"][0]["clientConfig"]["service"]
    assert service["name"] == "second-lynq-webhook-service"
    role = one(objects, "Role", "second-lynq-webhook-role")
    assert role["rules"][1]["resourceNames"] == ["second-lynq-webhook-server-cert"]
    assert role["rules"][2]["resourceNames"] == ["second-lynq-webhook-service"]
    assert "--installation-key-secret=second-lynq-installation-key" in manager(objects)["args"]
    role = one(objects, "Role", "second-lynq-installation-key-role")
    assert role["rules"][1]["resourceNames"] == ["second-lynq-installation-key"]
    assert chart({"fullnameOverride": "x"})[-1]["metadata"]["name"].startswith("x-")
    named = one(chart({"nameOverride": "other"}), "Deployment")
    assert named["spec"]["selector"]["matchLabels"]["app.kubernetes.io/name"] == "other"


def test_rbac_objects_can_be_disabled() -> None:
    objects = chart({"rbac": {"create": False}})
    assert not [obj for obj in objects if obj["apiVersion"].startswith("rbac.")]
    few = names(chart({"rbac": {"userRoles": False}}), "ClusterRole")
    assert not [name for name in few if name.endswith(("admin-role", "editor-role", "viewer-role"))]


def test_watched_namespaces_get_roles_and_no_cluster_roles() -> None:
    objects = chart(
        {
            "manager": {"watchNamespaces": ["shop", "bank"], "metricsSecure": False},
            "webhook": {"enabled": False},
            "rbac": {"userRoles": False},
        }
    )
    assert names(objects, "ClusterRole", "ClusterRoleBinding") == []
    roles = [obj for obj in objects if obj["metadata"]["name"] == "lynq-manager-role"]
    assert [role["metadata"]["namespace"] for role in roles] == ["shop", "bank"]
    assert "--watch-namespaces=shop,bank" in manager(objects)["args"]
    assert "--enable-webhooks=false" in manager(objects)["args"]


def test_notes_explain_rights_for_other_kinds() -> None:
    label = "lynq.sh/aggregate-to-manager"
    assert label in rendered()
    narrow = rendered({"manager": {"watchNamespaces": ["shop", "bank"]}, "fullnameOverride": "x"})
    # Without a ClusterRole, the aggregation label has no effect.
    assert label not in narrow
    account = "ServiceAccount x-controller-manager of namespace lynq-system"
    assert f"a Role and a RoleBinding for {account}" in narrow
    assert "in each of shop, bank" in narrow
    without = rendered({"rbac": {"create": False}})
    assert label not in without


def test_crds_are_kept_on_uninstall_by_default() -> None:
    kept = one(chart(), "CustomResourceDefinition", "lynqhubs.operator.lynq.sh")
    assert kept["metadata"]["annotations"] == {"helm.sh/resource-policy": "keep"}
    objects = chart({"crds": {"keep": False, "annotations": {"a": "1"}}})
    going = one(objects, "CustomResourceDefinition", "lynqhubs.operator.lynq.sh")
    assert going["metadata"]["annotations"] == {"a": "1"}
    assert names(chart({"crds": {"install": False}}), "CustomResourceDefinition") == []


def test_cert_manager_issues_certificate_when_enabled() -> None:
    objects = chart({"certManager": {"enabled": True}})
    certificate = one(objects, "Certificate")
    assert certificate["spec"]["issuerRef"] == {"kind": "Issuer", "name": "lynq-selfsigned-issuer"}
    assert (certificate["spec"]["duration"], certificate["spec"]["renewBefore"]) == (
        "2160h",
        "360h",
    )
    assert one(objects, "Issuer")["metadata"]["name"] == "lynq-selfsigned-issuer"
    volume = pod(objects)["volumes"][1]["secret"]["secretName"]
    assert volume == certificate["spec"]["secretName"]
    assert "--webhook-cert-path=/tmp/k8s-webhook-server/serving-certs" in manager(objects)["args"]
    for kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"):
        annotations = one(objects, kind)["metadata"]["annotations"]
        assert annotations == {"cert-manager.io/inject-ca-from": "lynq-system/lynq-serving-cert"}
    rules = one(objects, "Role", "lynq-webhook-role")["rules"]
    assert [rule["resources"] for rule in rules] == [["services"], ["pods"]]
    rules = one(objects, "ClusterRole", "lynq-webhook-role")["rules"]
    assert [rule["resources"] for rule in rules] == [
        ["mutatingwebhookconfigurations"],
        ["validatingwebhookconfigurations"],
    ]
    certificate_values = {"issuerName": "corp", "issuerKind": "ClusterIssuer", "duration": "48h"}
    other = chart(
        {"certManager": {"enabled": True}, "webhook": {"certificate": certificate_values}}
    )
    assert names(other, "Issuer") == []
    spec = one(other, "Certificate")["spec"]
    assert spec["issuerRef"] == {"kind": "ClusterIssuer", "name": "corp"}
    assert spec["duration"] == "48h"


def test_disabled_webhooks_leave_no_objects() -> None:
    objects = chart({"webhook": {"enabled": False}, "certManager": {"enabled": True}})
    assert not [obj for obj in objects if "webhook" in obj["metadata"]["name"]]
    labels = one(objects, "Deployment")["spec"]["template"]["metadata"]["labels"]
    assert "lynq.sh/webhook-path" not in labels
    assert names(objects, "Certificate", "Issuer") == []


def test_monitoring_adds_service_monitor_alerts_and_dashboard() -> None:
    monitoring = {
        "enabled": True,
        "namespace": "watching",
        "labels": {"release": "prometheus"},
        "interval": "15s",
        "scrapeTimeout": "5s",
        "relabelings": [{"action": "keep"}],
        "metricRelabelings": [{"action": "drop"}],
    }
    objects = chart({"monitoring": monitoring})
    monitor = one(objects, "ServiceMonitor")
    assert monitor["metadata"]["namespace"] == "watching"
    assert monitor["metadata"]["labels"]["release"] == "prometheus"
    assert monitor["spec"]["namespaceSelector"] == {"matchNames": ["lynq-system"]}
    endpoint = monitor["spec"]["endpoints"][0]
    assert (endpoint["interval"], endpoint["scrapeTimeout"]) == ("15s", "5s")
    assert endpoint["relabelings"] == [{"action": "keep"}]
    assert endpoint["metricRelabelings"] == [{"action": "drop"}]
    assert endpoint["honorLabels"] is True
    assert len(one(objects, "PrometheusRule")["spec"]["groups"]) == 3
    dashboard = one(objects, "ConfigMap")
    assert dashboard["metadata"]["labels"]["grafana_dashboard"] == "1"
    assert json.loads(dashboard["data"]["lynq.json"])["title"] == "Lynq"
    few = chart({"monitoring": {"enabled": True, "alerts": False, "dashboard": False}})
    assert names(few, "PrometheusRule", "ConfigMap") == []


def test_network_policies_allow_configured_peers() -> None:
    assert names(chart(), "NetworkPolicy") == []
    peers = [{"ipBlock": {"cidr": "10.0.0.0/8"}}]
    objects = chart({"networkPolicy": {"enabled": True, "webhook": {"from": peers}}})
    metrics = one(objects, "NetworkPolicy", "lynq-allow-metrics-traffic")["spec"]["ingress"][0]
    assert metrics["ports"] == [{"port": 8443, "protocol": "TCP"}]
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    assert metrics["from"] == values["networkPolicy"]["metrics"]["from"]
    webhook = one(objects, "NetworkPolicy", "lynq-allow-webhook-traffic")["spec"]["ingress"][0]
    assert webhook == {"ports": [{"port": 9443, "protocol": "TCP"}], "from": peers}
    closed = chart({"networkPolicy": {"enabled": True, "metrics": {"from": []}}})
    assert "ingress" not in one(closed, "NetworkPolicy", "lynq-allow-metrics-traffic")["spec"]


def test_disruption_budget_follows_values() -> None:
    assert names(chart({"podDisruptionBudget": {"enabled": False}}), "PodDisruptionBudget") == []
    half = chart({"podDisruptionBudget": {"maxUnavailable": "50%"}})
    assert one(half, "PodDisruptionBudget")["spec"]["maxUnavailable"] == "50%"


def test_flow_control_gives_the_operator_a_share_of_the_api_server() -> None:
    assert names(chart(), "FlowSchema", "PriorityLevelConfiguration") == []
    shares = {"matchingPrecedence": 500, "nominalConcurrencyShares": 7, "lendablePercent": 10}
    flow = {"enabled": True, "queueLengthLimit": 9, **shares}
    objects = chart({"flowControl": flow, "serviceAccount": {"name": "mine"}})
    level = one(objects, "PriorityLevelConfiguration")
    limited = level["spec"]["limited"]
    assert (limited["nominalConcurrencyShares"], limited["lendablePercent"]) == (7, 10)
    assert limited["limitResponse"]["queuing"]["queueLengthLimit"] == 9
    requests = one(objects, "FlowSchema", "lynq-controller-manager")["spec"]
    lease = one(objects, "FlowSchema", "lynq-leader-election")["spec"]
    assert requests["priorityLevelConfiguration"]["name"] == level["metadata"]["name"]
    assert lease["priorityLevelConfiguration"]["name"] == "leader-election"
    assert lease["matchingPrecedence"] < requests["matchingPrecedence"] == 500
    account = {"name": "mine", "namespace": "lynq-system"}
    for schema in (requests, lease):
        (subject,) = schema["rules"][0]["subjects"]
        assert subject == {"kind": "ServiceAccount", "serviceAccount": account}
    alone = chart({"flowControl": flow, "manager": {"leaderElection": False}})
    assert names(alone, "FlowSchema") == ["lynq-controller-manager"]


def test_common_labels_and_annotations_are_on_every_object() -> None:
    values = {"commonLabels": {"team": "x"}, "commonAnnotations": {"note": "y"}}
    optional = ("monitoring", "networkPolicy", "flowControl")
    more = {name: {"enabled": True} for name in optional}
    for obj in chart({**values, **more, "certManager": {"enabled": True}}, namespace="default"):
        assert obj["metadata"]["labels"]["team"] == "x", obj["kind"]
        assert obj["metadata"]["annotations"]["note"] == "y", obj["kind"]


def test_webhook_may_review_the_access_of_authors_also_without_metrics() -> None:
    role = "lynq-access-review-role"
    for values in ({}, {"manager": {"metricsSecure": False}}, {"certManager": {"enabled": True}}):
        (rule,) = one(chart(values), "ClusterRole", role)["rules"]
        assert (rule["resources"], rule["verbs"]) == (["subjectaccessreviews"], ["create"])
    assert role not in names(chart({"webhook": {"enabled": False}}), "ClusterRole")
