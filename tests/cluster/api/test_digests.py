"""The digest of a spec does not change when the API server stores it."""

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lynq.api import LynqNode, Metadata, NodeSpec, TResource
from lynq.api.digests import is_untouched, spec_digest
from lynq.api.names import ANNOTATION_SPEC_DIGEST
from lynq.kube import Client
from lynq.kube.resource import resource_of

NODES = resource_of(LynqNode.definition)

# Values of a stored form: the API server has turned larger floats into integers.
FLOATS = st.floats(-(2**53), 2**53)
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**63), 2**63 - 1), FLOATS, st.text(max_size=8)
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)


@pytest.mark.usefixtures("crds")
@settings(
    max_examples=40,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.dictionaries(st.text(max_size=5), VALUES, max_size=4))
async def test_digest_survives_the_api_server_for_any_manifest(
    client: Client, namespace: str, body: dict[str, object]
) -> None:
    manifest = {"apiVersion": "v1", "kind": "ConfigMap", "payload": body}
    entry = TResource(id="a", spec=manifest, name_template="a", labels_template={"b": "c"})
    spec = NodeSpec(uid="acme", template_ref="web", config_maps=(entry,))
    annotations = {ANNOTATION_SPEC_DIGEST: spec_digest(spec, {})}
    node = LynqNode(metadata=Metadata(generate_name="n-", annotations=annotations), spec=spec)
    sent = msgspec.to_builtins(node)
    sent["metadata"]["namespace"] = namespace
    stored = await client.create(NODES, sent, into=LynqNode, dry_run=True)
    assert is_untouched(stored)
