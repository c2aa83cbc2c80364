"""What can be said about a form's templates before there is a row to render them with.

Where everything of a form is: each resource, and each text that can be a template, by its path.

Paths are written as the API server writes them in its own refusals: `spec.services[0]`, and
`labelsTemplate[app.kubernetes.io/name]` for a key that is no plain word.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from msgspec.structs import fields

from lynq.api import CreationPolicy, HubSpec, ResourceLists, TResource
from lynq.api.problems import Problem, ProblemKind, at_key
from lynq.template import Needs, TemplateError, compile_template, referenced_variables
from lynq.template.functions.table import FUNCTIONS

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


_ALWAYS: Final = frozenset({"uid", "activate", "hubId", "templateRef"})
MOST: Final = 2000
"""How many different templates a form may have: each takes half a millisecond to compile."""
_DEPRECATED: Final = frozenset({"hostOrUrl", "host"})


def check_templates(resources: Iterable[PlacedResource], hub: HubSpec | None) -> Iterator[Problem]:
    """Yield what is wrong with the templates; without a hub, unmapped variables stay unknown."""
    uses: dict[str, _Use] = {}
    resources = tuple(resources)
    if _count_templates(resources) > MOST:
        yield Problem("spec", f"it has more than {MOST} different templates: split the form")
        return
    for placed in resources:
        for text in texts_of(placed):
            try:
                yield from _check_functions(placed, text)
                for variable in referenced_variables(text.source):
                    uses.setdefault(variable, _Use()).paths.append(text.path)
            except TemplateError as error:
                yield Problem(text.path, f"line {error.line}: {error.message}")
    yield from _check_variables(uses, hub)


def _count_templates(resources: Iterable[PlacedResource]) -> int:
    return len({text.source for placed in resources for text in texts_of(placed)})


@dataclass(frozen=True, slots=True)
class _Use:
    """Where a variable is read."""

    paths: list[str] = field(default_factory=list)

    def warning(self, message: str) -> Problem:
        """Warn once for all places: admission answers have room for few sentences."""
        further = len(self.paths) - 1
        more = f" (read in {further} more {'place' if further == 1 else 'places'})"
        return Problem(self.paths[0], message + (more if further else ""), ProblemKind.WARNING)


def _check_functions(placed: PlacedResource, text: Text) -> Iterator[Problem]:
    template = compile_template(text.source)
    if not template.needs & Needs.ENTROPY:
        return
    names = ", ".join(
        name for name in sorted(template.functions) if FUNCTIONS[name].needs & Needs.ENTROPY
    )
    if placed.resource.creation_policy is not CreationPolicy.ONCE:
        yield Problem(
            text.path,
            f"{names} cannot be repeated, so the resource would be written again and again; "
            "use it with creationPolicy: Once",
        )
    elif text.by_hub:
        yield Problem(
            text.path,
            f"{names} cannot be repeated: a node keeps its first value, also when the form changes",
            ProblemKind.WARNING,
        )


def _check_variables(uses: dict[str, _Use], hub: HubSpec | None) -> Iterator[Problem]:
    extras = frozenset(hub.extra_value_mappings) if hub else frozenset()
    for variable, use in sorted(uses.items()):
        if variable in _ALWAYS or variable in extras:
            continue
        if variable in _DEPRECATED and (hub is None or hub.value_mappings.host_or_url):
            yield use.warning(
                f".{variable} is deprecated: map the column in the hub's extraValueMappings, "
                "and use the function toHost"
            )
        elif hub is not None:
            yield use.warning(f"the hub does not map .{variable}: add it to its extraValueMappings")
