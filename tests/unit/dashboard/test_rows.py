"""The rows of a hub, read by the labels of its nodes."""

from typing import Any

from lynq.api.metadata import ObjectKey
from lynq.dashboard.views.hub import _read_nodes


class Lists:
    """Records the selectors of lists."""

    def __init__(self) -> None:
        self.selectors: list[str] = []
        self.client = self

    async def list(self, *_: object, labels: str, **__: object) -> list[Any]:
        self.selectors.append(labels)
        return []


async def test_uid_of_an_edited_node_is_in_no_selector() -> None:
    viewer: Any = Lists()
    uids = ("acme", "a b", "x),lynq.sh/hub notin (y", "", "é", "beta")
    await _read_nodes(viewer, ObjectKey("shop", "hub"), uids)
    await _read_nodes(viewer, ObjectKey("shop", "hub"), ("a b",))
    assert viewer.selectors == ["lynq.sh/hub=hub,lynq.sh/uid in (acme,beta)"]
