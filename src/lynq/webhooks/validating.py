"""May it be created, changed, deleted: the answers of the validating webhooks.

A judgement comes in two steps. What caches know is looked up at once, where they are not changed
meanwhile; the rest is a function without any tie to them, so that a form with a thousand templates
can be judged in a thread and hold up nobody.

What was refused must still be able to leave: an object that is being deleted, or whose spec stays
as it is, passes whatever it says. Or else a hub from before a rule could lose no finalizer.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, TypeAlias

import msgspec
from msgspec import Raw

from lynq.api import FormSpec, HubSpec, LynqNode
from lynq.api.metadata import ObjectKey
from lynq.api.names import ANNOTATION_PROTECT
from lynq.api.node_metadata import is_deleting, is_protected
from lynq.api.problems import Problem, errors, summary, warnings
from lynq.api.wire import Wire
from lynq.core.form.validation import validate_form
from lynq.core.hub.validation import validate_hub
from lynq.core.node.ignore_fields.parse import path_problem
from lynq.webhooks.cluster_view import ClusterView, Footprint
from lynq.webhooks.review import (
    AdmissionDenied,
    AdmissionRequest,
    AdmissionResponse,
    Reviewed,
    SpecError,
    decode_object,
    decode_spec,
    wants_the_same,
)

ValidationResult: TypeAlias = Callable[[], AdmissionResponse]
"""Finds the answer; may be called in a thread."""

_SHOWN: Final = 100
"""How many problems a refusal lists."""


def admit_hub(question: AdmissionRequest, known: ClusterView) -> ValidationResult:
    """Return what finds out whether this may be done to a hub."""
    if question.operation == "DELETE":
        return _deletion(question, known, known.nodes_of_hub)
    spec = _new_spec(question)
    return _allow if spec is None else partial(_answer, partial(_hub_problems, spec))


def admit_form(question: AdmissionRequest, known: ClusterView) -> ValidationResult:
    """Return what finds out whether this may be done to a form."""
    if question.operation == "DELETE":
        return _deletion(question, known, known.nodes_of_form)
    spec = _new_spec(question)
    if spec is None:
        return _allow
    hub = known.hub(ObjectKey(question.namespace, _hub_id(spec)))
    return partial(_answer, partial(_form_problems, spec, hub))


def admit_node(question: AdmissionRequest, _known: ClusterView) -> ValidationResult:
    """Return what finds out whether this may be done to a node: only deleting is looked at."""
    if question.operation != "DELETE":
        return _allow
    refusal = _protection(question, decode_object(question.old_object))
    return partial(AdmissionResponse, refusal)


def _allow() -> AdmissionResponse:
    return AdmissionResponse()


def _new_spec(question: AdmissionRequest) -> Raw | None:
    """Return the spec that has to be judged; None if there is nothing new about it."""
    if question.sub_resource or question.operation not in ("CREATE", "UPDATE"):
        return None
    new = decode_object(question.object)
    if question.operation == "UPDATE":
        old = decode_object(question.old_object)
        if new.metadata.deletion_timestamp or wants_the_same(old.spec, new.spec):
            return None
    return new.spec


class _HubId(Wire, frozen=True):
    hub_id: str = ""


def _hub_id(spec: Raw) -> str:
    try:
        return msgspec.json.decode(spec, type=_HubId).hub_id
    except (msgspec.DecodeError, RecursionError):
        return ""


def _hub_problems(spec: Raw) -> tuple[Problem, ...]:
    return validate_hub(decode_spec(spec, HubSpec))


def _form_problems(spec: Raw, hub: HubSpec | None) -> tuple[Problem, ...]:
    form = decode_spec(spec, FormSpec)
    return validate_form(form, hub=hub, check_ignore_field=path_problem)


def _answer(find: Callable[[], tuple[Problem, ...]]) -> AdmissionResponse:
    try:
        problems = find()
    except SpecError as error:
        problems = error.problems
    warned = tuple(str(each) for each in warnings(problems))
    if wrong := errors(problems):
        return AdmissionResponse(AdmissionDenied(summary(wrong, shown=_SHOWN)), warned)
    return AdmissionResponse(warnings=warned)


def _deletion(
    question: AdmissionRequest,
    known: ClusterView,
    nodes_of: Callable[[ObjectKey], Sequence[LynqNode]],
) -> ValidationResult:
    old = decode_object(question.old_object)
    if old.metadata.deletion_timestamp:
        # It has been told, and is on its way.
        return _allow
    if refusal := _protection(question, old):
        return partial(AdmissionResponse, refusal)
    name = _name(question, old)
    what = f"{question.kind.kind} {name}"
    if not known.covers(question.namespace):
        return partial(
            AdmissionResponse, None, (f"{what}: its LynqNodes and their resources will go",)
        )
    return partial(_count, what, nodes_of(ObjectKey(question.namespace, name)))


def _count(what: str, nodes: Sequence[LynqNode]) -> AdmissionResponse:
    return AdmissionResponse(warnings=(f"{what}: {Footprint.of(nodes)}",))


def _protection(question: AdmissionRequest, old: Reviewed) -> AdmissionDenied | None:
    if is_deleting(old) or not is_protected(old):
        return None
    return AdmissionDenied(
        f"{question.kind.kind} {_name(question, old)} is protected: "
        f"to delete it, first take off its annotation {ANNOTATION_PROTECT}",
    )


def _name(question: AdmissionRequest, old: Reviewed) -> str:
    """Return the name of what is deleted: if all objects are at once, the question has none."""
    return old.metadata.name or question.name
