"""What may be created, changed and deleted, and what whoever does it is told."""

from typing import Any

import pytest
from msgspec import convert
from msgspec.structs import replace

from lynq.api import DeletionPolicy, HubSpec, TResource
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
    question,
    with_resource,
)

NOTHING = Caches()
BAD_HUB = {**HUB_SPEC, "valueMappings": {"uid": "", "activate": "on"}}
BAD_FORM = with_resource(nameTemplate="{{ .uid | nope }}")
PROTECTED = {"annotations": {"lynq.sh/protect": "true"}}
LEAVING = {"deletionTimestamp": "2026-01-01T00:00:00Z"}


def hub(asked: AdmissionRequest, known: Caches = NOTHING) -> AdmissionResponse:
    return admit_hub(asked, known)()


def form(asked: AdmissionRequest, known: Caches = NOTHING) -> AdmissionResponse:
    return admit_form(asked, known)()


def creation(spec: Any) -> AdmissionRequest:
    return question(FORM, "CREATE", an_object(spec))


def test_what_is_good_passes_without_a_word() -> None:
    assert hub(question(HUB, "CREATE", an_object(HUB_SPEC))) == AdmissionResponse()
    assert form(creation(FORM_SPEC)) == AdmissionResponse()


def test_a_refusal_lists_every_problem_with_its_path() -> None:
    spec = {**BAD_FORM, "services": [{"id": "s", "dependIds": ["x"], "spec": {}}]}
    refusal = form(creation(spec)).refusal
    assert refusal is not None
    assert refusal.message.split("; ") == [
        'spec.services[0].dependIds: "s" depends on "x", but no resource has this id',
        "spec.services[0].spec.apiVersion: required, for example apps/v1",
        "spec.services[0].spec.kind: required, for example Deployment",
        'spec.configMaps[0].nameTemplate: line 1: function "nope" not defined',
    ]


def test_a_circle_is_told_with_its_members() -> None:
    one = {**FORM_SPEC["configMaps"][0], "id": "a", "dependIds": ["b"]}
    other = {**one, "id": "b", "dependIds": ["a"]}
    refusal = form(creation({"hubId": "shop", "configMaps": [one, other]})).refusal
    assert refusal is not None
    assert "circular dependency detected: a -> b -> a" in refusal.message


def test_ignore_fields_are_parsed() -> None:
    refusal = form(creation(with_resource(ignoreFields=["$.spec", "$.a["]))).refusal
    assert refusal is not None
    assert refusal.message.startswith("spec.configMaps[0].ignoreFields[1]: ")


def test_a_hub_is_warned_of_what_is_deprecated() -> None:
    mappings = {**HUB_SPEC["valueMappings"], "hostOrUrl": "url"}
    answer = hub(question(HUB, "CREATE", an_object({**HUB_SPEC, "valueMappings": mappings})))
    assert answer.refusal is None
    assert answer.warnings[0].startswith("spec.valueMappings.hostOrUrl: deprecated")


def test_a_variable_is_warned_of_only_if_the_hub_is_known() -> None:
    asked = creation(with_resource(nameTemplate="{{ .planet }}"))
    assert form(asked).warnings == ()
    (warning,) = form(asked, Caches(spec=convert(HUB_SPEC, HubSpec))).warnings
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
def test_what_an_old_schema_let_through_is_told_by_path(spec: Any, expected: str) -> None:
    refusal = form(creation(spec)).refusal
    assert refusal is not None
    assert refusal.message.startswith(expected)
    assert "'X'" not in refusal.message


def test_a_spec_of_endless_depth_is_refused() -> None:
    deep: Any = "x"
    for _ in range(500):
        deep = [deep]
    body = {"apiVersion": "v1", "kind": "ConfigMap", "data": deep}
    refusal = form(creation(with_resource(spec=body))).refusal
    assert refusal is not None
    assert refusal.message == "spec.configMaps[0].spec: nested deeper than 200 levels"


