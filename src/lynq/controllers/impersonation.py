"""Selects the client for a node's objects, and checks whether the node may write and delete them.

`lynq.core.object_limits` and `lynq.core.node.service_account` decide; this module reads the caches.
"""

from functools import partial

from lynq.api import LynqForm, LynqNode
from lynq.api.node_metadata import form_by_name, form_of, hub_by_label, is_deleting
from lynq.controllers.context import ControllerContext
from lynq.core.node.objects import ObjectRef
from lynq.core.node.origin import NodeOrigin
from lynq.core.node.service_account import AccountFacts
from lynq.core.object_limits import ObjectLimits, ObjectWrite, deletion_denial, write_denial
from lynq.kube import Client, Request, Response, Send
from lynq.kube.errors import KubeError


class NotAllowed(KubeError):  # noqa: N818 - names the condition
    """A request that the operator does not send for a node; the message says why."""


class ClientSelector:
    """Selects the client for the requests of a node."""

    def __init__(self, context: ControllerContext) -> None:
        self._context = context

    def client_for(self, node: LynqNode) -> Client:
        """Return the client that writes and deletes the node's objects."""
        facts = self._facts(node)
        if problem := self._account_problem(node, facts):
            return _rejecting(self._context.client, problem)
        if account := facts.service_account(node):
            user = f"system:serviceaccount:{node.metadata.namespace}:{account}"
            return self._context.client.acting_as(user)
        return self._context.client

    def check(self, node: LynqNode, write: ObjectWrite) -> None:
        """Check that the node may write an object; raises NotAllowed."""
        facts = self._facts(node)
        if problem := self._account_problem(node, facts):
            raise NotAllowed(problem)
        limits = self._limits(node, facts)
        if denial := write_denial(write, node.metadata.namespace, limits):
            raise NotAllowed(denial)

    def check_deletion(self, node: LynqNode, ref: ObjectRef) -> None:
        """Check that the node may delete an object; raises NotAllowed."""
        limits = self._limits(node, self._facts(node))
        if denial := deletion_denial(ref.identity, node.metadata.namespace, limits):
            raise NotAllowed(denial)

    def _account_problem(self, node: LynqNode, facts: AccountFacts) -> str:
        is_required = self._context.options.requires_service_account
        return facts.account_problem(node, is_required=is_required)

    def _limits(self, node: LynqNode, facts: AccountFacts) -> list[ObjectLimits]:
        forms = facts.limiting_forms(node)
        of_forms = (ObjectLimits.of_form(form.metadata.name, form.spec) for form in forms)
        return [self._context.options.limits, *of_forms]

    def _facts(self, node: LynqNode) -> AccountFacts:
        hub = hub_by_label(node)
        return AccountFacts(
            form=self._form(node),
            form_problem=self._context.forms.problem(form_of(node)) or "",
            hub_exists=hub is not None and self._context.hubs.exists(hub),
            nearby=partial(self._forms_in, node.metadata.namespace),
        )

    def _form(self, node: LynqNode) -> LynqForm | None:
        """Return the form of a node: by its name, which users cannot edit, if it is not signed."""
        # A live node that is not signed does not get here.
        if is_deleting(node) and self._context.origin_of(node) is not NodeOrigin.HUB:
            return self._context.forms.get(form_by_name(node))
        return self._context.forms.get(form_of(node))

    def _forms_in(self, namespace: str) -> list[LynqForm]:
        return [
            form for form in self._context.forms.values() if form.metadata.namespace == namespace
        ]


def _rejecting(client: Client, problem: str) -> Client:
    """Return a client that rejects every request with NotAllowed."""

    async def reject(_request: Request, _send: Send) -> Response:
        raise NotAllowed(problem)

    return client.intercepted(reject)
