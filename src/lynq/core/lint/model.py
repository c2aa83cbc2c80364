"""The data types of lint: rules, findings and the objects that are linted."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from lynq.api import FormSpec
from lynq.core.form.templates import PlacedResource, placed_resources

ANNOTATION_DISABLE: Final = "lynq.sh/lint-disable"
"""Names rules, separated by commas, that are not applied to the object."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A place that a rule objects to."""

    rule: str
    path: str
    """The field, for example `spec.deployments[0].spec.spec.template`."""
    message: str


@dataclass(frozen=True)
class FormToLint:
    """A form, and its resources."""

    spec: FormSpec

    @cached_property
    def resources(self) -> tuple[PlacedResource, ...]:
        """The resources in the canonical order."""
        return tuple(placed_resources(self.spec))


@dataclass(frozen=True, slots=True)
class FormRule:
    """A rule for forms."""

    name: str
    reason: str
    """One sentence: why it matters."""
    check: Callable[[FormToLint], Iterator[tuple[str, str]]]
    """Yields path and message of each finding."""

    def findings(self, form: FormToLint) -> Iterator[Finding]:
        """Yield the findings of a form."""
        for path, message in self.check(form):
            yield Finding(self.name, path, message)


@dataclass(frozen=True, slots=True)
class Container:
    """A container of a workload, and its path."""

    path: str
    spec: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The name of the container."""
        return str(self.spec.get("name", ""))


_POD_SPECS: Final[Mapping[str, tuple[str, ...]]] = {
    "Pod": ("spec",),
    "Deployment": ("spec", "template", "spec"),
    "StatefulSet": ("spec", "template", "spec"),
    "DaemonSet": ("spec", "template", "spec"),
    "ReplicaSet": ("spec", "template", "spec"),
    "Job": ("spec", "template", "spec"),
    "CronJob": ("spec", "jobTemplate", "spec", "template", "spec"),
}


def kind_of(placed: PlacedResource) -> str:
    """Return the kind of the manifest; empty if it is no text."""
    kind = placed.resource.spec.get("kind")
    return kind if isinstance(kind, str) else ""


def containers_of(placed: PlacedResource, *, with_init: bool = True) -> Iterator[Container]:
    """Yield the containers of a workload."""
    fields = _POD_SPECS.get(kind_of(placed), ())
    pod: object = placed.resource.spec if fields else None
    for name in fields:
        pod = pod.get(name) if isinstance(pod, Mapping) else None
    if not isinstance(pod, Mapping):
        return
    for name in ("initContainers", "containers") if with_init else ("containers",):
        listed = pod.get(name)
        for index, container in enumerate(listed if isinstance(listed, list) else ()):
            if isinstance(container, Mapping):
                path = ".".join((placed.path, "spec", *fields, name))
                yield Container(f"{path}[{index}]", container)
