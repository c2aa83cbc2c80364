"""Selects the client for a node's objects, and checks their namespaces.

A form can name a service account. The node's objects are then written and deleted as that account,
with its permissions only. The form's `serviceAccountName` counts and not the node's annotation:
the right to edit nodes must not include the choice of another account. A node whose form is missing
or unreadable therefore writes and deletes nothing, if an account is or was required. Only for a
node that is being deleted, whose form may be deleted already, the annotation counts: all that
happens as that account is the deletion of the node's objects.

A node without a hub was created by a user. It gets no form's account, and is bound by the limits of
all forms in its namespace: it writes nothing where a form names an account, and only to namespaces
that every form allows. A node whose hub does not exist writes nothing there either: its signature
is still valid, and a user may have created it again.
"""

from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Final

from lynq.api import LynqForm, LynqNode
from lynq.api.names import ANNOTATION_SERVICE_ACCOUNT
from lynq.api.node_metadata import form_by_name, form_of, hub_by_label, is_deleting
from lynq.controllers.context import ControllerContext
from lynq.core.node.objects import ObjectRef
from lynq.core.node.origin import NodeOrigin, has_hub
from lynq.kube import Client, Request, Response, Send
from lynq.kube.errors import KubeError

_NO_ACCOUNT: Final = (
    "the operator requires a service account (--require-service-account): "
    "set spec.serviceAccountName in the LynqForm"
)


_NO_HUB: Final = (
    "the LynqNode was not created by a LynqHub, and gets no service account: "
    "add its row to the table of the hub, and delete the LynqNode"
)


class NotAllowed(KubeError):  # noqa: N818 - names the condition
    """A request that the operator does not send for a node; the message says why."""


class ClientSelector:
    """Selects the client for the requests of a node."""

    def __init__(self, context: ControllerContext) -> None:
        self._context = context

    def client_for(self, node: LynqNode) -> Client:
        """Return the client that writes and deletes the node's objects."""
        if problem := self._problem(node):
            return _rejecting(self._context.client, problem)
        if account := self._service_account(node):
            user = f"system:serviceaccount:{node.metadata.namespace}:{account}"
            return self._context.client.acting_as(user)
        return self._context.client

    def check(self, node: LynqNode, ref: ObjectRef) -> None:
        """Check that the node may write an object; raises NotAllowed."""
        if problem := self._problem(node):
            raise NotAllowed(problem)
        self._check_namespace(node, ref.name if ref.is_namespace else ref.namespace)

    def check_deletion(self, node: LynqNode, ref: ObjectRef) -> None:
        """Check that the node may delete an object; raises NotAllowed.

        Only Namespaces are checked, because their deletion deletes the objects of others. Objects
        that were created before the allowed namespaces were limited can be deleted.
        """
        if ref.is_namespace:
            self._check_namespace(node, ref.name)

    def _check_namespace(self, node: LynqNode, namespace: str) -> None:
        if namespace in ("", node.metadata.namespace):
            return
        if not _is_allowed(namespace, self._context.options.allowed_namespaces):
            raise NotAllowed(
                f'namespace "{namespace}" is not in the operator\'s --allowed-namespaces'
            )
        for form in self._limiting_forms(node):
            if not _is_allowed(namespace, form.spec.allowed_namespaces):
                raise NotAllowed(
                    f'namespace "{namespace}" is not in spec.allowedNamespaces of '
                    f'LynqForm "{form.metadata.name}"'
                )

    def _problem(self, node: LynqNode) -> str:
        """Return why no service account can be chosen; "" if one can, or the node is deleted."""
        is_required = self._context.options.requires_service_account
        if is_deleting(node):
            return _NO_HUB if is_required and not has_hub(node) else ""
        if form := self._form(node):
            if problem := self._hub_problem(node):
                return problem if is_required or self._has_account_nearby(node) else ""
            return "" if form.spec.service_account_name or not is_required else _NO_ACCOUNT
        name = node.spec.template_ref
        if problem := self._context.forms.problem(form_of(node)):
            return (
                f'LynqForm "{name}" cannot be read ({problem}), so that its serviceAccountName '
                "and allowedNamespaces are unknown: correct the LynqForm"
            )
        if is_required or _annotated_account(node):
            return (
                f'LynqForm "{name}" does not exist, so that its serviceAccountName is unknown: '
                "create the LynqForm, or delete the LynqNode"
            )
        return self._hub_problem(node) if self._has_account_nearby(node) else ""

    def _hub_problem(self, node: LynqNode) -> str:
        """Return why no hub answers for a node that is not being deleted; "" if one does."""
        if not has_hub(node):
            return _NO_HUB
        key = hub_by_label(node)
        if key is None or self._context.hubs.exists(key):
            return ""
        # The signature of a node does not end with its hub: any client could create the node again.
        return (
            f'LynqHub "{key.name}" does not exist, and the LynqNode gets no service account '
            "without it: create the LynqHub, or delete the LynqNode"
        )

    def _service_account(self, node: LynqNode) -> str:
        if not has_hub(node):
            return ""
        if form := self._form(node):
            return form.spec.service_account_name or ""
        return _annotated_account(node) if is_deleting(node) else ""

    def _form(self, node: LynqNode) -> LynqForm | None:
        """Return the form of a node: by its name, which users cannot edit, if it is not signed."""
        # A live node that is not signed does not get here.
        if is_deleting(node) and self._context.origin_of(node) is not NodeOrigin.HUB:
            return self._context.forms.get(form_by_name(node))
        return self._context.forms.get(form_of(node))

    def _limiting_forms(self, node: LynqNode) -> list[LynqForm]:
        """Return the forms whose allowedNamespaces bind the node."""
        if not has_hub(node):
            return self._forms_nearby(node)
        form = self._form(node)
        return [form] if form else []

    def _forms_nearby(self, node: LynqNode) -> list[LynqForm]:
        """Return all forms in the namespace of a node."""
        namespace = node.metadata.namespace
        return [
            form for form in self._context.forms.values() if form.metadata.namespace == namespace
        ]

    def _has_account_nearby(self, node: LynqNode) -> bool:
        return any(form.spec.service_account_name for form in self._forms_nearby(node))


def _annotated_account(node: LynqNode) -> str:
    """Return the form's service account at the hub's last write; users can edit it."""
    return node.metadata.annotations.get(ANNOTATION_SERVICE_ACCOUNT, "")


def _rejecting(client: Client, problem: str) -> Client:
    """Return a client that rejects every request with NotAllowed."""

    async def reject(_request: Request, _send: Send) -> Response:
        raise NotAllowed(problem)

    return client.intercepted(reject)


def _is_allowed(namespace: str, patterns: Iterable[str]) -> bool:
    patterns = tuple(patterns)
    return not patterns or any(fnmatchcase(namespace, pattern) for pattern in patterns)
