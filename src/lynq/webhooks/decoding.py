"""An object under review as its type; what makes no sense is told with the exact place.

The API server has compared it with the schema before, so this is for clusters whose CRDs are older
than we are.
"""

import re
from collections.abc import Iterator
from typing import Any, Final, TypeVar

import msgspec
from msgspec import Raw
from msgspec.structs import fields

from lynq.api import FormSpec, Metadata, ResourceLists, TResource
from lynq.api.problems import Problem
from lynq.api.wire import Wire
from lynq.webhooks.review import ReviewError

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
