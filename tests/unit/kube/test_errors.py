import msgspec
import pytest

from lynq.kube import errors
from lynq.kube.errors import Details, FieldConflict, FieldError, Status, StatusCause, from_status

PATH = "/api/v1/namespaces/shop/secrets/db"


def fail(code: int, reason: str, message: str = "", **details: object) -> errors.ApiError:
    status = Status(
        message=message, reason=reason, code=code, details=msgspec.convert(details, Details)
    )
    return from_status(status, verb="apply", path=PATH)


@pytest.mark.parametrize(
    ("code", "reason", "kind"),
    [
        (400, "BadRequest", errors.BadRequest),
        (401, "Unauthorized", errors.Unauthorized),
        (403, "Forbidden", errors.Forbidden),
        (404, "NotFound", errors.NotFound),
        (405, "MethodNotAllowed", errors.MethodNotAllowed),
        (406, "NotAcceptable", errors.NotAcceptable),
        (409, "AlreadyExists", errors.AlreadyExists),
        (409, "Conflict", errors.Conflict),
        (410, "Expired", errors.Gone),
        (410, "Gone", errors.Gone),
        (413, "RequestEntityTooLarge", errors.RequestTooLarge),
        (415, "UnsupportedMediaType", errors.UnsupportedMediaType),
        (422, "Invalid", errors.Invalid),
        (429, "TooManyRequests", errors.TooManyRequests),
        (500, "InternalError", errors.InternalError),
        (500, "ServerTimeout", errors.Timeout),
        (503, "ServiceUnavailable", errors.ServiceUnavailable),
        (504, "Timeout", errors.Timeout),
        (418, "", errors.ApiError),
    ],
)
def test_exception_type_follows_reason_and_code(
    code: int, reason: str, kind: type[errors.ApiError]
) -> None:
    error = fail(code, reason)
    assert type(error) is kind
    assert isinstance(error, errors.KubeError)


def test_invalid_error_names_fields_without_values() -> None:
    error = fail(
        422,
        "Invalid",
        'Secret "db" is invalid: data[key]: Invalid value: "hunter2": no',
        name="db",
        causes=[
            {"reason": "FieldValueInvalid", "message": '"hunter2": no', "field": "data[key]"},
            {"reason": "FieldValueRequired", "message": "Required value", "field": "type"},
        ],
    )
    assert isinstance(error, errors.Invalid)
    assert str(error) == (
        f"apply {PATH}: 422 Invalid: data[key] (FieldValueInvalid), type (FieldValueRequired)"
    )
    assert error.fields[0] == FieldError("data[key]", "FieldValueInvalid")
    assert "hunter2" in error.status.message
    for text in (str(error), repr(error), repr(error.status), repr(error.causes)):
        assert "hunter2" not in text


def test_conflict_names_managers_and_fields() -> None:
    error = fail(
        409,
        "Conflict",
        'Apply failed with 2 conflicts: conflicts with "kubectl" …',
        causes=[
            {
                "reason": "FieldManagerConflict",
                "message": 'conflict with "kubectl-client-side-apply" using apps/v1 at 2026-01-01',
                "field": ".spec.replicas",
            },
            {
                "reason": "FieldManagerConflict",
                "message": 'conflict with "hpa" with subresource "scale" using apps/v1',
                "field": '.spec.template.spec.containers[name="web"].image',
            },
        ],
    )
    assert isinstance(error, errors.Conflict)
    assert error.fields == [
        FieldConflict("kubectl-client-side-apply", ".spec.replicas"),
        FieldConflict("hpa", '.spec.template.spec.containers[name="web"].image'),
    ]
    assert ".spec.replicas is managed by 'kubectl-client-side-apply'" in str(error)


def test_set_elements_in_field_paths_are_redacted() -> None:
    error = fail(
        409,
        "Conflict",
        causes=[
            {"message": 'conflict with "x" using v1', "field": '.spec.tokens[="hunter2"]'},
            {"message": 'conflict with "x" using v1', "field": '.spec.a[="hun]ter2"].b'},
            {"message": 'conflict with "x" using v1', "field": '.spec.c[="hun].ter2[\\"]."].d'},
        ],
    )
    assert ".spec.tokens[=…] is managed by 'x', .spec.a[=…].b is" in str(error)
    assert ".spec.c[=…].d is" in str(error)
    assert "ter2" not in str(error)
    assert "ter2" not in str(error)


def test_long_list_of_fields_is_truncated() -> None:
    causes = [{"field": f"spec.f{n}", "reason": "R"} for n in range(8)]
    assert str(fail(422, "Invalid", causes=causes)).endswith("spec.f4 (R) and 3 more")


def test_forbidden_names_verb_and_resource() -> None:
    message = (
        'deployments.apps is forbidden: User "system:serviceaccount:lynq:op" cannot patch'
        ' resource "deployments" in API group "apps" in the namespace "shop"'
    )
    assert str(fail(403, "Forbidden", message)).endswith(
        "403 Forbidden: grant the verb patch on deployments.apps"
    )


def test_denying_webhook_is_named_without_its_message() -> None:
    message = 'admission webhook "policy.example.com" denied the request: "hunter2" is too weak'
    error = fail(403, "Forbidden", message)
    assert str(error).endswith("denied by the admission webhook policy.example.com")


def test_error_of_a_create_names_the_object() -> None:
    status = Status(reason="AlreadyExists", code=409, details=Details(name="db"))
    error = from_status(status, verb="create", path="/api/v1/namespaces/shop/secrets")
    assert str(error) == "create /api/v1/namespaces/shop/secrets 'db': 409 AlreadyExists"


def test_retry_after_falls_back_to_the_details() -> None:
    status = Status(code=429, details=Details(retry_after_seconds=7))
    assert from_status(status, verb="get", path="/").retry_after == 7
    assert from_status(status, verb="get", path="/", retry_after=2).retry_after == 2


def test_status_without_details_has_no_causes() -> None:
    assert fail(422, "Invalid").causes == []
    assert Details(causes=[StatusCause(field="a")]).causes == [StatusCause(field="a")]


def test_response_without_a_status_has_a_reason() -> None:
    assert errors.plain_status(502, "<html>") == Status(
        message="<html>", reason="BadGateway", code=502
    )
    assert errors.plain_status(599, "").reason == "Unknown"


@pytest.mark.parametrize(
    "words",
    [
        "etcdserver: request is too large",
        "rpc error: code = ResourceExhausted desc = trying to send message larger than max",
    ],
)
def test_etcd_size_limit_is_request_too_large(words: str) -> None:
    error = fail(500, "InternalServerError", words)
    assert isinstance(error, errors.RequestTooLarge)
    assert "1.5 MiB" in str(error)


@pytest.mark.parametrize("verb", ["impersonate", "impersonate-on:serviceaccount:patch"])
def test_forbidden_impersonation_names_the_verb(verb: str) -> None:
    words = f'x is forbidden: User "me" cannot {verb} resource "configmaps" in API group ""'
    assert "grant the verb impersonate on serviceaccounts" in str(fail(403, "Forbidden", words))
