"""What a form is accepted with, but somebody will wonder about."""

import pytest

from lynq.api import CreationPolicy, FormSpec, HubSpec
from unit.core.form.forms import BODY, error_texts, form, hub, resource, warning_texts

DEPLOYMENT = {"apiVersion": "apps/v1", "kind": "Deployment"}


def unmapped(variable: str) -> str:
    return f"the hub does not map .{variable}: add it to its extraValueMappings"


def deprecated(variable: str) -> str:
    return (
        f".{variable} is deprecated: map the column in the hub's extraValueMappings, "
        "and use the function toHost"
    )


def named(template: str) -> FormSpec:
    return form(resource("a", name_template=template))


@pytest.mark.parametrize(
    ("template", "known", "expected"),
    [
        pytest.param("{{ .plan }}", hub("plan"), [], id="mapped"),
        pytest.param("{{ .plan }}", None, [], id="the hub is not known yet"),
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
            "{{ .uid }}{{ .activate }}{{ .hubId }}{{ .templateRef }}", hub(), [], id="always there"
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
            id="deprecated, whichever the hub",
        ),
        pytest.param("{{ .host }}", hub("host"), [], id="a column of that name is no such thing"),
        pytest.param(
            "{{ .host }}",
            hub(),
            [unmapped("host")],
            id="deprecated and not mapped",
        ),
    ],
)
def test_variables(template: str, known: HubSpec | None, expected: list[str]) -> None:
    assert warning_texts(named(template), known) == [
        f"spec.configMaps[0].nameTemplate: {message}" for message in expected
    ]
    assert error_texts(named(template), known) == []


def test_a_variable_is_warned_of_once() -> None:
    spec = form(*(resource(f"a{number}", name_template="{{ .plan }}") for number in range(3)))
    [only] = warning_texts(spec, hub())
    assert only.startswith("spec.configMaps[0].nameTemplate: the hub does not map .plan")
    assert only.endswith("(read in 2 more places)")


def test_names_that_cannot_be_repeated_are_kept_by_the_node() -> None:
    given = resource("a", name_template='{{ bcrypt "x" }}', creation_policy=CreationPolicy.ONCE)
    [only] = warning_texts(form(given))
    assert only == (
        "spec.configMaps[0].nameTemplate: bcrypt cannot be repeated: a node keeps its first "
        "value, also when the form changes"
    )


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param(
            form(deployments=(resource("a", spec={**DEPLOYMENT, "spec": {"paused": True}}),)),
            [
                (
                    "spec.deployments[0].spec.spec.paused: a Deployment never becomes ready so: "
                    "set waitForReady: false, or take it out"
                )
            ],
            id="a paused Deployment",
        ),
        pytest.param(
            form(
                deployments=(
                    resource("a", spec={**DEPLOYMENT, "spec": {"paused": True, "replicas": 0}}),
                )
            ),
            [],
            id="paused at zero",
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
            id="nobody waits for it",
        ),
        pytest.param(
            form(resource("a", spec={**BODY, "kind": "Secret"})),
            [
                (
                    "spec.configMaps[0].spec.kind: Secret in a list that is meant for ConfigMap: "
                    "manifests takes any kind"
                )
            ],
            id="in the wrong list",
        ),
        pytest.param(
            form(
                namespaces=(
                    resource("a", spec={**BODY, "kind": "Namespace"}, target_namespace="x"),
                )
            ),
            ["spec.namespaces[0].targetNamespace: has no meaning: a Namespace is in no namespace"],
            id="a Namespace in a namespace",
        ),
        pytest.param(
            form(resource("a", name_template="")),
            [
                (
                    "spec.configMaps[0].nameTemplate: missing, and the manifest has no "
                    "metadata.name: the resource will fail"
                )
            ],
            id="no name at all",
        ),
        pytest.param(
            form(resource("a", name_template="", spec={**BODY, "metadata": {"name": "x"}})),
            [],
            id="the manifest's own name",
        ),
    ],
)
def test_manifests(spec: FormSpec, expected: list[str]) -> None:
    assert warning_texts(spec) == expected
    assert error_texts(spec) == []
