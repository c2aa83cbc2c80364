"""The rules of lint: what they find, and what they accept."""

from typing import Any

import msgspec
import pytest

from lynq.api import (
    CreationPolicy,
    DeletionPolicy,
    FormSpec,
    HubSource,
    HubSpec,
    SourceType,
    TResource,
    ValueMappings,
)
from lynq.core.lint.form_rules import FORM_RULES, unused_columns, unverified_servers
from lynq.core.lint.model import FormToLint
from lynq.core.lint.workload_rules import WORKLOAD_RULES

_RULES = {rule.name: rule for rule in (*FORM_RULES, *WORKLOAD_RULES)}


def _resource(name: str, kind: str, body: dict[str, Any] | None = None, **fields: Any) -> TResource:
    spec = {"apiVersion": "v1", "kind": kind, **(body or {})}
    return TResource(**{"id": name, "spec": spec, "name_template": "{{ .uid }}", **fields})


def _workload(name: str = "web", *, kind: str = "Deployment", **container: Any) -> TResource:
    containers = [{"name": "main", "image": "web:1", **container}]
    return _resource(name, kind, {"spec": {"template": {"spec": {"containers": containers}}}})


def _messages(rule: str, *resources: TResource) -> list[str]:
    form = FormToLint(FormSpec(hub_id="h", manifests=resources))
    findings = list(_RULES[rule].findings(form))
    assert all(finding.rule == rule for finding in findings)
    return [finding.message for finding in findings]


def _hub(*variables: str) -> HubSpec:
    return HubSpec(
        source=HubSource(type=SourceType.SQLITE),
        value_mappings=ValueMappings(uid="id", activate="on"),
        extra_value_mappings=dict.fromkeys(variables, "column"),
    )


@pytest.mark.parametrize(
    ("image", "message"),
    [
        ("nginx", "has no tag"),
        ("registry:5000/nginx", "has no tag"),
        ("nginx:latest", "has the tag latest"),
        ("{{ .registry }}/nginx", "has no tag"),
        ("nginx:1.27", ""),
        ("nginx@sha256:00", ""),
        ("nginx:{{ .tag }}", ""),
        ("{{ .image }}", ""),
    ],
)
def test_image_needs_a_tag(image: str, message: str) -> None:
    expected = [f'the image of container "main" {message}'] if message else []
    assert _messages("latest-image", _workload(image=image)) == expected


def test_container_needs_requests_and_a_memory_limit() -> None:
    complete = {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"memory": "1Gi"}}
    assert _messages("missing-resource-limits", _workload(resources=complete)) == []
    assert _messages("missing-resource-limits", _workload(resources={"requests": {"cpu": 1}})) == [
        'container "main" has no memory request, memory limit'
    ]


def test_container_of_a_cron_job_is_found() -> None:
    pod = {"spec": {"containers": [{"name": "main", "image": "job"}]}}
    job = _resource("job", "CronJob", {"spec": {"jobTemplate": {"spec": {"template": pod}}}})
    assert _messages("latest-image", job) == ['the image of container "main" has no tag']


@pytest.mark.parametrize(
    ("key", "is_found"),
    [
        ("password", True),
        ("DB_PASSWORD", True),
        ("api-key", True),
        ("secretName", False),
        ("token_url", False),
        ("plan", False),
    ],
)
def test_credential_in_plain_text_is_found(key: str, is_found: bool) -> None:  # noqa: FBT001
    config_map = _resource("c", "ConfigMap", {"data": {key: "{{ .value }}"}})
    assert bool(_messages("secret-in-config-map", config_map)) is is_found
    workload = _workload(env=[{"name": key, "value": "{{ .value }}"}])
    assert bool(_messages("secret-in-environment", workload)) is is_found


def test_reference_to_a_secret_is_accepted() -> None:
    reference = {"secretKeyRef": {"name": "db", "key": "password"}}
    workload = _workload(env=[{"name": "PASSWORD", "valueFrom": reference}])
    assert _messages("secret-in-environment", workload) == []


def test_private_key_in_a_config_map_is_found() -> None:
    data = {"file": "-----BEGIN RSA PRIVATE KEY-----\n"}
    assert _messages("secret-in-config-map", _resource("c", "ConfigMap", {"data": data})) == [
        'the key "file" holds a private key'
    ]


def test_workload_that_others_wait_for_needs_a_probe() -> None:
    dependent = _resource("svc", "Service", depend_ids=("web",))
    assert _messages("missing-readiness-probe", _workload(), dependent) == [
        'other resources wait for "web", which has no readinessProbe'
    ]
    assert _messages("missing-readiness-probe", _workload(readinessProbe={}), dependent) == []
    assert _messages("missing-readiness-probe", _workload()) == []


