"""The smallest merge patch between two states."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from lynq.api import HubStatus, NodeStatus, RejectedRow, RejectedRows
from lynq.core.node.merge_patch import merge_patch, status_patch

_keys = st.sampled_from("abc")
_leaves = st.sampled_from((0, 1, "", "x", [], [1], [1, 2]))
_inner = st.dictionaries(_keys, _leaves, max_size=3)
_objects = st.dictionaries(_keys, _leaves | _inner, max_size=3)


def merged(target: Any, patch: Any) -> Any:
    """Apply a patch as RFC 7386 says."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value)
    return result


@given(_objects, _objects)
def test_patch_turns_the_first_state_into_the_second(
    before: dict[str, Any], after: dict[str, Any]
) -> None:
    assert merged(before, status_patch(before, after)) == after


@given(_objects)
def test_equal_states_need_no_patch(state: dict[str, Any]) -> None:
    assert status_patch(state, state) == {}


def test_patch_contains_only_differences() -> None:
    before = NodeStatus(desired_resources=3, ready_resources=1)
    after = NodeStatus(desired_resources=3, ready_resources=2)
    assert merge_patch(before, after) == {"readyResources": 2}


def test_field_that_returned_to_its_default_is_removed() -> None:
    rejected = RejectedRows(count=1, rows=(RejectedRow(uid="x"),))
    patch = merge_patch(HubStatus(desired=3, rejected_rows=rejected), HubStatus())
    assert patch == {"desired": None, "rejectedRows": None}
