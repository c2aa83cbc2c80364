"""Decodes AdmissionReview v1 requests and their objects, and encodes the responses.

A spec that does not decode is reported with the path of the field. The API server validates the
schema before, so this happens only in clusters whose CRDs are older than the operator.
"""

import base64
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final, TypeVar

import msgspec
from msgspec import Raw, Struct

from lynq.api import FormSpec, Metadata, TResource
from lynq.api.nesting import NestedTooDeep, depth_checked
from lynq.api.problems import Problem
from lynq.api.resource import RESOURCE_LISTS
from lynq.api.text import one_line
from lynq.api.wire import Wire

API_VERSION: Final = "admission.k8s.io/v1"
MAX_WARNING_LENGTH: Final = 256
"""Characters of a warning; clients cut longer ones."""
MAX_WARNINGS: Final = 15
"""Warnings of a response: together they stay below the API server's limit of 4 KiB."""

# The status of every denial, as in controller-runtime: scripts look for `(Forbidden)`.
_DENIED: Final = {"status": "Failure", "code": HTTPStatus.FORBIDDEN, "reason": "Forbidden"}

_UNAVAILABLE: Final = {
    "status": "Failure",
    "code": HTTPStatus.SERVICE_UNAVAILABLE,
    "reason": "ServiceUnavailable",
}


class ReviewError(ValueError):
    """A request that cannot be decoded; the message quotes no value of it."""


class _Wire(Struct, frozen=True, rename="camel"):
    pass


class GroupVersionKind(_Wire, frozen=True):
    """The kind of the object under review."""

    group: str = ""
    version: str = ""
    kind: str = ""


class UserInfo(_Wire, frozen=True):
    """The user of the request: the author of the object under review."""

    username: str = ""
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: dict[str, tuple[str, ...]] = {}


class AdmissionRequest(_Wire, frozen=True):
    """The request of an AdmissionReview."""

    uid: str
    operation: str
    kind: GroupVersionKind
    name: str = ""
    namespace: str = ""
    sub_resource: str = ""
    user_info: UserInfo = UserInfo()
    object: Raw = Raw(b"null")
    old_object: Raw = Raw(b"null")


class _Review(_Wire, frozen=True):
    api_version: str = ""
    kind: str = ""
    request: AdmissionRequest | None = None


@dataclass(frozen=True, slots=True)
class AdmissionDenied:
    """The reason of a denial."""

    message: str
    retry_after: int = 0
    """Seconds after which the client may send the request again; client-go and kubectl do so."""


@dataclass(frozen=True, slots=True)
class AdmissionResponse:
    """The response to an AdmissionReview: allowed unless denied."""

    denial: AdmissionDenied | None = None
    warnings: Sequence[str] = ()
    patch: Sequence[dict[str, Any]] = ()
    """Operations of a JSON patch of the object."""
    required_secrets: Sequence[str] = ()
    """Secrets that the author has to be allowed to get, or else the request is denied."""


def decode_request(body: bytes, kind: GroupVersionKind) -> AdmissionRequest:
    """Decode the body of a review of this kind; raises ReviewError."""
    try:
        review = msgspec.json.decode(depth_checked(body), type=_Review)
    except NestedTooDeep:
        raise ReviewError("the AdmissionReview is nested too deeply") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        # The messages of msgspec name types, fields and paths, and quote no value.
        raise ReviewError(f"the body is not an AdmissionReview: {error}") from None
    if (review.api_version, review.kind) != (API_VERSION, "AdmissionReview"):
        raise ReviewError(f"the body is not an AdmissionReview of {API_VERSION}")
    request = review.request
    if request is None or not request.uid:
        raise ReviewError("the AdmissionReview has no request with a uid")
    if request.kind != kind:
        raise ReviewError(f"this path reviews {kind.kind} of {kind.group}/{kind.version}")
    return request


def encode_response(request: AdmissionRequest, response: AdmissionResponse) -> bytes:
    """Encode the response to a request."""
    body: dict[str, Any] = {"uid": request.uid, "allowed": response.denial is None}
    if response.denial:
        body["status"] = _status(response.denial)
    elif response.patch:
        body["patchType"] = "JSONPatch"
        body["patch"] = base64.b64encode(msgspec.json.encode(response.patch)).decode()
    if response.warnings:
        body["warnings"] = limit_warnings(response.warnings)
    return msgspec.json.encode(
        {"apiVersion": API_VERSION, "kind": "AdmissionReview", "response": body}
    )


