"""Fields that a merge patch sets to null, as an apply would remove them."""

from typing import Any

import pytest

from lynq.core.node.merge_patch import drop_removed_fields

LEAF: dict[str, Any] = {}


@pytest.mark.parametrize(
    ("obj", "fields", "patch"),
    [
        ({"data": {"a": 1}}, {"f:data": {"f:a": LEAF}}, {"data": {"a": 1}}),
        (
            {"data": {"a": 1}},
            {"f:data": {".": LEAF, "f:a": LEAF, "f:b": LEAF}},
            {"data": {"a": 1, "b": None}},
        ),
        ({"kind": "A"}, {"f:data": {"f:a": LEAF}}, {"kind": "A", "data": None}),
        ({"data": {"a:b": 1}}, {"f:data": {"f:a:b": LEAF}}, {"data": {"a:b": 1}}),
        # A list is replaced as a whole.
        (
            {"spec": {"ports": [{"port": 1}]}},
            {"f:spec": {"f:ports": {'k:{"port":2}': {"f:port": LEAF}}}},
            {"spec": {"ports": [{"port": 1}]}},
        ),
        # A map that has become a text, and the other way round.
        ({"spec": {"a": "x"}}, {"f:spec": {"f:a": {"f:b": LEAF}}}, {"spec": {"a": "x"}}),
        (
            {"metadata": {"labels": {"a": "1"}}},
            {
                "f:metadata": {
                    "f:labels": {"f:a": LEAF, "f:b": LEAF},
                    "f:annotations": {"f:c": LEAF},
                    "f:ownerReferences": {'k:{"uid":"7"}': LEAF},
                    "f:finalizers": {"v:x": LEAF},
                }
            },
            {"metadata": {"labels": {"a": "1", "b": None}, "annotations": None}},
        ),
        # Finalizers and owner references belong to others, too.
        (
            {"metadata": {"name": "a"}},
            {"f:metadata": {"f:finalizers": {"v:x": LEAF}}},
            {"metadata": {"name": "a"}},
        ),
    ],
)
def test_field_that_left_the_manifest_is_set_to_null(obj: Any, fields: Any, patch: Any) -> None:
    assert drop_removed_fields(obj, fields) == patch