def test_random_value_needs_creation_policy_once() -> None:
    body = {"stringData": {"password": "{{ randAlphaNum 16 }}"}}
    assert _messages("random-without-once", _resource("s", "Secret", body)) == [
        "randAlphaNum without creationPolicy: Once"
    ]
    once = _resource("s", "Secret", body, creation_policy=CreationPolicy.ONCE)
    assert _messages("random-without-once", once) == []


def test_volume_claim_needs_deletion_policy_retain() -> None:
    claim = _resource("data", "PersistentVolumeClaim")
    retained = _resource("data", "PersistentVolumeClaim", deletion_policy=DeletionPolicy.RETAIN)
    assert len(_messages("deletes-volume", claim)) == 1
    assert _messages("deletes-volume", retained) == []


def test_job_needs_creation_policy_once() -> None:
    job = _resource("setup", "Job")
    once = _resource("setup", "Job", creation_policy=CreationPolicy.ONCE)
    assert _messages("job-without-once", job) == ['the Job "setup" has no creationPolicy: Once']
    assert _messages("job-without-once", once) == []


def test_replicas_of_a_scaled_workload_are_ignored_fields() -> None:
    target = {"kind": "Deployment", "name": "{{ .uid }}"}
    scaler = _resource("hpa", "HorizontalPodAutoscaler", {"spec": {"scaleTargetRef": target}})
    web = _resource("web", "Deployment", {"spec": {"replicas": 1}})
    ignored = _resource(
        "web", "Deployment", {"spec": {"replicas": 1}}, ignore_fields=("$.spec.replicas",)
    )
    assert len(_messages("replicas-with-autoscaler", web, scaler)) == 1
    assert _messages("replicas-with-autoscaler", ignored, scaler) == []


def test_resource_depends_on_the_namespace_of_its_form() -> None:
    namespace = _resource("ns", "Namespace")
    early = _resource("web", "Service", target_namespace="{{ .uid }}")
    direct = _resource("svc", "Service", target_namespace="{{ .uid }}", depend_ids=("ns",))
    indirect = _resource("api", "Service", target_namespace="{{ .uid }}", depend_ids=("svc",))
    elsewhere = _resource("x", "Service", target_namespace="shared")
    rule = "namespace-without-dependency"
    assert _messages(rule, namespace, early) == [
        'is created by "ns", which is not among the dependIds'
    ]
    assert _messages(rule, namespace, direct, indirect, elsewhere) == []


@pytest.mark.parametrize(
    ("template", "is_found"),
    [
        ("{{ .plan }}-{{ .uid }}", True),
        ('{{ .plan | default "free" }}', False),
        ("{{ if .plan }}{{ .plan }}{{ else }}x{{ end }}", False),
        ("{{ .uid }}", False),
        ("{{ .hubId }}", False),
    ],
)
def test_name_needs_a_default_for_an_empty_column(template: str, is_found: bool) -> None:  # noqa: FBT001
    resource = _resource("a", "Service", name_template=template)
    assert bool(_messages("variable-without-default", resource)) is is_found


def test_number_needs_a_default_and_a_label_does_not() -> None:
    number = _resource("a", "Deployment", {"spec": {"replicas": "{{ .replicas | int }}"}})
    label = _resource("b", "Service", labels_template={"plan": "{{ .plan }}"})
    assert _messages("variable-without-default", number, label) == [
        ".replicas has no default, and is empty if the column is NULL"
    ]


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({}, "spec.source.mysql"),
        ({"tls": {"mode": "require"}}, "spec.source.mysql.tls"),
        ({"tls": {"mode": "verify-ca"}}, ""),
        ({"tls": {"mode": "disable", "serverPublicKeyRef": {"name": "k", "key": "k"}}}, ""),
        ({"sendPasswordTo": "AnyServer"}, ""),
        ({"passwordRef": None}, ""),
    ],
)
def test_server_that_gets_no_password_is_found(changes: dict[str, Any], path: str) -> None:
    server = {"host": "db", "username": "u", "database": "d", "table": "t"}
    password = {"passwordRef": {"name": "db", "key": "password"}}
    source = {"type": "mysql", "mysql": server | password | changes}
    mappings = {"uid": "id", "activate": "on"}
    hub = msgspec.convert({"source": source, "valueMappings": mappings}, HubSpec)
    assert "".join(finding.path for finding in unverified_servers(hub)) == path


def test_column_that_no_form_uses_is_found() -> None:
    forms = [
        FormSpec(hub_id="h", manifests=(_resource("a", "Service", {"x": "{{ .plan }}."}),)),
        FormSpec(hub_id="h", manifests=(_resource("a", "Service", {"y": '{{ index . "b" }}'}),)),
    ]
    findings = list(unused_columns(_hub("plan", "size"), forms[:1]))
    assert [(each.path, each.message) for each in findings] == [
        ("spec.extraValueMappings.size", "no form of the files uses .size")
    ]
    assert list(unused_columns(_hub("plan", "size"), forms)) == []