def _status(denial: AdmissionDenied) -> dict[str, Any]:
    if not denial.retry_after:
        return {**_DENIED, "message": denial.message}
    details = {"retryAfterSeconds": denial.retry_after}
    return {**_UNAVAILABLE, "message": denial.message, "details": details}


def limit_warnings(warnings: Iterable[str]) -> list[str]:
    """Return warnings within the API server's limits: distinct, short, in ASCII, and few."""
    lines = list(dict.fromkeys(_ascii(warning) for warning in warnings))
    if dropped := max(0, len(lines) - MAX_WARNINGS):
        # The last line holds the number, so one more warning is dropped.
        lines = [*lines[: MAX_WARNINGS - 1], f"and {dropped + 1} more warnings"]
    return lines


def _ascii(text: str) -> str:
    line = one_line(text, MAX_WARNING_LENGTH).encode("ascii", "backslashreplace").decode()
    return line if len(line) <= MAX_WARNING_LENGTH else f"{line[: MAX_WARNING_LENGTH - 3]}..."


Spec = TypeVar("Spec", bound=Wire)

_LISTS: Final = tuple(json_name for _, json_name in RESOURCE_LISTS)
_QUOTED: Final = re.compile(r"(Invalid enum value) .*", re.DOTALL)


class Reviewed(Wire, frozen=True):
    """The object under review; its spec is not decoded yet."""

    metadata: Metadata = msgspec.field(default_factory=Metadata)
    spec: Raw = Raw(b"null")


class SpecError(ValueError):
    """A spec that does not fit its schema."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        super().__init__("; ".join(map(str, problems)))
        self.problems = problems


def decode_object(raw: Raw) -> Reviewed:
    """Decode the object under review; raises ReviewError."""
    try:
        return msgspec.json.decode(raw, type=Reviewed)
    except msgspec.DecodeError as error:
        raise ReviewError(
            f"the object under review cannot be decoded: {_safe_message(error)}"
        ) from None


def decode_spec(raw: Raw, kind: type[Spec]) -> Spec:
    """Decode a spec; raises SpecError with the path of the invalid field."""
    try:
        return msgspec.json.decode(depth_checked(raw), type=kind)
    except msgspec.ValidationError as error:
        exact = tuple(_in_resources(to_plain_object(raw))) if kind is FormSpec else ()
        raise SpecError(exact or (_problem("spec", error),)) from None
    except NestedTooDeep:
        raise SpecError((Problem("spec", "nested too deeply"),)) from None


def to_plain_object(raw: Raw) -> dict[str, Any]:
    """Decode a JSON object; an empty one if it is not an object."""
    try:
        decoded = msgspec.json.decode(depth_checked(raw))
    except msgspec.DecodeError:
        return {}
    return decoded if isinstance(decoded, dict) else {}


def is_same_besides_paused(old: Raw, new: Raw) -> bool:
    """Return whether two specs differ in `paused` at most.

    An invalid object must be pausable, so such an update is not validated.
    """
    if bytes(old) == bytes(new):
        return True
    before, after = ({**to_plain_object(spec), "paused": None} for spec in (old, new))
    return len(before) > 1 and before == after


def _in_resources(spec: dict[str, Any]) -> Iterator[Problem]:
    """Decode each resource by itself: msgspec does not report the index in a list."""
    for name in _LISTS:
        resources = spec.get(name)
        for index, resource in enumerate(resources if isinstance(resources, list) else ()):
            try:
                msgspec.convert(resource, TResource)
            except msgspec.ValidationError as error:
                yield _problem(f"spec.{name}[{index}]", error)


def _problem(path: str, error: msgspec.ValidationError) -> Problem:
    message, _, field_path = str(error).partition(" - at `$")
    return Problem(f"{path}{field_path.rstrip('`')}", _QUOTED.sub(r"\1", message))


def _safe_message(error: msgspec.DecodeError) -> str:
    return _QUOTED.sub(r"\1", str(error))
