"""Entries of nodes: they share what they can, and lose nothing of it."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from dashboard.many_nodes import entry_bytes, manifest
from lynq.api.text import one_line
from lynq.controllers.decoding import RawObject
from lynq.dashboard.node_entry import NodeEntry, message_pattern, node_entry, uid_part

NAMES = st.text("ab-\0\1", max_size=4)
MOST_BYTES = 300


def entry(name: str, uid: str, message: str) -> NodeEntry:
    pattern = message_pattern(message, name, uid)
    part = uid_part(name, uid)
    return NodeEntry("ns", name, part, "web", "hub", "Failed", 0, 1, "", "", "", pattern, 0, 0, 0.0)


@given(st.text("ab-", min_size=1, max_size=4), NAMES, st.text("ab-\0\1 ü", max_size=30))
def test_entry_has_the_uid_and_the_message_of_its_node(name: str, uid: str, message: str) -> None:
    shown = entry(name, uid, message)
    assert shown.uid == uid
    assert shown.message == one_line(message, 200)


def test_entry_with_a_message_of_its_group_takes_less_than_300_bytes() -> None:
    manifests = [manifest(number, "ns") for number in range(0, 4000, 4)]
    encoded = map(msgspec.json.encode, manifests)
    entries = [node_entry(msgspec.json.decode(node, type=RawObject)) for node in encoded]
    (resource,) = manifests[7]["status"]["resources"]
    assert entries[7].message == resource["message"]
    assert entry_bytes(entries) < MOST_BYTES
