"""The view of the cluster that the webhooks read from the caches."""

from types import SimpleNamespace
from typing import Any

import pytest

from lynq.api.metadata import ObjectKey
from lynq.controllers.context import BY_FORM, BY_HUB, CachedClusterView
from lynq.controllers.options import UNSHARDED, Shard

SHOP = ObjectKey("prod", "shop")


def cached_client(*, synced: bool = True, **content: Any) -> Any:
    return SimpleNamespace(
        cache=SimpleNamespace(has_synced=synced),
        get=lambda key: content.get("hub") if key == SHOP else None,
        by=lambda index, key: content.get(index, []) if key == SHOP else [],
    )


def cluster_view(
    hubs: Any = None,
    nodes: Any = None,
    namespaces: tuple[str, ...] = (),
    shard: Shard = UNSHARDED,
) -> CachedClusterView:
    context: Any = SimpleNamespace(
        hubs=hubs or cached_client(),
        nodes=nodes or cached_client(),
        options=SimpleNamespace(namespaces=namespaces, shard=shard),
    )
    return CachedClusterView(context)


@pytest.mark.parametrize(
    ("view", "covered"),
    [
        (cluster_view(), True),
        (cluster_view(namespaces=("prod", "dev")), True),
        (cluster_view(namespaces=("dev",)), False),
        (cluster_view(hubs=cached_client(synced=False)), False),
        (cluster_view(nodes=cached_client(synced=False)), False),
    ],
)
def test_namespace_is_covered_once_listed(view: CachedClusterView, covered: bool) -> None:  # noqa: FBT001
    assert view.covers("prod") is covered


def test_hub_lookup_returns_its_spec() -> None:
    hub: Any = SimpleNamespace(spec=object())
    assert cluster_view(hubs=cached_client(hub=hub)).hub(SHOP) is hub.spec
    assert cluster_view().hub(SHOP) is None


def test_nodes_are_found_by_hub_and_by_form() -> None:
    one: Any = object()
    other: Any = object()
    content: dict[str, Any] = {BY_HUB: [one, other], BY_FORM: [other]}
    view = cluster_view(nodes=cached_client(**content))
    assert view.nodes_of_hub(SHOP) == [one, other]
    assert view.nodes_of_form(SHOP) == [other]


@pytest.mark.parametrize(
    "unknown",
    [{"namespaces": ("dev",)}, {"shard": Shard(1, 2)}, {"nodes": cached_client(synced=False)}],
)
def test_nodes_are_unknown_unless_all_of_them_are_watched(unknown: dict[str, Any]) -> None:
    assert cluster_view(**unknown).nodes_of_hub(SHOP) is None
    assert cluster_view(**unknown).nodes_of_form(SHOP) is None
    assert cluster_view(shard=Shard(0, 2)).nodes_of_hub(SHOP) == []
