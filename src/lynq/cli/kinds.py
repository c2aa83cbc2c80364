"""Resolves the names of kinds that people type: Deployment, deploy, deployments.apps."""

from collections.abc import Iterator
from typing import Final

from lynq.cli.exit_codes import CommandError
from lynq.kube import Client, Resource
from lynq.kube.discovery import read_served

_SHORT_NAMES: Final = {
    "cj": "cronjobs",
    "cm": "configmaps",
    "deploy": "deployments",
    "ds": "daemonsets",
    "hpa": "horizontalpodautoscalers",
    "ing": "ingresses",
    "netpol": "networkpolicies",
    "ns": "namespaces",
    "pdb": "poddisruptionbudgets",
    "po": "pods",
    "pvc": "persistentvolumeclaims",
    "rs": "replicasets",
    "sa": "serviceaccounts",
    "sts": "statefulsets",
    "svc": "services",
}
_REVIEW_GROUPS: Final = ("authentication.k8s.io", "authorization.k8s.io")
"""Groups whose kinds are all reviews: a request gets an answer, and no object is stored."""


async def find_kind(client: Client, text: str) -> Resource:
    """Return the resource of a kind; raises CommandError."""
    resource = next(_matches(await _served(client), text), None)
    if resource is None:
        raise CommandError(
            f'The API server serves no kind "{text}". List them: kubectl api-resources'
        )
    return resource


async def served_kinds(client: Client) -> list[Resource]:
    """Return every kind that is served, in one version each."""
    first: dict[tuple[str, str], Resource] = {}
    for resource in await _served(client):
        first.setdefault((resource.group, resource.kind), resource)
    return list(first.values())


async def _served(client: Client) -> list[Resource]:
    served = await read_served(client)
    return [resource for resources in served.values() for resource in resources or ()]


def is_named(resource: Resource, text: str) -> bool:
    """Return whether the text names the kind: Deployment, deploy, deployments.apps."""
    wanted = text.lower()
    wanted = _SHORT_NAMES.get(wanted, wanted)
    return wanted in (resource.kind.lower(), resource.plural, resource.name)


def is_stored(resource: Resource) -> bool:
    """Return whether objects of the kind can be listed: reviews and bindings are not stored."""
    return resource.group not in _REVIEW_GROUPS and resource.name != "bindings"


def _matches(resources: list[Resource], text: str) -> Iterator[Resource]:
    return (resource for resource in resources if is_named(resource, text))
