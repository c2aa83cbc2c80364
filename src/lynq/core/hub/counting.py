"""How many resources of each kind a node has, in words."""

from collections import Counter
from typing import Final

from lynq.api import ResourceLists
from lynq.core.graph.collecting import collect

_NO_KIND: Final = "Resource"


def count_kinds(lists: ResourceLists) -> str:
    """Return the numbers as `[2 Deployment(s) 1 ConfigMap(s)]`, in the canonical order.

    By the kinds of the manifests, not by lists: so custom kinds are told by their names.
    """
    kinds = Counter(_kind(each.spec.get("kind")) for each in collect(lists))
    return "[" + " ".join(f"{count} {kind}(s)" for kind, count in kinds.items()) + "]"


def _kind(value: object) -> str:
    return value if isinstance(value, str) and value else _NO_KIND
