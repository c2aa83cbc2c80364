"""In whose name a node's objects are written and deleted, and where they may be.

A form can name a service account, and then gets no more than that account may do. Its word counts
and not the node's annotation: whoever may edit nodes must not be able to choose another account.
Only when the form is gone, and the node with it on its way out, does the annotation count.
"""

from collections.abc import Iterable
from fnmatch import fnmatchcase

from lynq.api import LynqForm, LynqNode
from lynq.api.metadata import ObjectKey
from lynq.api.names import ANNOTATION_SERVICE_ACCOUNT
from lynq.controllers.world import World
from lynq.kube import Client


class NotAllowed(Exception):  # noqa: N818 - says what is the case
    """A node may not write what it wants to; says why and what to do."""


class Accounts:
    """Chooses the client for a node's writes."""

    def __init__(self, world: World) -> None:
        self._world = world

    def client_for(self, node: LynqNode) -> Client:
        """Return the client that writes and deletes the node's objects."""
        if account := self._account(node):
            user = f"system:serviceaccount:{node.metadata.namespace}:{account}"
            return self._world.client.acting_as(user)
        return self._world.client

    def check(self, node: LynqNode, namespace: str) -> None:
        """Refuse what the node may not write into a namespace, "" for none; raises NotAllowed."""
        if self._world.options.requires_service_account and not self._account(node):
            raise NotAllowed(
                "this operator writes nothing without a service account: "
                "set spec.serviceAccountName in the form"
            )
        if namespace in ("", node.metadata.namespace):
            return
        form = self._form(node)
        if not _is_allowed(namespace, self._world.options.allowed_namespaces):
            raise NotAllowed(
                f'the namespace "{namespace}" is not among the operator\'s --allowed-namespaces'
            )
        if form is not None and not _is_allowed(namespace, form.spec.allowed_namespaces):
            raise NotAllowed(
                f'the namespace "{namespace}" is not among the allowedNamespaces of '
                f'form "{form.metadata.name}"'
            )

    def _account(self, node: LynqNode) -> str:
        if form := self._form(node):
            return form.spec.service_account_name or ""
        return node.metadata.annotations.get(ANNOTATION_SERVICE_ACCOUNT, "")

    def _form(self, node: LynqNode) -> LynqForm | None:
        key = ObjectKey(node.metadata.namespace, node.spec.template_ref)
        return self._world.forms.get(key)


def _is_allowed(namespace: str, patterns: Iterable[str]) -> bool:
    patterns = tuple(patterns)
    return not patterns or any(fnmatchcase(namespace, pattern) for pattern in patterns)
