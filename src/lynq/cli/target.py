"""The object that a command acts on: a hub, a form or a node, by `NAME` or `KIND/NAME`."""

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any, Final, TypeAlias

from lynq.api import LynqForm, LynqHub, LynqNode
from lynq.api.node_metadata import is_deleting
from lynq.api.wire import rfc3339
from lynq.cli.connection import Cluster
from lynq.cli.exit_codes import CommandError
from lynq.cli.lookup import FORMS, HUBS, NODES, find_form, find_hub, find_node
from lynq.cli.output import print_line
from lynq.kube import Resource
from lynq.kube.errors import Forbidden
from lynq.kube.requests import with_uid

Target: TypeAlias = LynqHub | LynqForm | LynqNode

FIELD_MANAGER: Final = "lynq-cli"
"""The field manager of what people set with the command line."""

_FINDERS: Final[dict[str, Callable[[Cluster, str], Awaitable[Target]]]] = {
    "hub": find_hub,
    "form": find_form,
    "node": find_node,
}
_RESOURCES: Final[dict[type[Target], Resource]] = {
    LynqHub: HUBS,
    LynqForm: FORMS,
    LynqNode: NODES,
}


def reference(target: Target) -> str:
    """Return `hub/NAME`, `form/NAME` or `node/NAME`."""
    return f"{target.kind.removeprefix('Lynq').lower()}/{target.metadata.name}"


async def find_target(cluster: Cluster, name: str) -> Target:
    """Return a hub, form or node by `KIND/NAME`, or by a name that only one of them has."""
    kind, separator, _ = name.partition("/")
    if separator:
        kind = kind.lower().removesuffix("s").removeprefix("lynq")
        if kind not in _FINDERS:
            raise CommandError(f'"{name}" is not hub/NAME, form/NAME or node/NAME.')
        return await _FINDERS[kind](cluster, name)
    matches, denials = [], []
    for find in _FINDERS.values():
        try:
            matches.append(await find(cluster, name))
        except CommandError:
            continue
        except Forbidden as error:
            denials.append(error.missing_right or str(error))
    if denials and not matches:
        raise CommandError(f'"{name}" is not found with your rights: {"; ".join(denials)}.')
    if not matches:
        raise CommandError(
            f'No hub, form or node "{name}" in the namespace "{cluster.namespace}". '
            "Look in all: lynq get -A"
        )
    if len(matches) > 1:
        names = " or ".join(reference(match) for match in matches)
        raise CommandError(f'"{name}" is ambiguous. Write {names}.')
    return matches[0]


def refuse_deleting(target: Target) -> None:
    """Raise CommandError if the object is being deleted."""
    if is_deleting(target):
        raise CommandError(f"{reference(target)} is being deleted. Nothing was changed.")


async def annotate(cluster: Cluster, target: Target, annotation: str, value: str | None) -> None:
    """Set an annotation of the object, or remove it."""
    await patch(cluster, target, {"metadata": {"annotations": {annotation: value}}})


async def patch(cluster: Cluster, target: Target, changes: dict[str, Any]) -> None:
    """Send a merge patch of the object, which must still have the same uid."""
    await cluster.client.patch(
        _RESOURCES[type(target)],
        target.metadata.name,
        with_uid(changes, target.metadata.uid),
        target.metadata.namespace,
        manager=FIELD_MANAGER,
    )


def trigger_value(now: datetime) -> str:
    """Return the value of an annotation that triggers by its change."""
    return rfc3339(now)


def print_done(target: Target, verb: str) -> None:
    """Print the result like kubectl does."""
    print_line(f"{reference(target)} {verb}")
