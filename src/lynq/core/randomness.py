"""The source of random values in templates: keyed by the installation, repeatable per node.

A node that was first reconciled by an operator without an installation key keeps its seed, which
is its uid: another seed would replace passwords that are in use. Its status lists objects, and has
no `randomSource`. Only the operator writes the status, so that the right to edit nodes does not
include the choice of a seed that can be computed. A node that was reconciled before there was a key
records `None`, and uses the key later.
"""

from lynq.api import LynqNode, NodeStatus, RandomValueSource
from lynq.api.installation_key import InstallationKey, KeyState
from lynq.template import RandomSource, SeededRandom, UnavailableRandom


def random_source_of(status: NodeStatus) -> RandomValueSource:
    """Return the source of a node's random values, from the status before a reconcile."""
    if status.random_source is None and status.resources:
        return RandomValueSource.UID
    return RandomValueSource.INSTALLATION_KEY


def source_to_record(status: NodeStatus, *, has_key: bool) -> RandomValueSource | None:
    """Return the source for the status after a reconcile; a node from before the key has none.

    A key that never existed is not recorded: it would count as a lost one.
    """
    source = random_source_of(status)
    if source is RandomValueSource.UID:
        return status.random_source
    has_values = has_key or status.random_source is RandomValueSource.INSTALLATION_KEY
    return source if has_values else RandomValueSource.NONE


def node_random(node: LynqNode, key: KeyState) -> RandomSource:
    """Return the randomness of the manifests that a node renders."""
    uid = node.metadata.uid
    if random_source_of(node.status) is RandomValueSource.UID:
        return SeededRandom(uid.encode())
    return _keyed(key, "random values of a node", uid)


def hub_random(hub_uid: str, node_name: str, node: LynqNode | None, key: KeyState) -> RandomSource:
    """Return the randomness of the texts that a hub renders for a node.

    A node has no uid before it is created; the uid of the hub and the node's name are as stable.
    """
    if node is not None and random_source_of(node.status) is RandomValueSource.UID:
        return SeededRandom(f"{hub_uid}/{node_name}".encode())
    return _keyed(key, "random values of a hub", hub_uid, node_name)


def _keyed(key: KeyState, purpose: str, *parts: str) -> RandomSource:
    if isinstance(key, InstallationKey):
        return SeededRandom(key.derive(purpose, *parts))
    return UnavailableRandom(f"random values need the installation key: {key.problem}")
