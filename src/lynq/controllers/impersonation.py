"""In whose name a node's objects are written and deleted, and where they may be.

A form can name a service account, and then gets no more than that account may do. Its word counts
and not the node's annotation: whoever may edit nodes must not be able to choose another account.
So a live node without a form that can be read writes nothing and takes nothing away, if there is
or was an account to be named. Only on a node's way out, when its form may be gone already, does
the annotation count: then all that is done in that name is to take away what the node has made.
"""

from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Final

from lynq.api import LynqForm, LynqNode
from lynq.api.names import ANNOTATION_SERVICE_ACCOUNT
from lynq.api.node_metadata import form_of, is_deleting
from lynq.controllers.context import ControllerContext
from lynq.core.node.objects import ObjectRef
from lynq.kube import Client, Request, Response, Send
from lynq.kube.errors import KubeError

_NAMELESS: Final = (
    "this operator writes nothing without a service account: "
    "set spec.serviceAccountName in the form"
)


class NotAllowed(KubeError):  # noqa: N818 - says what is the case
    """A node may not do what it wants to; says why and what to do."""


class ClientSelector:
    """Chooses the client for a node's writes."""

    def __init__(self, world: ControllerContext) -> None:
        self._world = world

    def client_for(self, node: LynqNode) -> Client:
        """Return the client that writes and deletes the node's objects."""
        if problem := self._problem(node):
            return _refusing(self._world.client, problem)
        if account := self._account(node):
            user = f"system:serviceaccount:{node.metadata.namespace}:{account}"
            return self._world.client.acting_as(user)
        return self._world.client

    def check(self, node: LynqNode, ref: ObjectRef) -> None:
        """Refuse an object that the node may not write; raises NotAllowed."""
        if problem := self._problem(node):
            raise NotAllowed(problem)
        self._check_place(node, ref.name if ref.is_namespace else ref.namespace)

    def check_removal(self, node: LynqNode, ref: ObjectRef) -> None:
        """Refuse to delete a namespace that the node may not write into; raises NotAllowed.

        What else it made there before it was limited may go. With a namespace all goes that
        others have in it.
        """
        if ref.is_namespace:
            self._check_place(node, ref.name)

    def _check_place(self, node: LynqNode, namespace: str) -> None:
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

    def _problem(self, node: LynqNode) -> str:
        """Return why it is not known in whose name to write; "" if it is, or the node goes."""
        if is_deleting(node):
            return ""
        insists = self._world.options.requires_service_account
        if form := self._form(node):
            return "" if form.spec.service_account_name or not insists else _NAMELESS
        name = node.spec.template_ref
        if problem := self._world.forms.problem(form_of(node)):
            return (
                f'the form "{name}" cannot be read ({problem}), so it is not known as which '
                "service account to write, and where: correct the form"
            )
        if insists or _annotated(node):
            return (
                f'the form "{name}" does not exist, and only a form says as which service '
                "account to write: create the form, or delete the node"
            )
        return ""

    def _account(self, node: LynqNode) -> str:
        if form := self._form(node):
            return form.spec.service_account_name or ""
        return _annotated(node) if is_deleting(node) else ""

    def _form(self, node: LynqNode) -> LynqForm | None:
        return self._world.forms.get(form_of(node))


def _annotated(node: LynqNode) -> str:
    """Return the account that the form named when the hub last wrote the node, or so it says."""
    return node.metadata.annotations.get(ANNOTATION_SERVICE_ACCOUNT, "")


def _refusing(client: Client, problem: str) -> Client:
    """Return a client for a node that nothing may be done for: each request is refused."""

    async def refuse(_request: Request, _send: Send) -> Response:
        raise NotAllowed(problem)

    return client.intercepted(refuse)


def _is_allowed(namespace: str, patterns: Iterable[str]) -> bool:
    patterns = tuple(patterns)
    return not patterns or any(fnmatchcase(namespace, pattern) for pattern in patterns)
