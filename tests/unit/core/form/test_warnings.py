"""Warnings of a form that is accepted."""

import pytest
from msgspec.structs import replace

from lynq.api import AdoptionPolicy, DeletionPolicy, FormSpec, HubSpec
from unit.core.form.forms import BODY, error_texts, form, hub, resource, warning_texts

DEPLOYMENT = {"apiVersion": "apps/v1", "kind": "Deployment"}


def unmapped(variable: str) -> str:
    return f"the hub does not map .{variable}: add it to extraValueMappings"


def deprecated(variable: str) -> str:
    return (
        f".{variable} is deprecated: map the column in extraValueMappings of the hub, "
        "and use the function toHost"
    )


def named(template: str) -> FormSpec:
    return form(resource("a", name_template=template))


@pytest.mark.parametrize(
    ("template", "hub_spec", "expected"),
    [
        pytest.param("{{ .plan }}", hub("plan"), [], id="mapped"),
        pytest.param("{{ .plan }}", None, [], id="hub does not exist yet"),
        pytest.param(
            "{{ .plan }}",
            hub("region"),
            [unmapped("plan")],
            id="not mapped",
        ),
        pytest.param(
            '{{ index . "plan" }}',
            hub(),
            [unmapped("plan")],
            id="read by index",
        ),
        pytest.param(
            "{{ .uid }}{{ .activate }}{{ .hubId }}{{ .templateRef }}", hub(), [], id="built-in"
        ),
        pytest.param(
            "{{ .host }}",
            hub(host_or_url="url"),
            [deprecated("host")],
            id="deprecated",
        ),
        pytest.param(
            "{{ .hostOrUrl }}",
            None,
            [deprecated("hostOrUrl")],
            id="deprecated, without hub",
        ),
        pytest.param("{{ .host }}", hub("host"), [], id="mapped column of the same name"),
        pytest.param(
            "{{ .host }}",
            hub(),
            [unmapped("host")],
            id="deprecated and not mapped",
        ),
    ],
)
def test_variables(template: str, hub_spec: HubSpec | None, expected: list[str]) -> None:
    assert warning_texts(named(template), hub_spec) == [
        f"spec.configMaps[0].nameTemplate: {message}" for message in expected
    ]
    assert error_texts(named(template), hub_spec) == []


def test_variable_has_one_warning() -> None:
    spec = form(*(resource(f"a{number}", name_template="{{ .plan }}") for number in range(3)))
    [only] = warning_texts(spec, hub())
    assert only.startswith("spec.configMaps[0].nameTemplate: the hub does not map .plan")
    assert only.endswith("(used in 2 more places)")


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param(
            form(deployments=(resource("a", spec={**DEPLOYMENT, "spec": {"paused": True}}),)),
            [
                (
                    "spec.deployments[0].spec.spec.paused: keeps the Deployment from becoming "
                    "ready: remove it, or set waitForReady: false"
                )
            ],
            id="paused Deployment",
        ),
        pytest.param(
            form(
                deployments=(
                    resource("a", spec={**DEPLOYMENT, "spec": {"paused": True, "replicas": 0}}),
                )
            ),
            [],
            id="paused with zero replicas",
        ),
        pytest.param(
            form(
                jobs=(
                    resource(
                        "a",
                        spec={"apiVersion": "batch/v1", "kind": "Job", "spec": {"suspend": True}},
                        wait_for_ready=False,
                    ),
                )
            ),
            [],
            id="waitForReady false",
        ),
        pytest.param(
            form(resource("a", spec={**BODY, "kind": "Secret"})),
            [
                (
                    "spec.configMaps[0].spec.kind: is Secret, but this list is for ConfigMap: "
                    "use manifests for other kinds"
                )
            ],
            id="kind of another list",
        ),
        pytest.param(
            form(
                namespaces=(
                    resource("a", spec={**BODY, "kind": "Namespace"}, target_namespace="x"),
                )
            ),
            ["spec.namespaces[0].targetNamespace: has no effect: a Namespace is not namespaced"],
            id="Namespace with targetNamespace",
        ),
        pytest.param(
            form(
                namespaces=(
                    resource(
                        "a",
                        spec={**BODY, "kind": "Namespace"},
                        adoption_policy=AdoptionPolicy.OWN,
                    ),
                    resource(
                        "b",
                        spec={**BODY, "kind": "Namespace"},
                        adoption_policy=AdoptionPolicy.RETAIN,
                    ),
                ),
                config_maps=(resource("c", adoption_policy=AdoptionPolicy.OWN),),
            ),
            [
                (
                    "spec.namespaces[0].adoptionPolicy: with Own, a Namespace that existed before "
                    "is deleted with its row, and everything in it: use Retain to keep it"
                )
            ],
            id="Namespace with adoptionPolicy Own",
        ),
        pytest.param(
            form(resource("a", name_template="")),
            [
                (
                    "spec.configMaps[0].nameTemplate: required, as the manifest has no "
                    "metadata.name: the resource will fail"
                )
            ],
            id="no name",
        ),
        pytest.param(
            form(resource("a", name_template="", spec={**BODY, "metadata": {"name": "x"}})),
            [],
            id="metadata.name",
        ),
    ],
)
def test_manifests(spec: FormSpec, expected: list[str]) -> None:
    assert warning_texts(spec) == expected
    assert error_texts(spec) == []


