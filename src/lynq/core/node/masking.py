"""The masks of a node: which values of its row and its manifests are never shown.

Of a Secret, nothing that the API server quotes is shown, so it has no mask. Of every other kind,
the values of the row and all texts that were rendered from a template are masked.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from msgspec.structs import replace

from lynq.api import LynqNode
from lynq.api.masking import Mask
from lynq.core.node.state import ResourceFacts
from lynq.core.node.variables import VariablesError, variables_of

_SHOWN_VARIABLES: Final = frozenset({"uid", "activate", "hubId", "templateRef"})
"""Variables that are part of names, or the same for every row."""
_SECRET: Final = "Secret"  # noqa: S105 - a kind


def mask_readiness(node: LynqNode, facts: ResourceFacts) -> ResourceFacts:
    """Return the facts without values of the row in the readiness of the object."""
    live = facts.live
    if live is None or not live.readiness.message:
        return facts
    mask = Mask(_values(node), shown=(*_names(node), facts.ref.name, facts.ref.namespace))
    readiness = replace(live.readiness, message=mask(live.readiness.message))
    return replace(facts, live=replace(live, readiness=readiness))


def explanation_mask(node: LynqNode, facts: ResourceFacts) -> Mask | None:
    """Return the mask of what the API server says about an object; None if nothing is shown."""
    ref = facts.ref
    if ref.kind == _SECRET:
        return None
    obj: Mapping[str, Any] = facts.desired.obj if facts.desired else {}
    return Mask(
        _values(node),
        rendered=_rendered_texts(facts.resource.spec, obj),
        shown=(*_names(node), ref.name, ref.namespace, ref.kind),
    )


def _values(node: LynqNode) -> dict[str, str]:
    try:
        variables = variables_of(node)
    except VariablesError:
        return dict(node.metadata.annotations)
    return {name: text for name, text in variables.items() if name not in _SHOWN_VARIABLES}


def _names(node: LynqNode) -> tuple[str, ...]:
    metadata = node.metadata
    return (metadata.name, metadata.namespace, node.spec.uid, node.spec.template_ref)


def _rendered_texts(source: object, rendered: object) -> Iterator[str]:
    """Yield the texts of an object that come from a template."""
    if isinstance(source, dict) and isinstance(rendered, dict):
        for key, value in source.items():
            yield from _rendered_texts(value, rendered.get(key))
    elif isinstance(source, list) and isinstance(rendered, list):
        for value, text in zip(source, rendered, strict=False):
            yield from _rendered_texts(value, text)
    elif isinstance(source, str) and "{{" in source and isinstance(rendered, str | int | float):
        yield str(rendered)
