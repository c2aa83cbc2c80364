"""AdmissionReview v1, in and out: what the API server asks, and an answer that it understands.

An object under review as its type; what makes no sense is told with the exact place.

The API server has compared it with the schema before, so this is for clusters whose CRDs are older
than we are.
"""

import base64
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final, TypeVar

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import fields

from lynq.api import FormSpec, Metadata, ResourceLists, TResource
from lynq.api.problems import Problem
from lynq.api.text import one_line
from lynq.api.wire import Wire

API_VERSION: Final = "admission.k8s.io/v1"
LONGEST_WARNING: Final = 256
"""Characters; clients cut what is longer."""
MOST_WARNINGS: Final = 15
"""With these all, the API server's limit of 4 KiB for the warnings of an answer is kept."""

# Of every refusal, as controller-runtime has them: scripts look for `(Forbidden)`.
_REFUSED: Final = {"status": "Failure", "code": HTTPStatus.FORBIDDEN, "reason": "Forbidden"}


class ReviewError(ValueError):
    """What was sent is no question that can be answered; says why, without quoting it."""


class _Wire(Struct, frozen=True, rename="camel"):
    pass


class GroupVersionKind(_Wire, frozen=True):
    """Which kind of object is asked about."""

    group: str = ""
    version: str = ""
    kind: str = ""


class AdmissionRequest(_Wire, frozen=True):
    """What the API server wants to know: may this be done to this object."""

    uid: str
    operation: str
    kind: GroupVersionKind
    name: str = ""
    namespace: str = ""
    sub_resource: str = ""
    object: Raw = Raw(b"null")
    old_object: Raw = Raw(b"null")


class _Review(_Wire, frozen=True):
    api_version: str = ""
    kind: str = ""
    request: AdmissionRequest | None = None


@dataclass(frozen=True, slots=True)
class AdmissionDenied:
    """Why something may not be done."""

    message: str


@dataclass(frozen=True, slots=True)
class AdmissionResponse:
    """May it be done, what should whoever does it know, and what is changed on the way."""

    refusal: AdmissionDenied | None = None
    warnings: Sequence[str] = ()
    patch: Sequence[dict[str, Any]] = ()
    """Operations of a JSON patch; none: the object stays as it is."""


def decode_request(body: bytes, kind: GroupVersionKind) -> AdmissionRequest:
    """Return what is asked in a request's body about this kind; raises ReviewError."""
    try:
        review = msgspec.json.decode(body, type=_Review)
    except RecursionError:
        raise ReviewError("the review is nested too deep") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        # What msgspec says of JSON names types, fields and places, and quotes no value.
        raise ReviewError(f"the body is no AdmissionReview: {error}") from None
    if (review.api_version, review.kind) != (API_VERSION, "AdmissionReview"):
        raise ReviewError(f"the body is no AdmissionReview of {API_VERSION}")
    question = review.request
    if question is None or not question.uid:
        raise ReviewError("the review has no request with a uid in it")
    if question.kind != kind:
        raise ReviewError(f"this path is asked about {kind.kind} of {kind.group}/{kind.version}")
    return question


def encode_response(question: AdmissionRequest, answer: AdmissionResponse) -> bytes:
    """Return the body of the answer to a question."""
    response: dict[str, Any] = {"uid": question.uid, "allowed": answer.refusal is None}
    if answer.refusal:
        response["status"] = {**_REFUSED, "message": answer.refusal.message}
    elif answer.patch:
        response["patchType"] = "JSONPatch"
        response["patch"] = base64.b64encode(msgspec.json.encode(answer.patch)).decode()
    if answer.warnings:
        response["warnings"] = fitting(answer.warnings)
    return msgspec.json.encode(
        {"apiVersion": API_VERSION, "kind": "AdmissionReview", "response": response}
    )


def fitting(warnings: Iterable[str]) -> list[str]:
    """Return warnings as the API server wants them: short lines in ASCII, and few."""
    lines = list(dict.fromkeys(_ascii(each) for each in warnings))
    if untold := max(0, len(lines) - MOST_WARNINGS):
        # The last place is for the number, so one more is untold.
        lines = [*lines[: MOST_WARNINGS - 1], f"and {untold + 1} more warnings"]
    return lines


def _ascii(text: str) -> str:
    line = one_line(text, LONGEST_WARNING).encode("ascii", "backslashreplace").decode()
    return line if len(line) <= LONGEST_WARNING else f"{line[: LONGEST_WARNING - 3]}..."


Spec = TypeVar("Spec", bound=Wire)

_LISTS: Final = tuple(each.encode_name for each in fields(ResourceLists))
_QUOTED: Final = re.compile(r"(Invalid enum value) .*", re.DOTALL)


class Reviewed(Wire, frozen=True):
    """An object of which only the metadata is understood yet."""

    metadata: Metadata = msgspec.field(default_factory=Metadata)
    spec: Raw = Raw(b"null")


class SpecError(ValueError):
    """A spec that does not fit its schema."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        super().__init__("; ".join(map(str, problems)))
        self.problems = problems


def decode_object(raw: Raw) -> Reviewed:
    """Return an object under review; raises ReviewError if it is none."""
    try:
        return msgspec.json.decode(raw, type=Reviewed)
    except msgspec.DecodeError as error:
        raise ReviewError(f"the object under review makes no sense: {_words(error)}") from None


def decode_spec(raw: Raw, kind: type[Spec]) -> Spec:
    """Return a spec; raises SpecError with the path of what does not fit."""
    try:
        return msgspec.json.decode(raw, type=kind)
    except msgspec.ValidationError as error:
        exact = tuple(_in_resources(to_plain_object(raw))) if kind is FormSpec else ()
        raise SpecError(exact or (_problem("spec", error),)) from None
    except RecursionError:
        raise SpecError((Problem("spec", "nested too deep"),)) from None


def to_plain_object(raw: Raw) -> dict[str, Any]:
    """Return a JSON object as it is; an empty one if it is none."""
    try:
        found = msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def wants_the_same(old: Raw, new: Raw) -> bool:
    """Return whether two specs differ in nothing but `paused`.

    Pausing is what one does to an object that makes trouble, so it must always be possible.
    """
    if bytes(old) == bytes(new):
        return True
    before, after = ({**to_plain_object(each), "paused": None} for each in (old, new))
    return len(before) > 1 and before == after


def _in_resources(spec: dict[str, Any]) -> Iterator[Problem]:
    """Look at each resource by itself: msgspec does not say which one of a list it means."""
    for name in _LISTS:
        resources = spec.get(name)
        for position, resource in enumerate(resources if isinstance(resources, list) else ()):
            try:
                msgspec.convert(resource, TResource)
            except msgspec.ValidationError as error:
                yield _problem(f"spec.{name}[{position}]", error)


def _problem(path: str, error: msgspec.ValidationError) -> Problem:
    words, _, place = str(error).partition(" - at `$")
    return Problem(f"{path}{place.rstrip('`')}", _QUOTED.sub(r"\1", words))


def _words(error: msgspec.DecodeError) -> str:
    return _QUOTED.sub(r"\1", str(error))
