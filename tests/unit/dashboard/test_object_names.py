"""The names of a node's objects in its entry."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from lynq.api import ResourceStatus
from lynq.dashboard.object_names import object_names, objects_pattern, objects_text

WORDS = st.text("abc-.", max_size=6)


def resource(**values: str) -> ResourceStatus:
    """Return an entry of status.resources."""
    return msgspec.convert({"apiVersion": "v1", "state": "Ready"} | values, ResourceStatus)


def names_in(resources: list[ResourceStatus], uid: str) -> list[tuple[str, ...]]:
    """Return what is left of the names of objects in an entry."""
    return [
        tuple(each) for each in object_names(objects_text(objects_pattern(resources, uid), uid))
    ]


@given(st.lists(st.tuples(WORDS, WORDS.filter(bool), WORDS)), WORDS)
def test_names_come_back_whole_with_any_uid(objects: list[tuple[str, str, str]], uid: str) -> None:
    resources = [
        resource(kind="ConfigMap", namespace=namespace, name=name, id=resource_id)
        for namespace, name, resource_id in objects
    ]
    expected = [("ConfigMap", *each) for each in objects]
    assert names_in(resources, uid) == expected


def test_nodes_of_a_form_share_one_pattern() -> None:
    patterns = [
        objects_pattern(
            [resource(kind="Service", namespace="ns", name=f"{uid}-web", id="svc")], uid
        )
        for uid in ("acme", "beta")
    ]
    assert patterns[0] is patterns[1]


def test_object_without_a_name_or_with_an_unprintable_id_is_left_out() -> None:
    resources = [
        resource(kind="Service", namespace="ns", name="", id="svc"),
        resource(kind="Service", namespace="ns", name="web", id="a\tb"),
        resource(kind="Service", namespace="ns", name="web", id="svc"),
    ]
    assert names_in(resources, "acme") == [("Service", "ns", "web", "svc")]
