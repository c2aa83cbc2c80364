"""Strings of a manifest are rendered in place; whole values of int, float, bool become typed."""

import pytest

from lynq.template import Environment, SeededRandom, TemplateError, render_object

ROW = {"uid": "acme", "replicas": "3", "ratio": "0.5", "on": "yes", "evil": "{{ .uid }}"}


def test_every_string_at_any_depth_is_rendered_and_keys_are_kept() -> None:
    manifest = {
        "{{ .uid }}": "{{ .uid }}",
        "list": ["{{ .uid }}", ["{{ .uid }}-1"], {"a": "{{ .uid }}-2"}],
        "number": 5,
        "flag": True,
        "nothing": None,
        "plain": "as it is",
    }

    assert render_object(manifest, ROW) == {
        "{{ .uid }}": "acme",
        "list": ["acme", ["acme-1"], {"a": "acme-2"}],
        "number": 5,
        "flag": True,
        "nothing": None,
        "plain": "as it is",
    }


def test_rendering_does_not_change_the_manifest() -> None:
    manifest = {"spec": {"names": ["{{ .uid }}"]}}

    render_object(manifest, ROW)

    assert manifest == {"spec": {"names": ["{{ .uid }}"]}}


@pytest.mark.parametrize(
    ("template", "value"),
    [
        ("{{ .replicas | int }}", 3),
        ("{{ .ratio | float }}", 0.5),
        ("{{ .on | bool }}", True),
        ("{{- .replicas | int -}}", 3),
        ('{{ if eq .uid "acme" }}{{ .replicas | int }}{{ else }}{{ int "1" }}{{ end }}', 3),
        ("{{ if .on }}{{ bool .on }}{{ end }}", True),
        ("{{ with .replicas }}{{ int . }}{{ end }}", 3),
        ("{{ $n := int .replicas }}{{ $n }}", 3),
        ("{{/* three */}}{{ int .replicas }}", 3),
        ('{{ "" }}{{ int .replicas }}', 3),
        ("{{ range list 1 }}{{ int . }}{{ end }}", 1),
        ('{{ define "n" }}{{ int . }}{{ end }}{{ template "n" .replicas }}', 3),
        ("{{ default (int 7) (int 0) }}", 7),
        ('{{ ternary (bool "no") (bool "yes") true }}', False),
        ("{{ and (bool .on) (int .replicas) }}", 3),
        ("{{ int .replicas }}0", "30"),
        ("{{ int .replicas }}{{ int .replicas }}", "33"),
        (" {{ int .replicas }}", " 3"),
        ("{{ int .replicas | add 1 }}", "4"),
        ("{{ .replicas }}", "3"),
        ("{{ 3 }}", "3"),
        ("{{ true }}", "true"),
        ("{{ int .replicas | toString }}", "3"),
        ('{{ float "inf" }}', "+Inf"),
        ("{{ .evil }}", "{{ .uid }}"),
    ],
)
def test_field_has_the_type_of_its_template(template: str, value: object) -> None:
    rendered = render_object({"spec": {"field": template}}, ROW)["spec"]

    assert rendered == {"field": value}
    assert type(rendered["field"]) is type(value)


@pytest.mark.parametrize(
    "path",
    [
        ["apiVersion"],
        ["kind"],
        ["spec", "kind"],
        ["metadata", "labels", "n"],
        ["metadata", "annotations", "n"],
        ["metadata", "name"],
        ["spec", "selector", "matchLabels", "n"],
        ["spec", "selector", "n"],
        ["spec", "template", "spec", "nodeSelector", "n"],
    ],
)
def test_text_fields_are_not_typed(path: list[str]) -> None:
    assert _at(render_object(_nested(path, "{{ int .replicas }}"), ROW), path) == "3"


@pytest.mark.parametrize("key", ["data", "stringData", "binaryData"])
@pytest.mark.parametrize("kind", ["ConfigMap", "Secret"])
def test_data_of_config_maps_and_secrets_stays_text(kind: str, key: str) -> None:
    rendered = render_object({"kind": kind, key: {"n": "{{ int .replicas }}"}}, ROW)

    assert rendered[key] == {"n": "3"}


def test_data_of_other_kinds_is_typed() -> None:
    rendered = render_object({"kind": "Widget", "data": {"n": "{{ int .replicas }}"}}, ROW)

    assert rendered["data"] == {"n": 3}


def test_error_names_the_field() -> None:
    with pytest.raises(TemplateError) as failed:
        render_object({"spec": {"list": [{"name": "{{ .nope }}"}]}}, ROW)

    assert failed.value.field == "spec.list.0.name"


def test_random_values_depend_on_the_position() -> None:
    environment = Environment(now=0, random=SeededRandom(b"node uid and resource id"))
    template = "{{ randAlphaNum 20 }}"

    first = render_object({"a": template, "b": template}, ROW, environment)
    again = render_object({"b": template, "new": template}, ROW, environment)

    assert first["b"] == again["b"]
    assert len({first["a"], first["b"], again["new"]}) == 3


def test_changes_of_the_data_are_local_to_a_string() -> None:
    row = {"m": {"a": 1}}
    manifest = {"x": '{{ set .m "a" 2 }}', "y": "{{ .m.a }}"}

    assert render_object(manifest, row) == {"x": "map[a:2]", "y": "1"}
    assert row == {"m": {"a": 1}}


def _nested(path: list[str], value: object) -> dict[str, object]:
    for key in reversed(path):
        value = {key: value}
    return value  # type: ignore[return-value]


def _at(value: object, path: list[str]) -> object:
    for key in path:
        value = value[key]  # type: ignore[index]
    return value
