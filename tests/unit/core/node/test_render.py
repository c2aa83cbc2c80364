"""Rendering of a node's resource: name, namespace, labels, body, and errors."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lynq.api import TResource
from lynq.api.installation_key import InstallationKey, MissingKey
from lynq.core.node.objects import ObjectRef
from lynq.core.node.ownership import ANNOTATIONS, LABELS
from lynq.core.node.render import Rendered, Renderer, RenderError
from lynq.core.node.variables import variables_of
from unit.core.node.nodes import a_node, a_resource

KEY = InstallationKey(b"k" * 32)
TEXTS = st.text(max_size=30) | st.sampled_from(["{{ .uid }}", "{{", "}}", "{{ .no }}", "{{/*"])


def rendered(resource: TResource, *, namespaced: bool = True, **annotations: str) -> Rendered:
    node = a_node(resource, **annotations)
    return Renderer.of(node, variables_of(node), KEY).render(resource, namespaced=namespaced)


def render_error(resource: TResource, **annotations: str) -> RenderError:
    with pytest.raises(RenderError) as error:
        rendered(resource, namespaced=True, **annotations)
    return error.value


def manifest(kind: str = "ConfigMap", **more: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": kind, **more}


def test_body_is_rendered_and_name_and_namespace_are_set() -> None:
    assert rendered(a_resource()) == Rendered(
        ObjectRef("v1", "ConfigMap", "shop", "acme-config"),
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "data": {"plan": "acme"},
            "metadata": {
                "name": "acme-config",
                "namespace": "shop",
                "labels": {"lynq.sh/managed": "true"},
                "annotations": {},
            },
        },
    )


def test_resource_is_not_modified() -> None:
    resource = a_resource(spec=manifest(metadata={"labels": {"a": "{{ .uid }}"}, "uid": "x"}))
    rendered(resource)
    assert resource.spec["metadata"] == {"labels": {"a": "{{ .uid }}"}, "uid": "x"}


@given(TEXTS)
def test_labels_and_annotations_from_the_hub_are_not_rendered_again(text: str) -> None:
    resource = a_resource(labels_template={"a": text}, annotations_template={"b": text})
    metadata = rendered(resource).obj["metadata"]
    assert (metadata["labels"]["a"], metadata["annotations"]["b"]) == (text, text)


def test_name_from_the_hub_is_not_rendered_again() -> None:
    assert rendered(a_resource(name_template="{{.uid}}")).ref.name == "{{.uid}}"


@given(TEXTS)
def test_row_value_is_not_parsed_as_a_template(text: str) -> None:
    assert rendered(a_resource(), extra="{}", hostOrUrl=text).obj["data"] == {"plan": "acme"}
    resource = a_resource(spec=manifest(data={"x": "{{ .hostOrUrl }}"}))
    assert rendered(resource, hostOrUrl=text).obj["data"]["x"] == (text or "acme")


def test_manifest_name_is_rendered_without_name_template() -> None:
    resource = a_resource(spec=manifest(metadata={"name": "{{ .uid }}-own"}), name_template="")
    assert rendered(resource).ref.name == "acme-own"


def test_target_namespace_overrides_the_manifest_namespace() -> None:
    spec = manifest(metadata={"namespace": "{{ .undefined }}"})
    assert rendered(a_resource(spec=spec)).ref.namespace == "shop"
    resource = a_resource(spec=spec, target_namespace="tenant-{{ .uid }}")
    assert rendered(resource).obj["metadata"]["namespace"] == "tenant-acme"


def test_cluster_scoped_kind_has_no_namespace() -> None:
    resource = a_resource(spec=manifest("Namespace"), target_namespace="{{ .undefined }}")
    result = rendered(resource, namespaced=False)
    assert result.ref == ObjectRef("v1", "Namespace", "", "acme-config")
    assert "namespace" not in result.obj["metadata"]


def test_labels_and_annotations_of_the_resource_override_the_manifest() -> None:
    own = {"a": "{{ .uid }}", "b": "own"}
    resource = a_resource(
        spec=manifest(metadata={"labels": own, "annotations": own}),
        labels_template={"b": "entry"},
        annotations_template={"b": "entry"},
    )
    metadata = rendered(resource).obj["metadata"]
    assert metadata["labels"] == {"a": "acme", "b": "entry", "lynq.sh/managed": "true"}
    assert metadata["annotations"] == {"a": "acme", "b": "entry"}


def test_form_and_row_cannot_set_reserved_labels_and_annotations() -> None:
    labels, annotations = dict.fromkeys(LABELS, "forged"), dict.fromkeys(ANNOTATIONS, "forged")
    resource = a_resource(
        spec=manifest(metadata={"labels": labels, "annotations": annotations}),
        labels_template={**labels, "lynq.sh/uid": "acme"},
        annotations_template=annotations,
    )
    metadata = rendered(resource).obj["metadata"]
    assert metadata["labels"] == {"lynq.sh/uid": "acme", "lynq.sh/managed": "true"}
    assert metadata["annotations"] == {}


def test_server_side_metadata_is_dropped() -> None:
    spec = manifest(metadata={"managedFields": [], "resourceVersion": "7", "finalizers": ["a/b"]})
    metadata = rendered(a_resource(spec=spec)).obj["metadata"]
    assert metadata.keys() == {"name", "namespace", "labels", "annotations", "finalizers"}


def test_now_is_the_last_change_of_row_or_form() -> None:
    spec = manifest(data={"at": '{{ now | date "2006-01-02T15:04" }}'})
    result = rendered(a_resource(spec=spec), rollout_update_start="2026-02-03T04:05:06Z")
    assert result.obj["data"]["at"] == "2026-02-03T04:05"


def test_random_values_are_stable_and_differ_by_resource_and_field() -> None:
    spec = manifest(data={"a": "{{ randAlphaNum 20 }}", "b": "{{ randAlphaNum 20 }}"})
    first = rendered(a_resource("one", spec)).obj["data"]
    other = rendered(a_resource("two", spec)).obj["data"]
    assert first == rendered(a_resource("one", spec)).obj["data"]
    assert len({*first.values(), *other.values()}) == 4


@pytest.mark.parametrize("kind", ["ConfigMap", "Secret"])
def test_random_value_without_key_fails_and_says_why(kind: str) -> None:
    resource = a_resource(spec=manifest(kind=kind, data={"a": "{{ uuidv4 }}"}))
    node = a_node(resource)
    renderer = Renderer.of(node, variables_of(node), MissingKey("restore the Secret"))
    with pytest.raises(RenderError, match="restore the Secret"):
        renderer.render(resource, namespaced=True)
    plain = a_resource(spec=manifest(kind=kind, data={"a": "{{ .uid }}"}))
    assert renderer.render(plain, namespaced=True).obj["data"] == {"a": "acme"}


def test_body_is_not_rendered_without_body() -> None:
    resource = a_resource(spec=manifest(metadata={"labels": {"a": "{{ .uid }}"}}, data="{{ .no }}"))
    node = a_node(resource)
    renderer = Renderer.of(node, variables_of(node))
    result = renderer.render(resource, namespaced=True, with_body=False)
    assert result.ref == ObjectRef("v1", "ConfigMap", "shop", "acme-config")
    assert result.obj.keys() == {"apiVersion", "kind", "metadata"}
    assert result.obj["metadata"]["labels"]["a"] == "acme"


def test_error_names_resource_field_line_and_variable() -> None:
    error = render_error(a_resource(spec=manifest(data={"x": "a\n{{ .planId }}"})))
    assert (error.resource, error.field, error.line, error.variable) == (
        "config",
        "data.x",
        2,
        "planId",
    )
    assert str(error) == (
        '"config" could not be rendered: data.x, line 2: there is no variable "planId"; '
        "map it in the hub's extraValueMappings, or correct the template"
    )


def test_error_in_target_namespace_names_the_field() -> None:
    assert render_error(a_resource(target_namespace="{{ .no }}")).field == "targetNamespace"


@pytest.mark.parametrize("kind", ["ConfigMap", "Secret", "Deployment"])
def test_error_of_a_function_shows_no_value(kind: str) -> None:
    spec = manifest(kind, data={"x": "{{ mustRegexMatch .hostOrUrl .uid }}"})
    assert str(render_error(a_resource(spec=spec), hostOrUrl="(4711")) == (
        '"config" could not be rendered: data.x, line 1: '
        "error calling mustRegexMatch at <mustRegexMatch .hostOrUrl .uid>"
    )


def test_error_names_variable_that_the_failing_action_does_not_show() -> None:
    spec = manifest(data={"x": "{{ .hostOrUrl | mustFromJson }}"})
    error = render_error(a_resource(spec=spec), hostOrUrl="{")
    assert error.variable == "hostOrUrl"
    assert str(error).endswith('at <mustFromJson> (variable "hostOrUrl")')


def test_message_of_fail_is_shown_if_the_form_wrote_it() -> None:
    error = render_error(a_resource(spec=manifest(data={"x": '{{ fail "no plan" }}'})))
    assert "error calling fail: no plan" in str(error)
    error = render_error(a_resource(spec=manifest(data={"x": "{{ fail .uid }}"})))
    assert "acme" not in str(error)


@pytest.mark.parametrize("name", ["hunter2/a", "hunter2 a", "hunter2\x00", "hunter2" * 40])
def test_rejected_name_is_not_shown(name: str) -> None:
    assert "hunter2" not in str(render_error(a_resource(name_template=name)))


def test_rejected_namespace_is_not_shown() -> None:
    resource = a_resource(target_namespace="{{ .hostOrUrl }}")
    assert "hunter2" not in str(render_error(resource, hostOrUrl="hunter2@example.com"))


@pytest.mark.parametrize(
    "name", ["../x", "a/b", "a%2fb", ".", "..", "a b", "a\nb", "x" * 254, "a\x00"]
)
def test_name_that_cannot_be_part_of_a_path_is_rejected(name: str) -> None:
    assert render_error(a_resource(name_template=name)).field == "nameTemplate"


@pytest.mark.parametrize("name", [None, "", 7, {"a": "b"}])
def test_missing_name_is_rejected(name: object) -> None:
    assert "name" in str(
        render_error(a_resource(spec=manifest(metadata={"name": name}), name_template=""))
    )


@pytest.mark.parametrize("namespace", ["Tenant", "a.b", "../kube-system", "-a", "x" * 64])
def test_invalid_namespace_is_rejected(namespace: str) -> None:
    assert render_error(a_resource(target_namespace=namespace)).field == "targetNamespace"


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"kind": "ConfigMap"}, "apiVersion"),
        ({"apiVersion": "v1"}, "kind"),
        ({"apiVersion": "v1", "kind": 5}, "kind"),
        (manifest(metadata="x"), "metadata"),
        (manifest(metadata={"labels": ["x"]}), "metadata.labels"),
        (manifest(metadata={"annotations": "x"}), "metadata.annotations"),
    ],
)
def test_manifest_of_the_wrong_type_is_rejected(spec: dict[str, Any], field: str) -> None:
    assert render_error(a_resource(spec=spec)).field == field
