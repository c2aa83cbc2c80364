"""Digests detect edits of the spec and row that the hub wrote."""

from typing import Any

import pytest
from msgspec.structs import replace

from lynq.api import LynqNode, Metadata, NodeSpec, TResource
from lynq.api.digests import is_untouched, spec_digest
from lynq.api.names import ANNOTATION_SPEC_DIGEST


def spec_of(body: Any, **parts: Any) -> NodeSpec:
    entry = TResource(id="a", spec={"kind": "ConfigMap", "data": body}, name_template="a")
    return NodeSpec(**{"uid": "acme", "template_ref": "web", "config_maps": (entry,), **parts})


def written(spec: NodeSpec, **row: str) -> LynqNode:
    marks = {f"lynq.sh/{key}": text for key, text in row.items()}
    marks |= {ANNOTATION_SPEC_DIGEST: spec_digest(spec, marks)}
    return LynqNode(metadata=Metadata(annotations=marks), spec=spec)


@pytest.mark.parametrize(
    ("sent", "stored"),
    [
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        ({"a": 2.0}, {"a": 2}),
        ({"a": [1.0, {"b": -0.0}]}, {"a": [1, {"b": 0}]}),
        ({"a": (1, 2)}, {"a": [1, 2]}),
    ],
)
def test_digest_is_stable_across_api_server_defaulting(sent: Any, stored: Any) -> None:
    assert is_untouched(replace(written(spec_of(sent)), spec=spec_of(stored)))


@pytest.mark.parametrize(
    "edited",
    [
        spec_of({"a": 2}),
        spec_of({"a": "1"}),
        spec_of({"a": 1}, uid="other"),
        spec_of({"a": 1}, config_maps=()),
    ],
)
def test_digest_changes_with_the_spec(edited: NodeSpec) -> None:
    assert not is_untouched(replace(written(spec_of({"a": 1})), spec=edited))


def test_digest_changes_with_a_fraction() -> None:
    assert not is_untouched(replace(written(spec_of({"a": 1.5})), spec=spec_of({"a": 1})))


@pytest.mark.parametrize("key", ["extra", "hostOrUrl", "activate", "hubId"])
def test_digest_changes_with_the_row_annotations(key: str) -> None:
    node = written(spec_of({"a": 1}), extra="{}", hostOrUrl="a", activate="1", hubId="hub")
    marks = node.metadata.annotations | {f"lynq.sh/{key}": "edited"}
    assert is_untouched(node)
    assert not is_untouched(replace(node, metadata=replace(node.metadata, annotations=marks)))


def test_digest_ignores_foreign_annotations() -> None:
    node = written(spec_of({"a": 1}), extra="{}")
    marks = node.metadata.annotations | {"lynq.sh/force-reconcile": "now"}
    assert is_untouched(replace(node, metadata=replace(node.metadata, annotations=marks)))


def test_node_without_digest_counts_as_untouched() -> None:
    assert is_untouched(LynqNode(spec=spec_of({"a": 1})))


@pytest.mark.parametrize("levels", [490, 600, 900, 5_000])
def test_too_deeply_nested_spec_counts_as_edited(levels: int) -> None:
    body: dict[str, Any] = {}
    for _ in range(levels):
        body = {"a": body}
    assert not is_untouched(replace(written(spec_of({"a": 1})), spec=spec_of(body)))


def test_spec_of_maximum_depth_has_a_digest() -> None:
    body: dict[str, Any] = {}
    for _ in range(200):
        body = {"a": body}
    assert is_untouched(written(spec_of(body)))
