"""Where everything of a form is: each resource, and each text that can be a template, by its path.

Paths are written as the API server writes them in its own refusals: `spec.services[0]`, and
`labelsTemplate[app.kubernetes.io/name]` for a key that is no plain word.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from msgspec.structs import fields

from lynq.api import ResourceLists, TResource
from lynq.api.problems import at_key

DEEPEST: Final = 200
"""How deep a manifest may be nested; the engine renders no deeper."""

_LISTS: Final = tuple((field.name, field.encode_name) for field in fields(ResourceLists))


@dataclass(frozen=True, slots=True)
class PlacedResource:
    """A resource and where it is."""

    path: str
    list_name: str
    """The list it is in, as JSON calls it."""
    resource: TResource


@dataclass(frozen=True, slots=True)
class Text:
    """A text that is rendered, and where it is."""

    path: str
    source: str
    by_hub: bool = False
    """Whether the hub renders it, once per write of a node, and not the node."""


def placed_resources(lists: ResourceLists) -> Iterator[PlacedResource]:
    """Yield all resources in the canonical order."""
    for name, json_name in _LISTS:
        resources: tuple[TResource, ...] = getattr(lists, name)
        for position, resource in enumerate(resources):
            yield PlacedResource(f"spec.{json_name}[{position}]", json_name, resource)


def texts_of(placed: PlacedResource) -> Iterator[Text]:
    """Yield every text of a resource that holds an action; any other is taken as it is."""
    return (text for text in _all_texts(placed) if "{{" in text.source)


def too_deep(placed: PlacedResource) -> bool:
    """Return whether the manifest is nested deeper than can be rendered."""
    level: list[object] = [placed.resource.spec]
    for _ in range(DEEPEST + 1):
        level = [item for value in level for item in _items(value)]
        if not level:
            return False
    return True


def _all_texts(placed: PlacedResource) -> Iterator[Text]:
    path, resource = placed.path, placed.resource
    yield Text(f"{path}.nameTemplate", resource.name_template, by_hub=True)
    for name, template in (
        ("labelsTemplate", resource.labels_template),
        ("annotationsTemplate", resource.annotations_template),
    ):
        for key, source in template.items():
            yield Text(at_key(f"{path}.{name}", key), source, by_hub=True)
    yield Text(f"{path}.targetNamespace", resource.target_namespace)
    yield from _within(resource.spec, f"{path}.spec", 0)


def _within(value: object, path: str, depth: int) -> Iterator[Text]:
    if isinstance(value, str):
        yield Text(path, value)
    elif depth > DEEPEST:
        # `too_deep` tells of it.
        return
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _within(item, at_key(path, key), depth + 1)
    elif isinstance(value, list):
        for position, item in enumerate(value):
            yield from _within(item, f"{path}[{position}]", depth + 1)


def _items(value: object) -> Iterator[object]:
    if isinstance(value, Mapping):
        yield from value.values()
    elif isinstance(value, list):
        yield from value
