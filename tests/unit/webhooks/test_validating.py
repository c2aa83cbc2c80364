"""Validation of the creation, update and deletion of hubs, forms and nodes."""

from collections.abc import Sequence
from typing import Any

import pytest
from msgspec import convert
from msgspec.structs import replace

from lynq.api import DeletionPolicy, HubSpec, TResource
from lynq.api.denied_hosts import DeniedHosts
from lynq.core.object_limits import ObjectLimits
from lynq.webhooks.review import AdmissionRequest, AdmissionResponse, ReviewError
from lynq.webhooks.validating import admit_form, admit_hub, admit_node
from unit.webhooks.reviews import (
    FORM,
    FORM_SPEC,
    HUB,
    HUB_SPEC,
    NODE,
    Caches,
    a_node,
    an_object,
    request,
    with_resource,
)

EMPTY = Caches()
WITH_HUB = Caches(spec=convert(HUB_SPEC, HubSpec))
BAD_HUB = {**HUB_SPEC, "valueMappings": {"uid": "", "activate": "on"}}
BAD_FORM = with_resource(nameTemplate="{{ .uid | nope }}")
PROTECTED = {"annotations": {"lynq.sh/protect": "true"}}
DELETING = {"deletionTimestamp": "2026-01-01T00:00:00Z"}


def hub(admission: AdmissionRequest, view: Caches = EMPTY) -> AdmissionResponse:
    return admit_hub(admission, view)()


def form(admission: AdmissionRequest, view: Caches = EMPTY) -> AdmissionResponse:
    return admit_form(admission, view)()


def creation(spec: Any) -> AdmissionRequest:
    return request(FORM, "CREATE", an_object(spec))


def test_valid_objects_are_allowed_without_warnings() -> None:
    assert hub(request(HUB, "CREATE", an_object(HUB_SPEC))) == AdmissionResponse()
    assert form(creation(FORM_SPEC), WITH_HUB) == AdmissionResponse()


def test_form_of_a_missing_hub_gives_a_warning_in_a_watched_namespace() -> None:
    (warning,) = form(creation(FORM_SPEC)).warnings
    assert warning.startswith('spec.hubId: LynqHub "shop" not found in this namespace')
    assert form(creation(FORM_SPEC), Caches(synced=False)) == AdmissionResponse()


@pytest.mark.parametrize("host", ["169.254.169.254", "db.internal"])
def test_hub_with_a_denied_host_is_denied(host: str) -> None:
    server = {**HUB_SPEC["source"]["mysql"], "host": host}
    spec = {**HUB_SPEC, "source": {"type": "mysql", "mysql": server}}
    view = Caches(denied_hosts=DeniedHosts.parse("*.internal"))
    denial = hub(request(HUB, "CREATE", an_object(spec)), view).denial
    assert denial
    assert denial.message.startswith("spec.source.mysql.host: the ")
    assert "--deny-source-hosts" in denial.message


def test_other_table_or_column_needs_the_secret_and_another_interval_does_not() -> None:
    password = {"passwordRef": {"name": "db", "key": "password"}}
    server = {**HUB_SPEC["source"]["mysql"], **password}
    old = {**HUB_SPEC, "source": {"type": "mysql", "mysql": server}}

    def required(**changes: Any) -> Sequence[str]:
        new = {**old, **changes}
        return hub(request(HUB, "UPDATE", an_object(new), an_object(old))).required_secrets

    other_table = {"type": "mysql", "mysql": {**server, "table": "mysql.user"}}
    assert required(source=other_table) == ("db",)
    assert required(extraValueMappings={"plan": "authentication_string"}) == ("db",)
    assert required(source={**old["source"], "syncInterval": "5m"}) == ()
    assert required(deletionGuard={"maxCount": 1}) == ()


def test_hub_name_that_is_no_label_gives_a_warning() -> None:
    admission = replace(request(HUB, "CREATE", an_object(HUB_SPEC)), name="h" * 64)
    (warning,) = hub(admission).warnings
    assert warning.startswith("metadata.name: has 64 characters, more than the 63 of the label")
    assert hub(replace(admission, name="h" * 63)) == AdmissionResponse()


def test_denial_lists_every_problem_with_its_path() -> None:
    spec = {**BAD_FORM, "services": [{"id": "s", "dependIds": ["x"], "spec": {}}]}
    denial = form(creation(spec)).denial
    assert denial is not None
    assert denial.message.split("; ") == [
        'spec.services[0].dependIds: "s" depends on "x", but no resource has this id',
        "spec.services[0].spec.apiVersion: required, for example apps/v1",
        "spec.services[0].spec.kind: required, for example Deployment",
        'spec.configMaps[0].nameTemplate: line 1: function "nope" not defined',
    ]


