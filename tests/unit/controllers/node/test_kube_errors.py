"""Errors of the Kubernetes client, as the core classifies them."""

from typing import Any

import pytest

from lynq.api.masking import Mask
from lynq.controllers.node.kube_errors import apply_error, is_transient
from lynq.core.node.apply_errors import ApplyErrorKind
from lynq.kube.errors import Details, KubeError, Status, StatusCause, TimedOut, from_status

K = ApplyErrorKind


def error(code: int, reason: str = "", message: str = "", **details: Any) -> KubeError:
    status = Status(message=message, reason=reason, code=code, details=Details(**details))
    return from_status(status, verb="apply", path="/api/v1/x")


@pytest.mark.parametrize(
    ("failure", "kind"),
    [
        (error(409, "AlreadyExists"), K.ALREADY_EXISTS),
        (error(409, "Conflict"), K.CONFLICT),
        (error(422, "Invalid", causes=[StatusCause("FieldValueInvalid", "", "a")]), K.INVALID),
        (error(422, "Invalid", causes=[StatusCause("FieldValueTooLong", "", "a")]), K.INVALID),
        (error(422, "Invalid", causes=[StatusCause("FieldValueTooLong", "", "[]")]), K.TOO_LARGE),
        (error(413, "RequestEntityTooLarge"), K.TOO_LARGE),
        (error(500, message="etcdserver: request is too large"), K.TOO_LARGE),
        (error(404, "NotFound", kind="namespaces"), K.NAMESPACE_NOT_FOUND),
        (error(404, "NotFound", kind="configmaps"), K.OTHER),
        (error(403, causes=[StatusCause("NamespaceTerminating")]), K.NAMESPACE_TERMINATING),
        (error(403, "Forbidden"), K.OTHER),
        (error(500, "InternalError"), K.UNAVAILABLE),
        (error(500, message="etcdserver: leader changed"), K.UNAVAILABLE),
        (error(500, message="wrong type"), K.OTHER),
        (error(429), K.UNAVAILABLE),
        (error(503), K.UNAVAILABLE),
        (error(504), K.UNAVAILABLE),
        (TimedOut("no answer"), K.UNAVAILABLE),
        (KubeError("unexpected"), K.OTHER),
    ],
)
def test_error_is_classified(failure: KubeError, kind: ApplyErrorKind) -> None:
    assert apply_error(failure).kind is kind
    assert apply_error(failure).message == str(failure)
    assert is_transient(failure) is (kind in {K.UNAVAILABLE, K.CONFLICT})


def test_missing_right_is_named_for_every_kind() -> None:
    verb, resource = "impersonate-on:serviceaccount:patch", 'resource "configmaps" in API group ""'
    failure = error(
        403, "Forbidden", f'configmaps is forbidden: User "lynq" cannot {verb} {resource}'
    )
    expected = "grant the verb impersonate on serviceaccounts"
    assert expected in apply_error(failure).message
    assert expected in apply_error(failure, Mask({})).message


def test_field_conflict_names_the_manager_of_each_field() -> None:
    causes = [
        StatusCause("FieldManagerConflict", f'conflict with "{manager}" using v1', field)
        for manager, field in (("helm", ".data.a"), ("helm", ".data.b"), ("kubectl", ".data.c"))
    ]
    failure = error(409, "Conflict", causes=causes)
    assert apply_error(failure).managers == ("helm", "helm", "kubectl")
    assert not is_transient(failure)