AUTOSCALER = {
    "apiVersion": "autoscaling/v2",
    "kind": "HorizontalPodAutoscaler",
    "spec": {"scaleTargetRef": {"kind": "Deployment", "name": "{{ .uid }}-web"}},
}


def scaled(**fields: object) -> FormSpec:
    workload = resource(
        "web",
        **{"name_template": "{{ .uid }}-web", "spec": {**DEPLOYMENT, "spec": {"replicas": 1}}}
        | fields,
    )
    return form(
        deployments=(workload,), horizontal_pod_autoscalers=(resource("scaling", spec=AUTOSCALER),)
    )


def test_replicas_beside_an_autoscaler_give_a_warning() -> None:
    (warning,) = warning_texts(scaled())
    assert warning == (
        "spec.deployments[0].spec.spec.replicas: conflicts with the HorizontalPodAutoscaler "
        '"scaling": add $.spec.replicas to ignoreFields'
    )


@pytest.mark.parametrize(
    "fields",
    [
        {"ignore_fields": ("$.spec.replicas",)},
        {"spec": {**DEPLOYMENT, "spec": {}}},
        {"name_template": "{{ .uid }}-other"},
    ],
)
def test_autoscaler_of_a_workload_without_fixed_replicas_gives_no_warning(
    fields: dict[str, object],
) -> None:
    assert warning_texts(scaled(**fields)) == []


def test_reserved_labels_and_annotations_give_a_warning() -> None:
    keys = {"lynq.sh/node": "x", "team": "y"}
    spec = form(resource("a", labels_template=keys, annotations_template=keys))
    assert [text.split(": the prefix")[0] for text in warning_texts(spec)] == [
        "spec.configMaps[0].labelsTemplate[lynq.sh/node]",
        "spec.configMaps[0].annotationsTemplate[lynq.sh/node]",
    ]


@pytest.mark.parametrize(
    ("policy", "target", "warns"),
    [
        (DeletionPolicy.RETAIN, "t-{{ .uid }}", True),
        (DeletionPolicy.DELETE, "t-{{ .uid }}", False),
        (DeletionPolicy.RETAIN, "other", False),
        (DeletionPolicy.RETAIN, "", False),
    ],
)
def test_namespace_that_a_retained_object_keeps(
    policy: DeletionPolicy, target: str, *, warns: bool
) -> None:
    namespace = {"apiVersion": "v1", "kind": "Namespace"}
    space = resource("space", spec=namespace, name_template="t-{{ .uid }}")
    kept = resource("volume", target_namespace=target, deletion_policy=policy)
    message = (
        "spec.namespaces[0].deletionPolicy: is Delete, but the Namespace stays with "
        '"volume" in it, whose deletionPolicy is Retain'
    )
    assert warning_texts(form(kept, namespaces=(space,))) == ([message] if warns else [])
    retained = replace(space, deletion_policy=DeletionPolicy.RETAIN)
    assert warning_texts(form(kept, namespaces=(retained,))) == []
