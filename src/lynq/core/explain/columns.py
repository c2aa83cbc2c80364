"""Which columns of the row a field of a resource comes from.

The templates of the form are read, not those of the node: there, names, labels and annotations are
rendered already.

A column that a Secret reads is a secret: its value is not shown.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, Final

from lynq.api import FormSpec, HubSpec, LynqForm, LynqNode, ResourceLists
from lynq.api.masking import Mask
from lynq.api.text import printable
from lynq.core.explain.model import ColumnOrigin
from lynq.core.form.templates import PlacedResource, TemplateText, placed_resources, templates_of
from lynq.core.node.variables import VariablesError, variables_of
from lynq.template import TemplateError, referenced_variables

_SECRET: Final = "Secret"  # noqa: S105 - a kind
_SELECTOR: Final = re.compile(r"\[[^\]]*(?:\]|\Z)")
_FIELD: Final = re.compile(r"(?<![\w/.-])\.?([A-Za-z]\w*(?:\.[\w-]+|\[[^\]\s]{0,253}\])+)")
_SHOWN: Final = frozenset({"uid", "activate", "host", "hostOrUrl", "hubId", "templateRef"})
"""Variables that names and addresses are made of; they are shown everywhere."""
_RENDERED_FIELD: Final = re.compile(r" could not be rendered: (?P<field>[^\s,:]+)")


class Columns:
    """The columns that the resources of a form read."""

    def __init__(
        self, form: FormSpec | None, hub: HubSpec | None, values: Mapping[str, str]
    ) -> None:
        self._resources = {placed.resource.id: placed for placed in _placed(form)}
        self._columns = columns_by_variable(hub)
        self._values = values
        self._secret = secret_variables(form)

    def place(self, resource_id: str) -> str:
        """Return the place of a resource in the form, for example `deployments[web]`."""
        placed = self._resources.get(resource_id)
        return f"{placed.list_name}[{resource_id}]" if placed else resource_id

    def manifest(self, resource_id: str) -> Mapping[str, Any]:
        """Return the manifest of a resource; empty if the form does not have it."""
        placed = self._resources.get(resource_id)
        return placed.resource.spec if placed else {}

    def of_field(self, resource_id: str, path: str) -> tuple[ColumnOrigin, ...]:
        """Return the columns that a field, or the fields inside of it, are rendered from."""
        wanted = _normalized(path)
        exact = self._origins(resource_id, lambda field: _is_at(field, path))
        return exact or self._origins(resource_id, lambda field: _is_at(_normalized(field), wanted))

    def of_message(self, resource_id: str, message: str) -> tuple[ColumnOrigin, ...]:
        """Return the columns of the fields that a message names; without one, of all fields."""
        if match := _RENDERED_FIELD.search(message):
            return self.of_field(resource_id, match["field"])
        for path in _FIELD.findall(message):
            if origins := self.of_field(resource_id, path):
                return origins
        return self.of_resource(resource_id)

    def of_resource(self, resource_id: str) -> tuple[ColumnOrigin, ...]:
        """Return the columns of all fields of a resource, without that of the uid."""
        origins = self._origins(resource_id, lambda _: True)
        return tuple(origin for origin in origins if origin.variable != "uid")

    def _origins(
        self, resource_id: str, is_wanted: Callable[[str], bool]
    ) -> tuple[ColumnOrigin, ...]:
        placed = self._resources.get(resource_id)
        if placed is None:
            return ()
        origins: dict[str, ColumnOrigin] = {}
        for field, variables in _readings(placed):
            for variable in variables if is_wanted(field) else ():
                if variable not in _NO_COLUMNS:
                    origins.setdefault(variable, self._origin(field, variable))
        return tuple(origins.values())

    def _origin(self, field: str, variable: str) -> ColumnOrigin:
        value = None if variable in self._secret else self._values.get(variable)
        shown = None if value is None else printable(value)
        return ColumnOrigin(field, variable, self._columns.get(variable, ""), shown)


_NO_COLUMNS: Final = frozenset({"hubId", "templateRef"})
"""Variables that come from the hub and the form, and not from the row."""


def secret_variables(form: ResourceLists | None) -> set[str]:
    """Return the variables that the Secrets of a form or node read."""
    return {
        variable
        for placed in _placed(form)
        if str(placed.resource.spec.get("kind", "")) == _SECRET
        for _, variables in _readings(placed)
        for variable in variables
    }


def hidden_variables(forms: Iterable[LynqForm | LynqNode]) -> frozenset[str]:
    """Return the variables that a Secret of one of the forms reads, without those of names."""
    names = {name for form in forms for name in secret_variables(form.spec)}
    return frozenset(names - _SHOWN)


def secret_masks(versions: Collection[LynqNode]) -> tuple[Mask, ...]:
    """Return masks of the columns that Secrets of a node read, in any of its versions."""
    hidden = hidden_variables(versions)
    return tuple(
        Mask(values, shown=_names(version))
        for version in versions
        if (values := {name: text for name, text in _row(version).items() if name in hidden})
    )


def _row(node: LynqNode) -> Mapping[str, str]:
    try:
        return variables_of(node)
    except VariablesError:
        return {}


def _names(node: LynqNode) -> tuple[str, ...]:
    metadata = node.metadata
    return (metadata.name, metadata.namespace, node.spec.uid, node.spec.template_ref)


def columns_by_variable(hub: HubSpec | None) -> dict[str, str]:
    """Return the column of each variable; empty without a hub."""
    if hub is None:
        return {}
    mappings = hub.value_mappings
    columns = {"uid": mappings.uid, "activate": mappings.activate}
    if mappings.host_or_url:
        columns |= dict.fromkeys(("hostOrUrl", "host"), mappings.host_or_url)
    return columns | hub.extra_value_mappings


def container_path(manifest: Mapping[str, Any], container: str) -> str:
    """Return the path of a container in a manifest; "" if it has none of this name."""
    return next(_container_paths(manifest, container, ""), "")


def _container_paths(value: object, container: str, path: str) -> Iterator[str]:
    if not isinstance(value, Mapping):
        return
    for key, item in value.items():
        inside = f"{path}.{key}" if path else str(key)
        if key in ("containers", "initContainers") and isinstance(item, list):
            for position, entry in enumerate(item):
                name = entry.get("name") if isinstance(entry, Mapping) else None
                # A name that is a template can be any name.
                if name == container or "{{" in str(name):
                    yield f"{inside}[{position}]"
        else:
            yield from _container_paths(item, container, inside)


def _placed(form: ResourceLists | None) -> Iterator[PlacedResource]:
    return placed_resources(form) if form else iter(())


def _readings(placed: PlacedResource) -> Iterator[tuple[str, list[str]]]:
    """Yield the fields that are templates, and the variables that each reads."""
    for text in templates_of(placed):
        try:
            yield _field_of(text, placed), referenced_variables(text.source)
        except TemplateError:
            continue


def _field_of(text: TemplateText, placed: PlacedResource) -> str:
    """Return the path in the manifest, or the name of the template."""
    return text.path.removeprefix(f"{placed.path}.").removeprefix("spec.")


def _normalized(path: str) -> str:
    """Return the path without the positions and keys of list items, which are written in many ways.

    >>> _normalized('.spec.containers[name="app"].image')
    'spec.containers[].image'
    """
    return _SELECTOR.sub("[]", path).removeprefix(".")


def _is_at(field: str, wanted: str) -> bool:
    return field == wanted or field.startswith((f"{wanted}.", f"{wanted}["))
