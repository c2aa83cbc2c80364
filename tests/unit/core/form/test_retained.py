"""The ids of a form that are retained, across generations that a node may skip."""

from hypothesis import given
from hypothesis import strategies as st

from lynq.api import (
    DeletionPolicy,
    FormSpec,
    LynqNode,
    NodeSpec,
    NodeStatus,
    ResourceState,
    ResourceStatus,
    TResource,
)
from lynq.core.form.retained import retained_ids, without_unlisted

POLICIES = st.dictionaries(st.sampled_from("abc"), st.sampled_from(DeletionPolicy))


def spec(policies: dict[str, DeletionPolicy]) -> FormSpec:
    return FormSpec(
        hub_id="hub",
        config_maps=tuple(
            TResource(id=id_, spec={}, deletion_policy=policy) for id_, policy in policies.items()
        ),
    )


def node(*ids: str) -> LynqNode:
    resources = tuple(
        ResourceStatus(id=id_, kind="ConfigMap", name=id_, state=ResourceState.READY) for id_ in ids
    )
    return LynqNode(
        spec=NodeSpec(uid="acme", template_ref="web"), status=NodeStatus(resources=resources)
    )


@given(st.lists(POLICIES))
def test_last_policy_of_an_id_counts(generations: list[dict[str, DeletionPolicy]]) -> None:
    ids: frozenset[str] = frozenset()
    last: dict[str, DeletionPolicy] = {}
    for policies in generations:
        ids = retained_ids(ids, spec(policies))
        last |= policies
    assert ids == {id_ for id_, policy in last.items() if policy is DeletionPolicy.RETAIN}


def test_removed_id_is_dropped_once_no_node_lists_it() -> None:
    ids = frozenset("abc")
    current = spec({"a": DeletionPolicy.RETAIN})
    assert without_unlisted(ids, current, [node("a", "b"), node("a")]) == {"a", "b"}
    assert without_unlisted(ids, current, ()) == {"a"}


def test_id_of_the_spec_stays_without_nodes() -> None:
    current = spec({"a": DeletionPolicy.RETAIN, "b": DeletionPolicy.DELETE})
    assert without_unlisted(frozenset("a"), current, ()) == {"a"}
