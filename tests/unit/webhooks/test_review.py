"""Questions that are understood, and answers that the API server understands."""

import base64
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import json

from lynq.webhooks.review import (
    LONGEST_WARNING,
    MOST_WARNINGS,
    AdmissionDenied,
    AdmissionResponse,
    ReviewError,
    decode_request,
    encode_response,
    limit_warnings,
)
from unit.webhooks.reviews import FORM, HUB, body_of, question


def response(answer: AdmissionResponse) -> dict[str, Any]:
    review = json.decode(encode_response(question(HUB, "CREATE"), answer))
    assert (review["apiVersion"], review["kind"]) == ("admission.k8s.io/v1", "AdmissionReview")
    found: dict[str, Any] = review["response"]
    return found


def test_request_is_decoded() -> None:
    read = decode_request(body_of(HUB, "CREATE", object={"spec": 1}, oldObject=None), HUB)
    assert (read.uid, read.operation, read.namespace, read.name) == ("42", "CREATE", "prod", "shop")
    assert (bytes(read.object), bytes(read.old_object)) == (b'{"spec":1}', b"null")


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"", "not an AdmissionReview"),
        (b"hello", "not an AdmissionReview"),
        (b"[]", "not an AdmissionReview"),
        (b"{}", "not an AdmissionReview of admission.k8s.io/v1"),
        (b"\xff\xfe", "not an AdmissionReview"),
        (b'{"apiVersion":"\xff"}', "not an AdmissionReview"),
        (b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}', "no request"),
        (
            b'{"apiVersion":"admission.k8s.io/v1beta1","kind":"AdmissionReview"}',
            "of admission.k8s.io/v1",
        ),
        (body_of(HUB, "CREATE", uid=""), "no request with a uid"),
        (body_of(HUB, "CREATE", uid=7), "Expected `str`, got `int` - at `\\$.request.uid`"),
        (body_of(FORM, "CREATE"), "reviews LynqHub of operator.lynq.sh/v1"),
        (b'{"request":' * 100_000, "nested too deeply"),
    ],
)
def test_invalid_review_is_rejected_with_the_reason(body: bytes, why: str) -> None:
    with pytest.raises(ReviewError, match=why):
        decode_request(body, HUB)


@given(st.binary(max_size=50))
def test_any_other_body_raises_a_review_error(body: bytes) -> None:
    with pytest.raises(ReviewError):
        decode_request(body, HUB)


def test_empty_response_allows() -> None:
    assert response(AdmissionResponse()) == {"uid": "42", "allowed": True}


def test_denial_has_code_and_reason_of_controller_runtime() -> None:
    refused = response(AdmissionResponse(AdmissionDenied("spec.x: no"), ["careful"]))
    assert refused == {
        "uid": "42",
        "allowed": False,
        "status": {
            "status": "Failure",
            "code": 403,
            "reason": "Forbidden",
            "message": "spec.x: no",
        },
        "warnings": ["careful"],
    }


def test_patch_is_encoded_as_json_patch() -> None:
    patch = [{"op": "add", "path": "/spec/x", "value": 1}]
    changed = response(AdmissionResponse(patch=patch))
    assert changed["patchType"] == "JSONPatch"
    assert json.decode(base64.b64decode(changed["patch"])) == patch


def test_equal_warnings_are_sent_once() -> None:
    assert limit_warnings(["a", "b", "a"]) == ["a", "b"]


def test_dropped_warnings_are_counted() -> None:
    told = limit_warnings(f"warning {number}" for number in range(100))
    assert len(told) == MOST_WARNINGS
    assert told[-1] == "and 86 more warnings"


@given(st.lists(st.text(max_size=400), max_size=40))
def test_warnings_stay_within_the_limits(warnings: list[str]) -> None:
    told = limit_warnings(warnings)
    assert len(told) <= MOST_WARNINGS
    assert all(len(each) <= LONGEST_WARNING for each in told)
    assert all(each.isascii() and each.isprintable() for each in told)
    assert sum(map(len, told)) <= 4096
