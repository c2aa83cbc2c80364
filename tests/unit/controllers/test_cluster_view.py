"""What the caches answer for the webhooks, and when they know too little to."""

from types import SimpleNamespace
from typing import Any

import pytest

from lynq.api.metadata import ObjectKey
from lynq.controllers.context import BY_FORM, BY_HUB, CachedClusterView

SHOP = ObjectKey("prod", "shop")


def records(*, synced: bool = True, **found: Any) -> Any:
    return SimpleNamespace(
        cache=SimpleNamespace(has_synced=synced),
        get=lambda key: found.get("hub") if key == SHOP else None,
        by=lambda index, key: found.get(index, []) if key == SHOP else [],
    )


def knowledge(
    hubs: Any = None, nodes: Any = None, namespaces: tuple[str, ...] = ()
) -> CachedClusterView:
    world: Any = SimpleNamespace(
        hubs=hubs or records(),
        nodes=nodes or records(),
        options=SimpleNamespace(namespaces=namespaces),
    )
    return CachedClusterView(world)


@pytest.mark.parametrize(
    ("known", "sees"),
    [
        (knowledge(), True),
        (knowledge(namespaces=("prod", "dev")), True),
        (knowledge(namespaces=("dev",)), False),
        (knowledge(hubs=records(synced=False)), False),
        (knowledge(nodes=records(synced=False)), False),
    ],
)
def test_namespace_is_covered_once_listed(known: CachedClusterView, sees: bool) -> None:  # noqa: FBT001
    assert known.covers("prod") is sees


def test_hub_lookup_returns_its_spec() -> None:
    hub: Any = SimpleNamespace(spec=object())
    assert knowledge(hubs=records(hub=hub)).hub(SHOP) is hub.spec
    assert knowledge().hub(SHOP) is None


def test_nodes_are_found_by_hub_and_by_form() -> None:
    one: Any = object()
    other: Any = object()
    found: dict[str, Any] = {BY_HUB: [one, other], BY_FORM: [other]}
    known = knowledge(nodes=records(**found))
    assert list(known.nodes_of_hub(SHOP)) == [one, other]
    assert list(known.nodes_of_form(SHOP)) == [other]
