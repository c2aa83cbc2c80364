"""Check the names that came out of templates, before they become part of a path.

The API server judges names by their kind and says what it wants. What is refused here could not
even be asked: a `/` would lead to another object.
"""

from collections.abc import Mapping
from typing import Any

from lynq.api.naming import LABEL_LIMIT, NAME_LIMIT, is_subdomain
from lynq.core.guard.rejections import printable
from lynq.core.node.refusals import RenderError


def check_name(this: str, name: object) -> str:
    """Return the object's name; raises RenderError if no path can hold it."""
    if not isinstance(name, str) or not name:
        raise RenderError(
            this, "nameTemplate", "the object has no name; give nameTemplate or metadata.name"
        )
    if len(name) > NAME_LIMIT:
        wrong = f"has {len(name)} characters, {NAME_LIMIT} at most are possible; use trunc63"
    elif name in {".", ".."} or any(char in "/%" or char.isspace() for char in name):
        wrong = "cannot be a name"
    elif not name.isprintable():
        wrong = "holds characters that cannot be printed"
    else:
        return name
    raise RenderError(this, "nameTemplate", f'"{printable(name)}" {wrong}')


def check_namespace(this: str, namespace: str) -> str:
    """Return the namespace; raises RenderError if none can have this name."""
    if len(namespace) <= LABEL_LIMIT and "." not in namespace and is_subdomain(namespace):
        return namespace
    raise RenderError(
        this,
        "targetNamespace",
        f'"{printable(namespace)}" cannot be a namespace: at most {LABEL_LIMIT} characters of '
        "a–z, 0–9 and -, not - at either end",
    )


def text_at(this: str, obj: Mapping[str, Any], key: str) -> str:
    """Return a text that every manifest must have."""
    value = obj.get(key)
    if isinstance(value, str) and value:
        return value
    raise RenderError(this, key, "the manifest needs it, as a text")