def test_dependency_cycle_is_named() -> None:
    one = {**FORM_SPEC["configMaps"][0], "id": "a", "dependIds": ["b"]}
    other = {**one, "id": "b", "dependIds": ["a"]}
    denial = form(creation({"hubId": "shop", "configMaps": [one, other]})).denial
    assert denial is not None
    assert "circular dependency detected: a -> b -> a" in denial.message


def test_invalid_ignore_field_is_denied() -> None:
    denial = form(creation(with_resource(ignoreFields=["$.spec", "$.a["]))).denial
    assert denial is not None
    assert denial.message.startswith("spec.configMaps[0].ignoreFields[1]: ")


def test_deprecated_field_gives_a_warning() -> None:
    mappings = {**HUB_SPEC["valueMappings"], "hostOrUrl": "url"}
    response = hub(request(HUB, "CREATE", an_object({**HUB_SPEC, "valueMappings": mappings})))
    assert response.denial is None
    assert response.warnings[0].startswith("spec.valueMappings.hostOrUrl: deprecated")


def test_unmapped_variable_gives_a_warning_if_the_hub_exists() -> None:
    admission = creation(with_resource(nameTemplate="{{ .planet }}"))
    assert form(admission, Caches(synced=False)).warnings == ()
    (warning,) = form(admission, WITH_HUB).warnings
    assert "the hub does not map .planet" in warning


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (with_resource(timeoutSeconds=5000), "spec.configMaps[0].timeoutSeconds: Expected `int`"),
        (
            with_resource(creationPolicy="X"),
            "spec.configMaps[0].creationPolicy: Invalid enum value",
        ),
        ({"configMaps": [1]}, "spec.configMaps[0]: Expected `object`, got `int`"),
        ({"hubId": 1}, "spec.hubId: Expected `str`, got `int`"),
    ],
)
def test_value_outside_of_the_schema_is_denied_with_its_path(spec: Any, expected: str) -> None:
    denial = form(creation(spec)).denial
    assert denial is not None
    assert denial.message.startswith(expected)
    assert "'X'" not in denial.message


def test_too_deeply_nested_spec_is_denied() -> None:
    deep: Any = "x"
    for _ in range(300):
        deep = [deep]
    body = {"apiVersion": "v1", "kind": "ConfigMap", "data": deep}
    denial = form(creation(with_resource(spec=body))).denial
    assert denial is not None
    assert denial.message == "spec.configMaps[0].spec: nested deeper than 200 levels"


@pytest.mark.parametrize(("kind", "admit"), [(HUB, admit_hub), (FORM, admit_form)])
class TestUpdates:
    """Objects that were stored before a rule can be updated and deleted."""

    def test_unchanged_spec_is_not_validated(self, kind: Any, admit: Any) -> None:
        old = an_object({"bad": 1}, finalizers=["x"])
        new = an_object({"bad": 1}, finalizers=[])
        assert admit(request(kind, "UPDATE", new, old), EMPTY)() == AdmissionResponse()

    def test_object_being_deleted_is_not_validated(self, kind: Any, admit: Any) -> None:
        admission = request(
            kind, "UPDATE", an_object({"worse": 1}, **DELETING), an_object({"bad": 1})
        )
        assert admit(admission, EMPTY)() == AdmissionResponse()

    def test_pausing_is_always_allowed(self, kind: Any, admit: Any) -> None:
        new = an_object({"bad": 1, "paused": True})
        assert (
            admit(request(kind, "UPDATE", new, an_object({"bad": 1})), EMPTY)()
            == AdmissionResponse()
        )

    def test_other_changes_are_validated(self, kind: Any, admit: Any) -> None:
        admission = request(kind, "UPDATE", an_object({"bad": 2}), an_object({"bad": 1}))
        assert admit(admission, EMPTY)().denial is not None

    def test_status_updates_are_not_validated(self, kind: Any, admit: Any) -> None:
        new, old = an_object({"bad": 2}), an_object({"bad": 1})
        assert admit(request(kind, "UPDATE", new, old, "status"), EMPTY)() == AdmissionResponse()

    def test_missing_object_is_a_review_error(self, kind: Any, admit: Any) -> None:
        with pytest.raises(ReviewError, match="cannot be decoded"):
            admit(request(kind, "CREATE", None), EMPTY)


