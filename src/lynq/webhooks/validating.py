"""Validates the creation, update and deletion of hubs, forms and nodes.

The validation of a hub names the Secrets that its author has to be allowed to get, because the
operator sends their values to the host of the hub. The server asks the API server for them.

A validation has two steps. The first reads the caches on the event loop. The second is a function
without access to the caches, so that a form with a thousand templates is validated in a thread.

An object that is being deleted, or whose spec does not change, is not validated. Otherwise the
finalizer of an object that was created before a rule could not be removed.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Final, TypeAlias

import msgspec
from msgspec import Raw

from lynq.api import FormSpec, HubSpec, LynqNode
from lynq.api.denied_hosts import DeniedHosts
from lynq.api.metadata import ObjectKey
from lynq.api.names import ANNOTATION_PROTECT
from lynq.api.nesting import depth_checked
from lynq.api.node_metadata import is_deleting, is_protected
from lynq.api.problems import Problem, ProblemKind, errors, summary, warnings
from lynq.api.wire import Wire
from lynq.core.form.limits import check_limits
from lynq.core.form.validation import hub_not_found, validate_form
from lynq.core.hub.secret_access import secrets_to_authorize
from lynq.core.hub.validation import check_host, check_hub_name, validate_hub
from lynq.core.node.ignore_fields.parse import path_problem
from lynq.core.object_limits import ObjectLimits
from lynq.core.plan.blast_radius import blast_radius
from lynq.webhooks.cluster_view import ClusterView, DeletionImpact
from lynq.webhooks.review import (
    AdmissionDenied,
    AdmissionRequest,
    AdmissionResponse,
    Reviewed,
    SpecError,
    decode_object,
    decode_spec,
    is_same_besides_paused,
)

Validation: TypeAlias = Callable[[], AdmissionResponse]
"""Returns the response; may be called in a thread. Raises ValidationInterrupted."""

MayContinue: TypeAlias = Callable[[], bool]
"""Returns whether there is time left for a validation; called in its thread."""

_SHOWN: Final = 100
"""Number of problems that a denial lists."""


def _always() -> bool:
    return True


def admit_hub(
    request: AdmissionRequest, view: ClusterView, _may_continue: MayContinue = _always
) -> Validation:
    """Return the validation of a request for a hub."""
    if request.operation == "DELETE":
        return _deletion(request, view.nodes_of_hub)
    spec = _new_spec(request)
    if spec is None:
        return _allow
    find_problems = partial(_hub_problems, spec, _created_name(request), view.denied_hosts)
    return partial(_hub_response, spec, _old_spec(request), find_problems)


def admit_form(
    request: AdmissionRequest, view: ClusterView, may_continue: MayContinue = _always
) -> Validation:
    """Return the validation of a request for a form."""
    if request.operation == "DELETE":
        return _deletion(request, view.nodes_of_form)
    spec = _new_spec(request)
    if spec is None:
        return _allow
    hub = view.hub(ObjectKey(request.namespace, _hub_id(spec)))
    is_missing = hub is None and view.covers(request.namespace)
    find_problems = partial(
        _form_problems, spec, hub, hub_is_missing=is_missing, may_continue=may_continue
    )
    form = ObjectKey(request.namespace, _created_name(request))
    validate = partial(_response, partial(_limited, find_problems, form, spec, view.limits))
    nodes = view.nodes_of_form(ObjectKey(request.namespace, request.name))
    old_spec = _old_spec(request)
    if old_spec is None or not nodes:
        return validate
    return partial(_with_blast_radius, validate, request.name, old_spec, spec, nodes=len(nodes))


def admit_node(
    request: AdmissionRequest, _view: ClusterView, _may_continue: MayContinue = _always
) -> Validation:
    """Return the validation of a request for a node; only deletions are validated."""
    if request.operation != "DELETE":
        return _allow
    denial = _denied_by_protection(request, decode_object(request.old_object))
    return partial(AdmissionResponse, denial)


def _allow() -> AdmissionResponse:
    return AdmissionResponse()


def _new_spec(request: AdmissionRequest) -> Raw | None:
    """Return the spec to validate; None if it did not change."""
    if request.sub_resource or request.operation not in ("CREATE", "UPDATE"):
        return None
    new = decode_object(request.object)
    if request.operation == "UPDATE":
        old = decode_object(request.old_object)
        if is_deleting(new) or is_same_besides_paused(old.spec, new.spec):
            return None
    return new.spec


def _old_spec(request: AdmissionRequest) -> Raw | None:
    return decode_object(request.old_object).spec if request.operation == "UPDATE" else None


class _HubId(Wire, frozen=True):
    hub_id: str = ""


def _hub_id(spec: Raw) -> str:
    try:
        return msgspec.json.decode(depth_checked(spec), type=_HubId).hub_id
    except msgspec.DecodeError:
        return ""


def _created_name(request: AdmissionRequest) -> str:
    return request.name or decode_object(request.object).metadata.name


def _hub_problems(spec: Raw, name: str, denied: DeniedHosts) -> tuple[Problem, ...]:
    hub = decode_spec(spec, HubSpec)
    return (*validate_hub(hub), *check_host(hub, denied), *check_hub_name(name))


def _hub_response(
    spec: Raw, old_spec: Raw | None, find_problems: Callable[[], tuple[Problem, ...]]
) -> AdmissionResponse:
    response = _response(find_problems)
    if response.denial:
        return response
    old = _decode_old_hub(old_spec) if old_spec else None
    return replace(response, required_secrets=secrets_to_authorize(decode_spec(spec, HubSpec), old))


def _decode_old_hub(spec: Raw) -> HubSpec | None:
    try:
        return decode_spec(spec, HubSpec)
    except SpecError:
        return None


def _form_problems(
    spec: Raw, hub: HubSpec | None, *, hub_is_missing: bool, may_continue: MayContinue
) -> tuple[Problem, ...]:
    form = decode_spec(spec, FormSpec)
    problems = validate_form(
        form, hub=hub, check_ignore_field=path_problem, may_continue=may_continue
    )
    if hub_is_missing and form.hub_id:
        return (*problems, hub_not_found(form, ProblemKind.WARNING))
    return problems


def _limited(
    find_problems: Callable[[], tuple[Problem, ...]],
    form: ObjectKey,
    spec: Raw,
    limits: ObjectLimits,
) -> tuple[Problem, ...]:
    """Return all problems of a form, with the objects that the operator does not allow."""
    return (*find_problems(), *check_limits(form, decode_spec(spec, FormSpec), limits))


def _with_blast_radius(
    validate: Validation, form: str, old_spec: Raw, spec: Raw, *, nodes: int
) -> AdmissionResponse:
    """Add a warning that counts the objects which a valid form changes."""
    response = validate()
    if response.denial:
        return response
    try:
        old = decode_spec(old_spec, FormSpec)
    except SpecError:
        return response
    warning = blast_radius(old, decode_spec(spec, FormSpec), nodes).warning(form)
    return replace(response, warnings=(*response.warnings, warning)) if warning else response


def _response(validate: Callable[[], tuple[Problem, ...]]) -> AdmissionResponse:
    try:
        problems = validate()
    except SpecError as error:
        problems = error.problems
    texts = tuple(str(problem) for problem in warnings(problems))
    if invalid := errors(problems):
        return AdmissionResponse(AdmissionDenied(summary(invalid, shown=_SHOWN)), texts)
    return AdmissionResponse(warnings=texts)


def _deletion(
    request: AdmissionRequest, nodes_of: Callable[[ObjectKey], Sequence[LynqNode] | None]
) -> Validation:
    old = decode_object(request.old_object)
    if is_deleting(old):
        return _allow
    if denial := _denied_by_protection(request, old):
        return partial(AdmissionResponse, denial)
    name = _name(request, old)
    deleted = f"{request.kind.kind} {name}"
    nodes = nodes_of(ObjectKey(request.namespace, name))
    if nodes is None:
        text = f"{deleted}: its LynqNodes and their resources will be deleted"
        return partial(AdmissionResponse, None, (text,))
    return partial(_impact, deleted, nodes)


def _impact(deleted: str, nodes: Sequence[LynqNode]) -> AdmissionResponse:
    return AdmissionResponse(warnings=(f"{deleted}: {DeletionImpact.of(nodes)}",))


def _denied_by_protection(request: AdmissionRequest, old: Reviewed) -> AdmissionDenied | None:
    if is_deleting(old) or not is_protected(old):
        return None
    return AdmissionDenied(
        f"{request.kind.kind} {_name(request, old)} is protected: "
        f"remove the annotation {ANNOTATION_PROTECT} before deleting it",
    )


def _name(request: AdmissionRequest, old: Reviewed) -> str:
    """Return the name of the deleted object; a request of deletecollection has no name."""
    return old.metadata.name or request.name
