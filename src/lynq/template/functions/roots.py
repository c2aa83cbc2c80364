"""The root map as functions hand it out: the same map, but without the name of its type.

In Go the root is a `template.Variables`. A function that takes any map gets it as a plain one, and
what it gives back is plain as well, so that `dig "a" "b" (set . "c" 1)` works where `dig "a" "b" .`
does not. What is written to the plain one is seen in the root.
"""

from lynq.template.values import ANY_MAP, Typed, Variables


class Unnamed(Typed, dict[str, object]):
    """A copy of the root that writes through to it."""

    __slots__ = ("root",)
    go_type = ANY_MAP

    def __init__(self, root: Variables) -> None:
        super().__init__(root)
        self.root = root


def unnamed(mapping: dict[str, object]) -> dict[str, object]:
    """Give the map as a plain one."""
    return Unnamed(mapping) if isinstance(mapping, Variables) else mapping


def assign(mapping: dict[str, object], key: str, value: object) -> None:
    """Set a key, in the root too."""
    mapping[key] = value
    if isinstance(mapping, Unnamed):
        mapping.root[key] = value


def remove(mapping: dict[str, object], key: str) -> None:
    """Take a key out, of the root too."""
    mapping.pop(key, None)
    if isinstance(mapping, Unnamed):
        mapping.root.pop(key, None)
