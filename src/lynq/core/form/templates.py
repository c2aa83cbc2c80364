"""Check the templates of a form without rendering them.

Paths are written as the API server writes them: `spec.services[0]`, and
`labelsTemplate[app.kubernetes.io/name]` for a key that is not a plain word.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from lynq.api import CreationPolicy, HubSpec, ResourceLists, TResource
from lynq.api.problems import Problem, ProblemKind, at_key
from lynq.api.resource import resources_by_list
from lynq.template import (
    Needs,
    TemplateError,
    called_functions,
    compile_template,
    referenced_variables,
)

_REMOVED_FUNCTIONS: Final = frozenset(
    f'function "{name}" not defined' for name in ("env", "expandenv", "getHostByName")
)
"""Errors of functions that the Go operator has: they read the environment of the operator."""
MAX_DEPTH: Final = 200
"""How many levels a manifest may be nested; the template engine renders no more."""
MAX_TEMPLATES: Final = 2000
"""How many different templates a form may have: each takes half a millisecond to compile."""
MAX_TOKENS: Final = 64_000
"""How many tokens all templates of a form may have together: eight times the limit of one."""
_SPLIT: Final = "split the form"

_BUILT_IN_VARIABLES: Final = frozenset({"uid", "activate", "hubId", "templateRef"})
_DEPRECATED_VARIABLES: Final = frozenset({"hostOrUrl", "host"})


@dataclass(frozen=True, slots=True)
class PlacedResource:
    """A resource and its path."""

    path: str
    list_name: str
    """The JSON name of the list that contains the resource."""
    resource: TResource

    @property
    def name(self) -> str:
        """The template of the object's name; "" if there is none."""
        metadata = self.resource.spec.get("metadata")
        name = metadata.get("name") if isinstance(metadata, Mapping) else None
        return self.resource.name_template or str(name or "")


@dataclass(frozen=True, slots=True)
class TemplateText:
    """A string that may be a template, and its path."""

    path: str
    source: str
    identifies: bool = False
    """Whether it is a name, label, annotation or namespace: it is rendered in every plan or
    reconcile, and may not call slow functions."""


def placed_resources(lists: ResourceLists) -> Iterator[PlacedResource]:
    """Yield all resources in the canonical order."""
    for list_name, resources in resources_by_list(lists):
        for position, resource in enumerate(resources):
            yield PlacedResource(f"spec.{list_name}[{position}]", list_name, resource)


def is_too_deep(placed: PlacedResource) -> bool:
    """Return whether the manifest is nested deeper than MAX_DEPTH."""
    level: list[object] = [placed.resource.spec]
    for _ in range(MAX_DEPTH + 1):
        level = [item for value in level for item in _items(value)]
        if not level:
            return False
    return True


class ValidationInterrupted(Exception):  # noqa: N818 - the form may be valid
    """The time for a validation is over before its end."""


def check_templates(
    resources: Iterable[PlacedResource],
    hub: HubSpec | None,
    may_continue: Callable[[], bool] = lambda: True,
) -> Iterator[Problem]:
    """Yield the problems of all templates; without a hub, unmapped variables are not reported.

    Raises ValidationInterrupted as soon as `may_continue` returns False.
    """
    uses: dict[str, _VariableUse] = {}
    tokens = 0
    resources = tuple(resources)
    if _count_templates(resources) > MAX_TEMPLATES:
        yield Problem("spec", f"has more than {MAX_TEMPLATES} different templates: {_SPLIT}")
        return
    for placed in resources:
        for text in templates_of(placed):
            if not may_continue():
                raise ValidationInterrupted
            if tokens > MAX_TOKENS:
                yield Problem("spec", f"templates have more than {MAX_TOKENS:,} tokens: {_SPLIT}")
                return
            try:
                tokens += compile_template(text.source).tokens
                yield from _check_functions(placed, text)
                for variable in referenced_variables(text.source):
                    uses.setdefault(variable, _VariableUse()).paths.append(text.path)
            except TemplateError as error:
                # A character is a token at most.
                tokens += len(text.source)
                yield _parse_problem(placed, text, error)
    yield from _check_variables(uses, hub)


