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


CONSTRAINED = (
    "grant the verb impersonate:serviceaccount on serviceaccounts.authentication.k8s.io, or "
)
CONSTRAINED_ON = "grant the verb impersonate-on:serviceaccount:patch on configmaps, or "


@pytest.mark.parametrize(
    ("verb", "resource", "group", "right"),
    [
        ("impersonate", "serviceaccounts", "", ""),
        ("impersonate:serviceaccount", "serviceaccounts", "authentication.k8s.io", CONSTRAINED),
        ("impersonate-on:serviceaccount:patch", "configmaps", "", CONSTRAINED_ON),
    ],
)
def test_forbidden_impersonation_names_the_verb(
    verb: str, resource: str, group: str, right: str
) -> None:
    words = f'x is forbidden: User "me" cannot {verb} resource "{resource}" in API group "{group}"'
    message = str(fail(403, "Forbidden", words))
    assert message.endswith(f": {right}grant the verb impersonate on serviceaccounts"), message


POLICY = (
    "configmaps \"x\" is forbidden: ValidatingAdmissionPolicy 'plans' with binding 'all' denied "
    "request: hunter2 is no plan"
)
TYPED = "failed to create typed patch object (shop/x; v1, Kind=Secret): "
UNMARSHAL = 'Deployment in version "v1" cannot be handled as a Deployment: json: cannot unmarshal '


@pytest.mark.parametrize(
    ("code", "message", "denial"),
    [
        (
            403,
            (
                "forbidden: exceeded quota: small, requested: count/configmaps=1, "
                "used: count/configmaps=0, limited: count/configmaps=0"
            ),
            "exceeded quota: small",
        ),
        (403, "failed quota: small: must specify limits.cpu for: app", "failed quota: small"),
        (422, POLICY, "denied by the ValidatingAdmissionPolicy plans (binding all)"),
        (
            403,
            'pods "x" is forbidden: violates PodSecurity "restricted:v1.30": runAsNonRoot != true',
            'violates PodSecurity "restricted:v1.30"',
        ),
        (
            403,
            'pods "x" is forbidden: maximum cpu usage per Container is 1, but limit is hunter2',
            "violates a LimitRange: maximum cpu usage per Container is 1",
        ),
        (
            400,
            'admission webhook "a.example.com" denied the request: hunter2',
            "denied by the admission webhook a.example.com",
        ),
        (
            400,
            'admission webhook "a.example.com" denied the request without explanation',
            "denied by the admission webhook a.example.com",
        ),
        (
            500,
            (
                'Internal error occurred: failed calling webhook "a.example.com": failed to call '
                'webhook: Post "https://hunter2": EOF'
            ),
            "the admission webhook a.example.com failed",
        ),
        (
            500,
            TYPED + ".spec.replicas: expected numeric (int or float), got string",
            ".spec.replicas: expected numeric (int or float), got string",
        ),
        (
            500,
            TYPED + '.data.a: expected string, got &value.valueUnstructured{Value:"hunter2"}',
            ".data.a: expected string, got string",
        ),
        (
            500,
            TYPED + ".data.a: expected string, got &value.valueUnstructured{Value:8675309}",
            ".data.a: expected string, got number",
        ),
        (
            500,
            TYPED + ".data: expected map, got &{hunter2 hunter2}",
            ".data: expected map, got another type",
        ),
        (
            400,
            UNMARSHAL + "string into Go struct field DeploymentSpec.spec.replicas of type int32",
            "DeploymentSpec.spec.replicas: expected int32, got string",
        ),
        (400, UNMARSHAL + "number 8675309 into Go value of type string", "expected string, got"),
    ],
)
def test_denial_names_who_and_which_field(code: int, message: str, denial: str) -> None:
    error = fail(code, "", message)
    assert f": {denial}" in str(error)
    assert "hunter2" not in str(error)
    assert "8675309" not in str(error) + error.explanation


@pytest.mark.parametrize(
    ("message", "explanation"),
    [
        ('Invalid value: "hunter\\"2": must be short', "Invalid value: must be short"),
        ("Invalid value: 4711: must be less", "Invalid value: must be less"),
        (
            'Unsupported value: "hunter2": supported values: "A"',
            'Unsupported value: supported values: "A"',
        ),
        ('Invalid value: {"a":"hunter2"}: field is immutable', "Invalid value: field is immutable"),
        ('Invalid value: {"a":"hunter2"}: no', "Invalid value"),
        ("Required value: name it", "Required value: name it"),
    ],
)
def test_explanation_of_a_field_has_the_rule_and_not_the_value(
    message: str, explanation: str
) -> None:
    error = fail(422, "Invalid", causes=[{"field": "spec.a", "message": message}])
    assert error.explanation == f"spec.a: {explanation}"


def test_explanation_of_a_quota_and_a_limit_has_no_requested_amounts() -> None:
    quota = "exceeded quota: q, requested: limits.cpu=4711m,pods=1, used: pods=0, limited: pods=0"
    assert fail(403, "Forbidden", quota).explanation == (
        "exceeded quota: q, requested: limits.cpu,pods, used: pods=0, limited: pods=0"
    )
    limit = "maximum cpu usage per Pod is 1, but limit is 4711m"
    assert "4711" not in fail(403, "Forbidden", limit).explanation