@pytest.mark.parametrize(("kind", "judge"), [(HUB, admit_hub), (FORM, admit_form)])
class TestUpdates:
    """What was stored before a rule must be able to live on, and to leave."""

    def test_a_spec_that_stays_is_not_judged(self, kind: Any, judge: Any) -> None:
        old = an_object({"bad": 1}, finalizers=["x"])
        new = an_object({"bad": 1}, finalizers=[])
        assert judge(question(kind, "UPDATE", new, old), NOTHING)() == AdmissionResponse()

    def test_an_object_that_leaves_is_not_judged(self, kind: Any, judge: Any) -> None:
        asked = question(kind, "UPDATE", an_object({"worse": 1}, **LEAVING), an_object({"bad": 1}))
        assert judge(asked, NOTHING)() == AdmissionResponse()

    def test_pausing_is_always_possible(self, kind: Any, judge: Any) -> None:
        new = an_object({"bad": 1, "paused": True})
        assert (
            judge(question(kind, "UPDATE", new, an_object({"bad": 1})), NOTHING)()
            == AdmissionResponse()
        )

    def test_any_other_change_is_judged(self, kind: Any, judge: Any) -> None:
        asked = question(kind, "UPDATE", an_object({"bad": 2}), an_object({"bad": 1}))
        assert judge(asked, NOTHING)().refusal is not None

    def test_the_status_is_nobodys_business(self, kind: Any, judge: Any) -> None:
        new, old = an_object({"bad": 2}), an_object({"bad": 1})
        assert judge(question(kind, "UPDATE", new, old, "status"), NOTHING)() == AdmissionResponse()

    def test_an_object_that_is_none_is_no_question(self, kind: Any, judge: Any) -> None:
        with pytest.raises(ReviewError, match="makes no sense"):
            judge(question(kind, "CREATE", None), NOTHING)


def test_deleting_counts_what_will_go() -> None:
    kept = TResource(id="b", spec={}, deletion_policy=DeletionPolicy.RETAIN)
    known = Caches(nodes=[a_node("a", "c"), a_node("a", "b", config_maps=(kept,))])
    asked = question(HUB, "DELETE", old=an_object(BAD_HUB))
    expected = (
        "LynqHub shop: 2 LynqNodes and 3 resources will go, "
        "1 resource will stay (deletionPolicy Retain)"
    )
    assert hub(asked, known) == AdmissionResponse(warnings=(expected,))


def test_deleting_names_the_nodes_that_will_refuse() -> None:
    known = Caches(nodes=[a_node("a", annotations=PROTECTED["annotations"])])
    (warning,) = form(question(FORM, "DELETE", old=an_object()), known).warnings
    assert warning == (
        "LynqForm shop: 1 LynqNode and 1 resource will go; "
        "1 LynqNode with lynq.sh/protect will hold it up"
    )


@pytest.mark.parametrize(("kind", "judge"), [(HUB, admit_hub), (FORM, admit_form)])
class TestDeletingAll:
    """A collection in one request, as when a namespace ends: only the old object has a name."""

    def test_what_goes_is_counted_under_the_objects_name(self, kind: Any, judge: Any) -> None:
        asked = replace(question(kind, "DELETE", old=an_object()), name="")
        (warning,) = judge(asked, Caches(nodes=[a_node("a")]))().warnings
        assert warning == f"{kind.kind} shop: 1 LynqNode and 1 resource will go"

    def test_what_is_not_known_is_told_by_name(self, kind: Any, judge: Any) -> None:
        asked = replace(question(kind, "DELETE", old=an_object()), name="")
        (warning,) = judge(asked, Caches(seen=False))().warnings
        assert warning == f"{kind.kind} shop: its LynqNodes and their resources will go"

    def test_what_is_protected_is_named(self, kind: Any, judge: Any) -> None:
        asked = replace(question(kind, "DELETE", old=an_object(**PROTECTED)), name="")
        refusal = judge(asked, NOTHING)().refusal
        assert refusal is not None
        assert refusal.message.startswith(f"{kind.kind} shop is protected: ")


def test_a_protected_node_is_named_when_all_are_deleted() -> None:
    asked = replace(question(NODE, "DELETE", old=an_object(**PROTECTED)), name="")
    refusal = admit_node(asked, NOTHING)().refusal
    assert refusal is not None
    assert refusal.message.startswith("LynqNode shop is protected: ")


def test_what_is_not_known_is_not_counted() -> None:
    (warning,) = form(question(FORM, "DELETE", old=an_object()), Caches(seen=False)).warnings
    assert warning == "LynqForm shop: its LynqNodes and their resources will go"


@pytest.mark.parametrize(
    ("kind", "judge"), [(HUB, admit_hub), (FORM, admit_form), (NODE, admit_node)]
)
def test_the_protected_is_not_deleted(kind: Any, judge: Any) -> None:
    refusal = judge(question(kind, "DELETE", old=an_object(**PROTECTED)), NOTHING)().refusal
    assert refusal.message == (
        f"{kind.kind} shop is protected: to delete it, first take off its annotation "
        "lynq.sh/protect"
    )
    leaving = question(kind, "DELETE", old=an_object(**PROTECTED, **LEAVING))
    assert judge(leaving, NOTHING)() == AdmissionResponse()


def test_a_node_is_asked_about_only_when_it_is_deleted() -> None:
    assert admit_node(question(NODE, "CREATE", an_object()), NOTHING)() == AdmissionResponse()
    assert admit_node(question(NODE, "DELETE", old=an_object()), NOTHING)() == AdmissionResponse()
