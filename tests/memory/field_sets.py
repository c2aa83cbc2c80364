"""Sets of fields of an object: the arithmetic behind managedFields.

As in structured-merge-diff, a path element is written as in FieldsV1: `f:name` for a field,
`k:{"name":"web"}` for an item of a list by its keys, `v:"value"` for an item of a set. A set has
members and, below each of its path elements, another set; an inner path is a member only if the
object or item itself is owned.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from memory.field_types import FieldType, ListType


@dataclass(slots=True)
class FieldSet:
    """A set of fields; treated as immutable once it is returned."""

    members: set[str] = field(default_factory=set)
    children: dict[str, "FieldSet"] = field(default_factory=dict)

    def __bool__(self) -> bool:
        """Return whether the set has a member."""
        return bool(self.members) or any(self.children.values())

    def below(self, element: str) -> "FieldSet":
        """Return the set below a path element."""
        return self.children.get(element) or FieldSet()

    def __or__(self, other: "FieldSet") -> "FieldSet":
        """Return the union."""
        elements = self.children.keys() | other.children.keys()
        return FieldSet(
            self.members | other.members,
            {each: self.below(each) | other.below(each) for each in elements},
        )

    def __and__(self, other: "FieldSet") -> "FieldSet":
        """Return the intersection."""
        elements = self.children.keys() & other.children.keys()
        return _without_empty(
            self.members & other.members,
            {each: self.children[each] & other.children[each] for each in elements},
        )

    def __sub__(self, other: "FieldSet") -> "FieldSet":
        """Return the difference."""
        return _without_empty(
            self.members - other.members,
            {
                each: below - other.below(each) if each in other.children else below
                for each, below in self.children.items()
            },
        )

    def outside(self, elements: frozenset[str]) -> "FieldSet":
        """Return the set without these elements and all below them."""
        return FieldSet(
            self.members - elements,
            {each: below for each, below in self.children.items() if each not in elements},
        )

    def paths(self, prefix: str = "") -> Iterator[str]:
        """Yield the members as the API server writes them in messages: `.data.plan`."""
        for element in sorted(self.members | self.children.keys()):
            path = prefix + _segment(element)
            if element in self.members:
                yield path
            yield from self.below(element).paths(path)

    def encoded(self) -> dict[str, Any]:
        """Return the set as FieldsV1."""
        return {
            element: {
                **({".": {}} if element in self.members and self.children.get(element) else {}),
                **self.below(element).encoded(),
            }
            for element in sorted(self.members | self.children.keys())
            if element in self.members or self.children.get(element)
        }


def decoded(fields: Mapping[str, Any]) -> FieldSet:
    """Return the set of a FieldsV1."""
    result = FieldSet()
    for element, below in fields.items():
        if element == ".":
            continue
        if not below or "." in below:
            result.members.add(element)
        if children := decoded(below):
            result.children[element] = children
    return result


def _without_empty(members: set[str], children: dict[str, FieldSet]) -> FieldSet:
    return FieldSet(members, {each: below for each, below in children.items() if below})


def _segment(element: str) -> str:
    kind, _, text = element.partition(":")
    match kind:
        case "f":
            return f".{text}"
        case "k":
            keys = json.loads(text)
            listed = ",".join(f"{key}={_compact(value)}" for key, value in keys.items())
            return f"[{listed}]"
        case _:
            return f"[={text}]"


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def item_element(item: Any, kind: FieldType) -> str:
    """Return the path element of an item of a list of type set or map."""
    if kind.list_type is ListType.SET:
        return f"v:{_compact(item)}"
    keys = {key: item.get(key, kind.defaults.get(key)) for key in sorted(kind.keys)}
    return f"k:{_compact({key: value for key, value in keys.items() if value is not None})}"


def parts(value: Any, kind: FieldType) -> list[tuple[str, Any, FieldType, bool]] | None:
    """Return path element, value, type and whether the schema names it, of each part.

    None for a value with one owner: a scalar, an atomic list or object.
    """
    if isinstance(value, dict):
        if kind.is_atomic:
            return None
        return [(f"f:{key}", part, kind.of(key), kind.names(key)) for key, part in value.items()]
    if isinstance(value, list) and kind.list_type is not ListType.ATOMIC:
        element = kind.element or FieldType()
        # An item is always a member.
        return [(item_element(item, kind), item, element, False) for item in value]
    return None


def fields_of(value: Any, kind: FieldType) -> FieldSet:
    """Return the fields of a manifest that is applied."""
    result = FieldSet()
    for element, part, part_kind, is_named in parts(value, kind) or ():
        below = fields_of(part, part_kind)
        if below:
            result.children[element] = below
        # An empty list that is not atomic has no owner; an empty object has.
        is_leaf = part == {} or parts(part, part_kind) is None
        if is_leaf or not is_named:
            result.members.add(element)
    return result


def duplicate_item(value: Any, kind: FieldType, path: str = "") -> str:
    """Return the path of a list with two items of the same keys; "" if there is none."""
    listed = parts(value, kind) or []
    if len({element for element, *_ in listed}) < len(listed):
        return path
    for element, part, part_kind, _ in listed:
        if found := duplicate_item(part, part_kind, path + _segment(element)):
            return found
    return ""


def named_members(fields: FieldSet, kind: FieldType) -> FieldSet:
    """Return the set with every inner field that the schema names as a member."""
    result = FieldSet(set(fields.members))
    for element, below in fields.children.items():
        key = element.removeprefix("f:")
        is_field = element.startswith("f:")
        part_kind = kind.of(key) if is_field else (kind.element or FieldType())
        result.children[element] = named_members(below, part_kind)
        if is_field and kind.names(key):
            result.members.add(element)
    return result


@dataclass(slots=True)
class Comparison:
    """The fields in which two objects differ."""

    added: FieldSet = field(default_factory=FieldSet)
    modified: FieldSet = field(default_factory=FieldSet)
    removed: FieldSet = field(default_factory=FieldSet)

    @property
    def written(self) -> FieldSet:
        """The fields that the second object adds or changes."""
        return self.added | self.modified


def compare(old: Any, new: Any, kind: FieldType) -> Comparison:
    """Return how `new` differs from `old`; an inner field that appears is added itself."""
    result = Comparison()
    if old is new:
        return result
    before = {part[0]: part for part in parts(old, kind) or ()}
    after = {part[0]: part for part in parts(new, kind) or ()}
    for element in before.keys() | after.keys():
        _, old_part, part_kind, _ = before.get(element) or (element, _ABSENT, after[element][2], 0)
        new_part = after[element][1] if element in after else _ABSENT
        _compare_part(result, element, old_part, new_part, part_kind)
    return result


_ABSENT: Any = object()


def _compare_part(result: Comparison, element: str, old: Any, new: Any, kind: FieldType) -> None:
    if old is _ABSENT:
        result.added.members.add(element)
    elif new is _ABSENT:
        result.removed.members.add(element)
    if not (parts(old, kind) or parts(new, kind)):
        if old is not _ABSENT and new is not _ABSENT and old != new:
            result.modified.members.add(element)
        return
    below = compare(old, new, kind)
    for mine, theirs in (
        (result.added, below.added),
        (result.modified, below.modified),
        (result.removed, below.removed),
    ):
        if theirs:
            mine.children[element] = theirs


def without(value: Any, fields: FieldSet, kind: FieldType) -> Any:
    """Return a value without these fields; None if nothing is left of an object or list."""
    listed = parts(value, kind)
    if listed is None or not fields:
        return value
    kept = [
        (element, without(part, fields.below(element), part_kind))
        for element, part, part_kind, _ in listed
        if element not in fields.members
    ]
    if isinstance(value, dict):
        return {
            element.removeprefix("f:"): part for element, part in kept if part is not None
        } or None
    return [part for _, part in kept] or None


def merged(live: Any, config: Any, kind: FieldType) -> Any:
    """Return the live value with the fields of an applied manifest."""
    if isinstance(live, dict) and isinstance(config, dict) and not kind.is_atomic:
        result = dict(live)
        for key, part in config.items():
            result[key] = merged(live.get(key), part, kind.of(key))
        return result
    is_list = isinstance(live, list) and isinstance(config, list)
    if not is_list or kind.list_type is ListType.ATOMIC:
        return config
    return _merged_items(live, config, kind)


def _merged_items(live: list[Any], config: list[Any], kind: FieldType) -> list[Any]:
    """Return the items of both lists; those of both are in the order of the manifest."""
    old = {element: item for element, item, _, _ in parts(live, kind) or ()}
    new = {element: item for element, item, _, _ in parts(config, kind) or ()}
    item_kind = kind.element or FieldType()
    shared = [element for element in new if element in old]
    result: list[Any] = []
    left, right = list(old), list(new)
    while left or right:
        if left and left[0] in new and (not shared or left[0] != shared[0]):
            # Of both lists, and not the next one: it comes where the manifest has it.
            left.pop(0)
        elif left and left[0] not in new:
            result.append(old[left.pop(0)])
        else:
            element = right.pop(0)
            if element in old:
                shared.remove(element)
            if left and left[0] == element:
                left.pop(0)
            result.append(merged(old.get(element), new[element], item_kind))
    return result
