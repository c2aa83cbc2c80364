"""The seeds of random values: by the installation key, and by uid for nodes from before it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lynq.api import (
    LynqNode,
    Metadata,
    NodeSpec,
    NodeStatus,
    RandomValueSource,
    ResourceState,
    ResourceStatus,
)
from lynq.api.installation_key import InstallationKey, MissingKey
from lynq.core.node.status import StatusReport, next_status
from lynq.core.randomness import hub_random, node_random, random_source_of
from lynq.template import SeededRandom, UnavailableRandom
from unit.core.hub.fixtures import NOON

KEY = InstallationKey(bytes(range(32)))
OTHER = InstallationKey(bytes(32))
ENTRY = ResourceStatus(id="a", kind="Secret", name="a", state=ResourceState.READY)
LEGACY = NodeStatus(resources=(ENTRY,))


def a_node(status: NodeStatus | None = None, uid: str = "u-1") -> LynqNode:
    metadata = Metadata(name="acme-web", uid=uid)
    spec = NodeSpec(uid="acme", template_ref="web")
    return LynqNode(metadata=metadata, spec=spec, status=status or NodeStatus())


def test_values_of_a_new_node_depend_on_key_and_uid() -> None:
    drawn = {
        node_random(a_node(), KEY).bytes(16),
        node_random(a_node(), OTHER).bytes(16),
        node_random(a_node(uid="u-2"), KEY).bytes(16),
        SeededRandom(b"u-1").bytes(16),
    }
    assert len(drawn) == 4
    assert node_random(a_node(), KEY).bytes(16) in drawn


def test_values_of_a_node_from_before_the_key_stay() -> None:
    node = a_node(LEGACY)
    missing = MissingKey("lost")
    assert node_random(node, KEY).bytes(16) == SeededRandom(b"u-1").bytes(16)
    assert node_random(node, missing).bytes(16) == SeededRandom(b"u-1").bytes(16)
    legacy = SeededRandom(b"hub/acme-web").bytes(16)
    assert hub_random("hub", "acme-web", node, KEY).bytes(16) == legacy
    assert hub_random("hub", "acme-web", None, KEY).bytes(16) != legacy


def test_keyed_values_are_unavailable_without_key() -> None:
    missing = MissingKey("lost")
    assert isinstance(node_random(a_node(), missing), UnavailableRandom)
    assert isinstance(hub_random("hub", "acme-web", a_node(), missing), UnavailableRandom)


@pytest.mark.parametrize(
    ("before", "source"),
    [
        (NodeStatus(), RandomValueSource.INSTALLATION_KEY),
        # The Go operator lists its objects in appliedResources only.
        (NodeStatus(applied_resources=("Secret/a/b@c",)), RandomValueSource.INSTALLATION_KEY),
        (LEGACY, RandomValueSource.UID),
    ],
)
def test_source_does_not_change_with_later_reconciles(
    before: NodeStatus, source: RandomValueSource
) -> None:
    report = StatusReport(namespace="a", generation=1, outcomes=())
    after = next_status(before, report, NOON)
    assert random_source_of(before) is source
    listed = NodeStatus(random_source=after.random_source, resources=(ENTRY,))
    assert random_source_of(listed) is source


@pytest.mark.parametrize(
    ("before", "has_key", "recorded"),
    [
        (None, False, RandomValueSource.NONE),
        (RandomValueSource.NONE, False, RandomValueSource.NONE),
        (RandomValueSource.NONE, True, RandomValueSource.INSTALLATION_KEY),
        (RandomValueSource.INSTALLATION_KEY, False, RandomValueSource.INSTALLATION_KEY),
    ],
)
def test_key_is_recorded_only_if_there_was_one(
    before: RandomValueSource | None, *, has_key: bool, recorded: RandomValueSource
) -> None:
    """A key that never existed would count as lost, and would never be created."""
    report = StatusReport(namespace="a", generation=1, outcomes=(), has_key=has_key)
    after = next_status(NodeStatus(random_source=before), report, NOON)
    assert after.random_source is recorded
    listed = NodeStatus(random_source=after.random_source, resources=(ENTRY,))
    assert random_source_of(listed) is RandomValueSource.INSTALLATION_KEY


@given(st.lists(st.text(max_size=4), max_size=4), st.lists(st.text(max_size=4), max_size=4))
def test_different_parts_derive_different_bytes(one: list[str], other: list[str]) -> None:
    assert (KEY.derive("p", *one) == KEY.derive("p", *other)) is (one == other)


@pytest.mark.parametrize("size", [0, 31, 33])
def test_key_of_another_size_is_rejected(size: int) -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        InstallationKey(b"k" * size)


def test_key_is_not_shown() -> None:
    assert "k" * 4 not in repr(InstallationKey(b"k" * 32))
