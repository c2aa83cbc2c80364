"""A node's template variables: the row as the hub wrote it into the node's annotations."""

import msgspec

from lynq.api import LynqNode
from lynq.api.names import (
    ANNOTATION_ACTIVATE,
    ANNOTATION_EXTRA,
    ANNOTATION_HOST_OR_URL,
    ANNOTATION_HUB_ID,
    TRUE,
)
from lynq.template.functions.url import to_host

_Extras = dict[str, str | None] | None


class VariablesError(Exception):
    """The row's values in the node's annotations cannot be read; none of them is shown."""


def variables_of(node: LynqNode) -> dict[str, str]:
    """Return what the node's templates see; raises VariablesError.

    An extra wins over what comes from the row's own columns, and nothing wins over hubId and
    templateRef: these say where the node belongs.
    """
    annotations = node.metadata.annotations
    # `.host` always exists: nodes were made with it long before the column became optional.
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
        extras = msgspec.json.decode(text, type=_Extras)
    except (msgspec.DecodeError, UnicodeError) as error:
        raise VariablesError(
            f"the annotation {ANNOTATION_EXTRA} is no JSON object of texts ({error}); "
            "the hub writes it anew at its next sync if it was changed by hand"
        ) from None
    return {name: value or "" for name, value in (extras or {}).items()}
