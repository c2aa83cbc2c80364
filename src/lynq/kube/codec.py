"""JSON to typed objects and back; decoders are made once per type."""

from collections.abc import Hashable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, cast

import msgspec

from lynq.api import Metadata
from lynq.api.metadata import ObjectKey
from lynq.api.wire import Wire
from lynq.kube.depth import cut_depth
from lynq.kube.errors import InvalidObject, UnexpectedResponse
from lynq.kube.objects import ObjectList

if TYPE_CHECKING:
    # Only type checkers know defaults of type variables yet: they read a call without `into`
    # as answered with a dict.
    from typing_extensions import TypeVar

    T = TypeVar("T", default=dict[str, Any])
else:
    from typing import TypeVar

    T = TypeVar("T")

Object: TypeAlias = dict[str, Any] | msgspec.Struct
"""What can be sent: a manifest as a dict, or a struct with a `metadata`."""

DICT: Any = dict
"""The default of every `into`."""


class _ListMeta(Wire, frozen=True):
    resource_version: str = ""
    continuation: str = msgspec.field(default="", name="continue")


class _List(Wire, Generic[T], frozen=True):
    metadata: _ListMeta = msgspec.field(default_factory=_ListMeta)
    # Go writes an empty list as null where nobody took care.
    items: list[T] | None = None


@lru_cache(maxsize=256)
def _decoder(into: Hashable) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(cast("Any", into))


def decode(body: bytes | msgspec.Raw, into: type[T], *, what: str, level: int = 0) -> T:
    """Decode an object; `what` was asked for, for the message when this is not it.

    Of objects that are nested too deep, structs get the rest (see `lynq.kube.depth`); `level` says
    how deep in the body the objects are. Who asks for one as a dict wants all of it, or nothing.
    """
    try:
        return cast("T", _decoder(cast("Hashable", into)).decode(body))
    except msgspec.DecodeError as error:
        # msgspec's sentence can echo a value; only the place behind " - at " is surely safe.
        _, _, place = str(error).partition(" - at ")
        raise UnexpectedResponse(
            f"{what}: the answer is no {into.__name__}" + (f", see {place}" if place else "")
        ) from None
    except RecursionError:
        flat = None if into is dict else cut_depth(bytes(body), level=level)
    if flat is None or flat == body:
        raise UnexpectedResponse(f"{what}: the answer is nested too deep to be read")
    return decode(flat, into, what=what, level=level)


def decode_list(body: bytes, into: type[T], *, what: str) -> ObjectList[T]:
    """Decode a list or one page of it."""
    answer: _List[T] = decode(
        body, cast("type[_List[T]]", _list_of(cast("Hashable", into))), what=what, level=2
    )
    metadata = answer.metadata
    return ObjectList(answer.items or [], metadata.resource_version, metadata.continuation)


@lru_cache(maxsize=256)
def _list_of(into: Any) -> Any:  # noqa: ANN401 - a type made at run time
    return _List[into]


def encode(obj: Object | list[dict[str, Any]]) -> bytes:
    """Encode an object or a patch."""
    try:
        return msgspec.json.encode(obj)
    except (TypeError, ValueError, OverflowError):
        # The encoder's sentence can hold the value, so it is not passed on.
        raise InvalidObject("the object holds something that JSON has no form for") from None
    except RecursionError:
        raise InvalidObject("the object is nested too deep to be sent") from None


def key_of(obj: Object) -> ObjectKey:
    """Return where an object that is to be sent belongs.

    Nothing else of a dict is looked at: whether it makes sense is for the API server to say.
    """
    if not isinstance(obj, dict):
        return _key_of_struct(obj)
    found = _metadata(obj)
    namespace, name = found.get("namespace") or "", found.get("name") or ""
    if not (isinstance(namespace, str) and isinstance(name, str)):
        raise InvalidObject("metadata.name and metadata.namespace must be strings")
    return ObjectKey(namespace, name)


def pinned(obj: Object) -> bool:
    """Whether an object that is to be sent asks for one resourceVersion of the one there is."""
    if isinstance(obj, dict):
        return bool(_metadata(obj).get("resourceVersion"))
    return bool(getattr(getattr(obj, "metadata", None), "resource_version", ""))


def _metadata(obj: dict[str, Any]) -> dict[str, Any]:
    metadata = obj.get("metadata")
    return metadata if isinstance(metadata, dict) else {}


def _key_of_struct(obj: msgspec.Struct) -> ObjectKey:
    metadata = getattr(obj, "metadata", None)
    if not isinstance(metadata, Metadata):
        raise InvalidObject(f"{type(obj).__name__} has no metadata of type Metadata")
    return metadata.key