def test_deletion_warns_with_the_number_of_objects() -> None:
    kept = TResource(id="b", spec={}, deletion_policy=DeletionPolicy.RETAIN)
    view = Caches(nodes=[a_node("a", "c"), a_node("a", "b", config_maps=(kept,))])
    admission = request(HUB, "DELETE", old=an_object(BAD_HUB))
    expected = (
        "LynqHub shop: 2 LynqNodes and 3 resources will be deleted, "
        "1 resource will be retained (deletionPolicy)"
    )
    assert hub(admission, view) == AdmissionResponse(warnings=(expected,))


def test_deletion_warns_of_protected_nodes() -> None:
    view = Caches(nodes=[a_node("a", annotations=PROTECTED["annotations"])])
    (warning,) = form(request(FORM, "DELETE", old=an_object()), view).warnings
    assert warning == (
        "LynqForm shop: 1 LynqNode and 1 resource will be deleted; "
        "1 LynqNode with lynq.sh/protect will block it"
    )


@pytest.mark.parametrize(("kind", "admit"), [(HUB, admit_hub), (FORM, admit_form)])
class TestDeleteCollection:
    """Requests of deletecollection: only the old object has a name."""

    def test_impact_is_reported_under_the_object_name(self, kind: Any, admit: Any) -> None:
        admission = replace(request(kind, "DELETE", old=an_object()), name="")
        (warning,) = admit(admission, Caches(nodes=[a_node("a")]))().warnings
        assert warning == f"{kind.kind} shop: 1 LynqNode and 1 resource will be deleted"

    def test_warning_without_counts_has_the_object_name(self, kind: Any, admit: Any) -> None:
        admission = replace(request(kind, "DELETE", old=an_object()), name="")
        (warning,) = admit(admission, Caches(synced=False))().warnings
        assert warning == f"{kind.kind} shop: its LynqNodes and their resources will be deleted"

    def test_denial_has_the_object_name(self, kind: Any, admit: Any) -> None:
        admission = replace(request(kind, "DELETE", old=an_object(**PROTECTED)), name="")
        denial = admit(admission, EMPTY)().denial
        assert denial is not None
        assert denial.message.startswith(f"{kind.kind} shop is protected: ")


def test_denial_of_deletecollection_names_the_node() -> None:
    admission = replace(request(NODE, "DELETE", old=an_object(**PROTECTED)), name="")
    denial = admit_node(admission, EMPTY)().denial
    assert denial is not None
    assert denial.message.startswith("LynqNode shop is protected: ")


def test_namespace_without_cache_gives_no_counts() -> None:
    (warning,) = form(request(FORM, "DELETE", old=an_object()), Caches(synced=False)).warnings
    assert warning == "LynqForm shop: its LynqNodes and their resources will be deleted"


@pytest.mark.parametrize(
    ("kind", "admit"), [(HUB, admit_hub), (FORM, admit_form), (NODE, admit_node)]
)
def test_protected_object_cannot_be_deleted(kind: Any, admit: Any) -> None:
    denial = admit(request(kind, "DELETE", old=an_object(**PROTECTED)), EMPTY)().denial
    assert denial.message == (
        f"{kind.kind} shop is protected: remove the annotation lynq.sh/protect before deleting it"
    )
    deleting = request(kind, "DELETE", old=an_object(**PROTECTED, **DELETING))
    assert admit(deleting, EMPTY)() == AdmissionResponse()


def test_node_is_validated_only_on_deletion() -> None:
    assert admit_node(request(NODE, "CREATE", an_object()), EMPTY)() == AdmissionResponse()
    assert admit_node(request(NODE, "DELETE", old=an_object()), EMPTY)() == AdmissionResponse()


def test_form_with_an_object_that_no_node_may_write_is_denied() -> None:
    space = {
        "id": "space",
        "nameTemplate": "{{ .uid }}",
        "labelsTemplate": {"pod-security.kubernetes.io/enforce": "privileged"},
        "spec": {"apiVersion": "v1", "kind": "Namespace"},
    }
    form = {**FORM_SPEC, "namespaces": [space]}
    limits = ObjectLimits(denied_labels=("pod-security.kubernetes.io/*",))
    created = request(FORM, "CREATE", an_object(form))
    denial = admit_form(created, Caches(limits=limits))().denial
    assert denial
    assert 'the label "pod-security.kubernetes.io/enforce"' in denial.message
    assert admit_form(created, EMPTY)().denial is None
    # An object that was stored before the limit can be changed in its metadata.
    unchanged = request(FORM, "UPDATE", an_object(form, labels={"a": "b"}), an_object(form))
    assert admit_form(unchanged, Caches(limits=limits))().denial is None
