"""The template variables of a node: the row, as the hub wrote it into the node's annotations."""

import msgspec

from lynq.api import LynqNode
from lynq.api.names import (
    ANNOTATION_ACTIVATE,
    ANNOTATION_EXTRA,
    ANNOTATION_HOST_OR_URL,
    ANNOTATION_HUB_ID,
    TRUE,
)
from lynq.api.nesting import depth_checked
from lynq.template.functions.url import to_host

_Extras = dict[str, str | None] | None


class VariablesError(Exception):
    """The row in the node's annotations cannot be decoded; the message contains no row value."""


def variables_of(node: LynqNode) -> dict[str, str]:
    """Return the template variables of a node; raises VariablesError.

    An extra value overrides the columns of the row. Nothing overrides hubId and templateRef: they
    identify the node's hub and form.
    """
    annotations = node.metadata.annotations
    # `.host` always exists: existing templates use it since before the column became optional.
    host_or_url = annotations.get(ANNOTATION_HOST_OR_URL) or node.spec.uid
    variables = {
        "uid": node.spec.uid,
        "hostOrUrl": host_or_url,
        "host": to_host(host_or_url),
        "activate": annotations.get(ANNOTATION_ACTIVATE) or TRUE,
        **_extras(annotations.get(ANNOTATION_EXTRA, "")),
    }
    if hub_id := annotations.get(ANNOTATION_HUB_ID):
        variables["hubId"] = hub_id
    return {**variables, "templateRef": node.spec.template_ref}


def _extras(text: str) -> dict[str, str]:
    if not text.strip():
        return {}
    try:
        extras = msgspec.json.decode(depth_checked(text), type=_Extras)
    except (msgspec.DecodeError, UnicodeError) as error:
        raise VariablesError(
            f"the annotation {ANNOTATION_EXTRA} is not a JSON object of strings ({error}); "
            "if it was edited, the hub restores it at its next sync"
        ) from None
    return {name: value or "" for name, value in (extras or {}).items()}
