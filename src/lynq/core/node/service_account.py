"""Decides which service account writes and deletes the objects of a node.

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

from collections.abc import Callable, Sequence
from typing import Final

from msgspec import Struct

from lynq.api import LynqForm, LynqNode
from lynq.api.names import ANNOTATION_SERVICE_ACCOUNT
from lynq.api.node_metadata import hub_by_label, is_deleting
from lynq.core.node.origin import has_hub

_NO_ACCOUNT: Final = (
    "the operator requires a service account (--require-service-account): "
    "set spec.serviceAccountName in the LynqForm"
)
_NO_HUB: Final = (
    "the LynqNode was not created by a LynqHub, and gets no service account: "
    "add its row to the table of the hub, and delete the LynqNode"
)


class AccountFacts(Struct, frozen=True, kw_only=True):
    """What decides about the account: form and hub of a node, and the forms in its namespace."""

    form: LynqForm | None
    form_problem: str
    """Why the form cannot be decoded; "" if it can, or does not exist."""
    hub_exists: bool
    nearby: Callable[[], Sequence[LynqForm]]
    """Returns all forms in the namespace of the node."""

    @property
    def _has_account_nearby(self) -> bool:
        return any(form.spec.service_account_name for form in self.nearby())

    def limiting_forms(self, node: LynqNode) -> Sequence[LynqForm]:
        """Return the forms whose limits bind the node: without a hub, all in its namespace."""
        if not has_hub(node):
            return self.nearby()
        return [self.form] if self.form else []

    def service_account(self, node: LynqNode) -> str:
        """Return the account that writes and deletes the node's objects; "" for the operator."""
        if not has_hub(node):
            return ""
        if self.form:
            return self.form.spec.service_account_name or ""
        return _annotated_account(node) if is_deleting(node) else ""

    def account_problem(self, node: LynqNode, *, is_required: bool) -> str:
        """Return why no account can be chosen; "" if one can, or the node is being deleted."""
        if is_deleting(node):
            return _NO_HUB if is_required and not has_hub(node) else ""
        if self.form:
            if problem := self._hub_problem(node):
                return problem if is_required or self._has_account_nearby else ""
            return "" if self.form.spec.service_account_name or not is_required else _NO_ACCOUNT
        name = node.spec.template_ref
        if self.form_problem:
            return (
                f'LynqForm "{name}" cannot be read ({self.form_problem}), so that its '
                "serviceAccountName and allowedNamespaces are unknown: correct the LynqForm"
            )
        if is_required or _annotated_account(node):
            return (
                f'LynqForm "{name}" does not exist, so that its serviceAccountName is unknown: '
                "create the LynqForm, or delete the LynqNode"
            )
        return self._hub_problem(node) if self._has_account_nearby else ""

    def _hub_problem(self, node: LynqNode) -> str:
        """Return why no hub answers for a node that is not being deleted; "" if one does."""
        if not has_hub(node):
            return _NO_HUB
        key = hub_by_label(node)
        if key is None or self.hub_exists:
            return ""
        # The signature of a node does not end with its hub: any client could create the node again.
        return (
            f'LynqHub "{key.name}" does not exist, and the LynqNode gets no service account '
            "without it: create the LynqHub, or delete the LynqNode"
        )


def _annotated_account(node: LynqNode) -> str:
    """Return the form's service account at the hub's last write; users can edit it."""
    return node.metadata.annotations.get(ANNOTATION_SERVICE_ACCOUNT, "")
