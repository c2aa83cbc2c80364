"""Columns that the fields of a resource are rendered from."""

from lynq.api import TResource
from lynq.core.explain.columns import Columns, container_path
from unit.core.explain.explained import WEB, a_form, a_hub

VALUES = {"tag": "2.41", "replicas": "3", "plan": "pro", "uid": "acme"}


def columns(*resources: TResource) -> Columns:
    return Columns(a_form(*resources).spec, a_hub().spec, VALUES)


def test_fields_inside_of_a_path_count() -> None:
    origins = columns(WEB).of_field("web", "spec.template")
    assert {origin.column for origin in origins} == {"image_tag", "plan"}


def test_list_items_named_by_key_are_found() -> None:
    origins = columns(WEB).of_field("web", '.spec.template.spec.containers[name="app"].image')
    assert "image_tag" in {origin.column for origin in origins}


def test_longer_name_of_a_field_does_not_match() -> None:
    assert columns(WEB).of_field("web", "spec.repl") == ()


def test_uid_is_named_only_for_its_own_field() -> None:
    assert "tenant_id" not in {origin.column for origin in columns(WEB).of_resource("web")}
    (origin,) = columns(WEB).of_field("web", "nameTemplate")
    assert (origin.column, origin.value) == ("tenant_id", "acme")


def test_value_that_a_secret_reads_is_not_shown() -> None:
    secret = TResource(
        id="key", spec={"apiVersion": "v1", "kind": "Secret", "data": {"a": "{{ .tag }}"}}
    )
    (origin,) = columns(WEB, secret).of_field("web", "spec.template.spec.containers[1].image")
    assert (origin.column, origin.value) == ("image_tag", None)


def test_template_that_does_not_parse_is_left_out() -> None:
    broken = TResource(
        id="a", spec={"kind": "ConfigMap", "data": {"a": "{{ .x", "b": "{{ .plan }}"}}
    )
    assert [origin.column for origin in columns(broken).of_resource("a")] == ["plan"]


def test_unknown_resource_has_no_columns() -> None:
    assert columns(WEB).of_resource("gone") == ()
    assert columns(WEB).place("gone") == "gone"
    assert Columns(None, None, {}).of_message("web", "spec.replicas: x") == ()


def test_container_of_a_cron_job_is_found() -> None:
    spec = {
        "spec": {"jobTemplate": {"spec": {"template": {"spec": {"containers": [{"name": "a"}]}}}}}
    }
    assert container_path(spec, "a") == "spec.jobTemplate.spec.template.spec.containers[0]"
    assert container_path(spec, "b") == ""
