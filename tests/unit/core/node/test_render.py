"""From an entry of a node's spec to the object that is wanted."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lynq.api import TResource
from lynq.core.node.objects import ObjectRef
from lynq.core.node.ownership import ANNOTATIONS, LABELS
from lynq.core.node.render import Rendered, Renderer, RenderError
from lynq.core.node.variables import variables_of
from unit.core.node.nodes import a_node, a_resource

TEXTS = st.text(max_size=30) | st.sampled_from(["{{ .uid }}", "{{", "}}", "{{ .no }}", "{{/*"])


def rendered(resource: TResource, *, namespaced: bool = True, **annotations: str) -> Rendered:
    node = a_node(resource, **annotations)
    return Renderer.of(node, variables_of(node)).render(resource, namespaced=namespaced)


def refused(resource: TResource, **annotations: str) -> RenderError:
    with pytest.raises(RenderError) as error:
        rendered(resource, namespaced=True, **annotations)
    return error.value


def manifest(kind: str = "ConfigMap", **more: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": kind, **more}


def test_the_body_is_rendered_and_the_place_is_filled_in() -> None:
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


def test_the_entry_is_left_as_it_was() -> None:
    resource = a_resource(spec=manifest(metadata={"labels": {"a": "{{ .uid }}"}, "uid": "x"}))
    rendered(resource)
    assert resource.spec["metadata"] == {"labels": {"a": "{{ .uid }}"}, "uid": "x"}


@given(TEXTS)
def test_what_the_hub_rendered_is_never_parsed_again(text: str) -> None:
    resource = a_resource(labels_template={"a": text}, annotations_template={"b": text})
    metadata = rendered(resource).obj["metadata"]
    assert (metadata["labels"]["a"], metadata["annotations"]["b"]) == (text, text)


def test_a_name_from_the_hub_is_never_parsed_again() -> None:
    assert rendered(a_resource(name_template="{{.uid}}")).ref.name == "{{.uid}}"


@given(TEXTS)
def test_a_value_of_the_row_is_never_parsed(text: str) -> None:
    assert rendered(a_resource(), extra="{}", hostOrUrl=text).obj["data"] == {"plan": "acme"}
    resource = a_resource(spec=manifest(data={"x": "{{ .hostOrUrl }}"}))
    assert rendered(resource, hostOrUrl=text).obj["data"]["x"] == (text or "acme")


def test_without_name_template_the_manifests_own_name_is_rendered() -> None:
    resource = a_resource(spec=manifest(metadata={"name": "{{ .uid }}-own"}), name_template="")
    assert rendered(resource).ref.name == "acme-own"


def test_a_manifest_cannot_choose_its_namespace_but_the_entry_can() -> None:
    spec = manifest(metadata={"namespace": "{{ .undefined }}"})
    assert rendered(a_resource(spec=spec)).ref.namespace == "shop"
    resource = a_resource(spec=spec, target_namespace="tenant-{{ .uid }}")
    assert rendered(resource).obj["metadata"]["namespace"] == "tenant-acme"


def test_a_kind_without_namespaces_gets_none() -> None:
    resource = a_resource(spec=manifest("Namespace"), target_namespace="{{ .undefined }}")
    wanted = rendered(resource, namespaced=False)
    assert wanted.ref == ObjectRef("v1", "Namespace", "", "acme-config")
    assert "namespace" not in wanted.obj["metadata"]


def test_own_labels_and_annotations_are_merged_and_the_entrys_win() -> None:
    own = {"a": "{{ .uid }}", "b": "own"}
    resource = a_resource(
        spec=manifest(metadata={"labels": own, "annotations": own}),
        labels_template={"b": "entry"},
        annotations_template={"b": "entry"},
    )
    metadata = rendered(resource).obj["metadata"]
    assert metadata["labels"] == {"a": "acme", "b": "entry", "lynq.sh/managed": "true"}
    assert metadata["annotations"] == {"a": "acme", "b": "entry"}


def test_neither_form_nor_row_can_forge_our_marks() -> None:
    labels, annotations = dict.fromkeys(LABELS, "forged"), dict.fromkeys(ANNOTATIONS, "forged")
    resource = a_resource(
        spec=manifest(metadata={"labels": labels, "annotations": annotations}),
        labels_template={**labels, "lynq.sh/uid": "acme"},
        annotations_template=annotations,
    )
    metadata = rendered(resource).obj["metadata"]
    assert metadata["labels"] == {"lynq.sh/uid": "acme", "lynq.sh/managed": "true"}
    assert metadata["annotations"] == {}


def test_what_only_the_api_server_says_is_left_out() -> None:
    spec = manifest(metadata={"managedFields": [], "resourceVersion": "7", "finalizers": ["a/b"]})
    metadata = rendered(a_resource(spec=spec)).obj["metadata"]
    assert metadata.keys() == {"name", "namespace", "labels", "annotations", "finalizers"}


def test_time_is_the_last_change_of_row_or_form() -> None:
    spec = manifest(data={"at": '{{ now | date "2006-01-02T15:04" }}'})
    wanted = rendered(a_resource(spec=spec), rollout_update_start="2026-02-03T04:05:06Z")
    assert wanted.obj["data"]["at"] == "2026-02-03T04:05"


def test_chance_repeats_itself_and_differs_by_resource_and_position() -> None:
    spec = manifest(data={"a": "{{ randAlphaNum 20 }}", "b": "{{ randAlphaNum 20 }}"})
    first = rendered(a_resource("one", spec)).obj["data"]
    other = rendered(a_resource("two", spec)).obj["data"]
    assert first == rendered(a_resource("one", spec)).obj["data"]
    assert len({*first.values(), *other.values()}) == 4


def test_without_body_nothing_of_it_is_rendered() -> None:
    resource = a_resource(spec=manifest(metadata={"labels": {"a": "{{ .uid }}"}}, data="{{ .no }}"))
    node = a_node(resource)
    renderer = Renderer.of(node, variables_of(node))
    wanted = renderer.render(resource, namespaced=True, with_body=False)
    assert wanted.ref == ObjectRef("v1", "ConfigMap", "shop", "acme-config")
    assert wanted.obj.keys() == {"apiVersion", "kind", "metadata"}
    assert wanted.obj["metadata"]["labels"]["a"] == "acme"


def test_an_error_names_resource_field_line_and_variable() -> None:
    error = refused(a_resource(spec=manifest(data={"x": "a\n{{ .planId }}"})))
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


def test_an_error_in_target_namespace_names_it() -> None:
    assert refused(a_resource(target_namespace="{{ .no }}")).field == "targetNamespace"


def test_an_error_in_a_secret_shows_no_value() -> None:
    template = "{{ mustRegexMatch .hostOrUrl .uid }}"
    told = {
        kind: str(refused(a_resource(spec=manifest(kind, data={"x": template})), hostOrUrl="(4711"))
        for kind in ("ConfigMap", "Secret")
    }
    assert "4711" in told["ConfigMap"]
    assert "4711" not in told["Secret"]
    assert "data.x, line 1" in told["Secret"]


@pytest.mark.parametrize(
    "name", ["../x", "a/b", "a%2fb", ".", "..", "a b", "a\nb", "x" * 254, "a\x00"]
)
def test_a_name_that_no_path_can_hold_is_refused(name: str) -> None:
    assert refused(a_resource(name_template=name)).field == "nameTemplate"


@pytest.mark.parametrize("name", [None, "", 7, {"a": "b"}])
def test_an_object_needs_a_name(name: object) -> None:
    assert "name" in str(
        refused(a_resource(spec=manifest(metadata={"name": name}), name_template=""))
    )


@pytest.mark.parametrize("namespace", ["Tenant", "a.b", "../kube-system", "-a", "x" * 64])
def test_what_cannot_be_a_namespace_is_refused(namespace: str) -> None:
    assert refused(a_resource(target_namespace=namespace)).field == "targetNamespace"


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
def test_a_manifest_of_the_wrong_shape_is_refused(spec: dict[str, Any], field: str) -> None:
    assert refused(a_resource(spec=spec)).field == field
