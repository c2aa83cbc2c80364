"""What can be said about a form's templates before there is a row to render them with."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from lynq.api import CreationPolicy, HubSpec
from lynq.api.problems import Problem, ProblemKind
from lynq.core.form.places import PlacedResource, Text, texts_of
from lynq.template import Needs, TemplateError, compile_template, variables
from lynq.template.functions.table import FUNCTIONS

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
                for variable in variables(text.source):
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
