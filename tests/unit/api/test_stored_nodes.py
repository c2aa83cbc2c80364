"""An upgrade leaves the digests and signatures of stored nodes valid.

The nodes were written by a hub of an earlier version, one per form; they are never written again. A
field that a later version adds is part of a digest and a signature only when it is set: otherwise
every tenant would wait until its hub has written its node again.
"""

import base64
from pathlib import Path
from typing import Any

import msgspec
import pytest

from lynq.api import LynqNode
from lynq.api.digests import is_signed, is_untouched
from lynq.api.installation_key import InstallationKey

_STORED: Any = msgspec.json.decode(Path(__file__).with_name("stored_nodes.json").read_bytes())
_KEY = InstallationKey(base64.b64decode(_STORED["key"]))


def test_every_field_of_that_version_is_set_by_a_node() -> None:
    """The fields that a form may leave out, with values other than the defaults."""
    entries: list[dict[str, Any]] = [
        entry
        for node in _STORED["nodes"]
        for entries in node["spec"].values()
        if isinstance(entries, list)
        for entry in entries
    ]
    assert len(_STORED["nodes"]) == 20
    values = {key: {str(entry.get(key)) for entry in entries} for key in _OPTIONAL}
    assert [key for key, texts in values.items() if len(texts) < 2] == []


_OPTIONAL = [
    "adoptionPolicy",
    "annotationsTemplate",
    "conflictPolicy",
    "creationPolicy",
    "deletionPolicy",
    "dependIds",
    "ignoreFields",
    "labelsTemplate",
    "patchStrategy",
    "skipOnDependencyFailure",
    "targetNamespace",
    "timeoutSeconds",
    "waitForReady",
]


@pytest.mark.parametrize("stored", _STORED["nodes"], ids=lambda node: node["spec"]["templateRef"])
def test_stored_node_is_untouched_and_signed(stored: dict[str, Any]) -> None:
    node = msgspec.convert(stored, LynqNode)
    assert is_untouched(node)
    assert is_signed(node, _KEY)
    # The check is one: an edited node is neither.
    edited = msgspec.structs.replace(node, spec=msgspec.structs.replace(node.spec, uid="other"))
    assert not is_untouched(edited)
    assert not is_signed(edited, _KEY)