def _count_templates(resources: Iterable[PlacedResource]) -> int:
    return len({text.source for placed in resources for text in templates_of(placed)})


def templates_of(placed: PlacedResource) -> Iterator[TemplateText]:
    """Yield the texts that contain an action; any other text is used verbatim."""
    return (text for text in _texts_of(placed) if "{{" in text.source)


def _texts_of(placed: PlacedResource) -> Iterator[TemplateText]:
    path, resource = placed.path, placed.resource
    yield TemplateText(f"{path}.nameTemplate", resource.name_template, identifies=True)
    for name, templates in (
        ("labelsTemplate", resource.labels_template),
        ("annotationsTemplate", resource.annotations_template),
    ):
        for key, source in templates.items():
            yield TemplateText(at_key(f"{path}.{name}", key), source, identifies=True)
    yield TemplateText(f"{path}.targetNamespace", resource.target_namespace, identifies=True)
    yield from _texts_within(resource.spec, f"{path}.spec", 0)


def _texts_within(value: object, path: str, depth: int) -> Iterator[TemplateText]:
    if isinstance(value, str):
        yield TemplateText(path, value)
    elif depth > MAX_DEPTH:
        # `is_too_deep` reports it.
        return
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _texts_within(item, at_key(path, key), depth + 1)
    elif isinstance(value, list):
        for position, item in enumerate(value):
            yield from _texts_within(item, f"{path}[{position}]", depth + 1)


def _items(value: object) -> Iterator[object]:
    if isinstance(value, Mapping):
        yield from value.values()
    elif isinstance(value, list):
        yield from value


def _parse_problem(placed: PlacedResource, text: TemplateText, error: TemplateError) -> Problem:
    """Return the problem of a template that does not compile.

    A form that the Go operator accepted is not frozen for a function that Lynq does not have.
    """
    is_removed = error.message in _REMOVED_FUNCTIONS
    message = f"line {error.line}: {error.message}"
    return Problem(text.path, message, resource=placed.resource.id if is_removed else "")


def _check_functions(placed: PlacedResource, text: TemplateText) -> Iterator[Problem]:
    template, resource = compile_template(text.source), placed.resource
    if template.slow and text.identifies:
        names = ", ".join(called_functions(text.source, Needs.SLOW))
        message = f"{names} is too slow here; call it in the manifest only"
        yield Problem(text.path, message, resource=resource.id)
    elif template.needs & Needs.ENTROPY and resource.creation_policy is not CreationPolicy.ONCE:
        names = ", ".join(called_functions(text.source, Needs.ENTROPY))
        message = (
            f"{names} gives another value in every render, so the resource would be applied again "
            "and again; set creationPolicy: Once"
        )
        yield Problem(text.path, message, resource=resource.id)


@dataclass(frozen=True, slots=True)
class _VariableUse:
    """The paths of the templates that read a variable."""

    paths: list[str] = field(default_factory=list)

    def warning(self, message: str) -> Problem:
        """Return one warning for all paths: admission responses limit the length of warnings."""
        hidden = len(self.paths) - 1
        more = f" (used in {hidden} more {'place' if hidden == 1 else 'places'})"
        return Problem(self.paths[0], message + (more if hidden else ""), ProblemKind.WARNING)


def _check_variables(uses: dict[str, _VariableUse], hub: HubSpec | None) -> Iterator[Problem]:
    extras = frozenset(hub.extra_value_mappings) if hub else frozenset()
    for variable, use in sorted(uses.items()):
        if variable in _BUILT_IN_VARIABLES or variable in extras:
            continue
        if variable in _DEPRECATED_VARIABLES and (hub is None or hub.value_mappings.host_or_url):
            yield use.warning(
                f".{variable} is deprecated: map the column in extraValueMappings of the hub, "
                "and use the function toHost"
            )
        elif hub is not None:
            yield use.warning(f"the hub does not map .{variable}: add it to extraValueMappings")
