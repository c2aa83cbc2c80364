"""Decoding of AdmissionReview requests, and encoding of responses."""

import base64
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import json

from lynq.webhooks.review import (
    MAX_WARNING_LENGTH,
    MAX_WARNINGS,
    AdmissionDenied,
    AdmissionResponse,
    ReviewError,
    decode_request,
    encode_response,
    limit_warnings,
)
from unit.webhooks.reviews import FORM, HUB, body_of, request


def encoded(response: AdmissionResponse) -> dict[str, Any]:
    review = json.decode(encode_response(request(HUB, "CREATE"), response))
    assert (review["apiVersion"], review["kind"]) == ("admission.k8s.io/v1", "AdmissionReview")
    content: dict[str, Any] = review["response"]
    return content


def test_request_is_decoded() -> None:
    decoded = decode_request(body_of(HUB, "CREATE", object={"spec": 1}, oldObject=None), HUB)
    assert (decoded.uid, decoded.operation) == ("42", "CREATE")
    assert (decoded.namespace, decoded.name) == ("prod", "shop")
    assert (bytes(decoded.object), bytes(decoded.old_object)) == (b'{"spec":1}', b"null")


@pytest.mark.parametrize(
    ("body", "message"),
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
def test_invalid_review_is_rejected_with_the_reason(body: bytes, message: str) -> None:
    with pytest.raises(ReviewError, match=message):
        decode_request(body, HUB)


@given(st.binary(max_size=50))
def test_any_other_body_raises_a_review_error(body: bytes) -> None:
    with pytest.raises(ReviewError):
        decode_request(body, HUB)


def test_empty_response_allows() -> None:
    assert encoded(AdmissionResponse()) == {"uid": "42", "allowed": True}


def test_denial_has_code_and_reason_of_controller_runtime() -> None:
    denied = encoded(AdmissionResponse(AdmissionDenied("spec.x: no"), ["careful"]))
    assert denied == {
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
    changed = encoded(AdmissionResponse(patch=patch))
    assert changed["patchType"] == "JSONPatch"
    assert json.decode(base64.b64decode(changed["patch"])) == patch


def test_equal_warnings_are_sent_once() -> None:
    assert limit_warnings(["a", "b", "a"]) == ["a", "b"]


def test_dropped_warnings_are_counted() -> None:
    lines = limit_warnings(f"warning {number}" for number in range(100))
    assert len(lines) == MAX_WARNINGS
    assert lines[-1] == "and 86 more warnings"


@given(st.lists(st.text(max_size=400), max_size=40))
def test_warnings_stay_within_the_limits(warnings: list[str]) -> None:
    lines = limit_warnings(warnings)
    assert len(lines) <= MAX_WARNINGS
    assert all(len(line) <= MAX_WARNING_LENGTH for line in lines)
    assert all(line.isascii() and line.isprintable() for line in lines)
    assert sum(map(len, lines)) <= 4096
