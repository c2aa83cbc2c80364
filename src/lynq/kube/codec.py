"""JSON to typed objects and back; decoders are made once per type.

Cuts off what is nested too deep to be decoded.

The API server takes objects of 10,000 levels; msgspec goes down one call per level, and Python
allows a thousand of them. A higher limit would be paid with the stack: 10,000 levels overflow that
of a small thread, which ends the process. So the bytes are read once without going down, and the
field of an object that is too deep gives way to a text. No struct takes a text where it wants an
object, so a spec that has been cut cannot be taken for another one.
"""

import re
from collections.abc import Hashable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Generic, TypeAlias, cast

import msgspec

from lynq.api import Metadata
from lynq.api.metadata import ObjectKey
from lynq.api.wire import Wire
from lynq.kube.errors import InvalidObject, UnexpectedResponse
from lynq.kube.resource import ObjectList

TOO_DEEP: Final = b'"nested too deep to be read"'
"""What stands in place of a field that is too deep."""

_DEEPEST: Final = 500
"""Half of what Python allows: the rest is for whoever asks."""
_WITHIN_METADATA: Final = 3
"""How far below `metadata` the fields of a manager are, which are as deep as the object's own."""

# Up to the next bracket that is not in a string, or to where this is no JSON any more. Possessive:
# nothing is ever tried a second time.
_NEXT_BRACKET: Final = re.compile(
    rb'(?:[^"\[\]{}]++|"(?:[^"\\]++|\\.)*+")*+(?:([\[{])|([\]}])|"|\Z)', flags=re.DOTALL
)
_OPENING: Final = 1
_CLOSING: Final = 2
_METADATA: Final = re.compile(rb'(?<!\\)"metadata"\s*:\s*\Z')
_KEY: Final = 64
"""As much as a key and the white space around it take."""


def cut_depth(body: bytes, *, level: int) -> bytes:
    """Return a body with what is too deep in its objects cut off.

    `level` says how deep in the body the objects are themselves: 0 if it is one. All of a field of
    an object goes; of the metadata only what a manager's fields are, or the object had no name.
    """
    parts, end = [], 0
    for start, stop in _too_deep(body, level + 2):
        parts += [body[end:start], TOO_DEEP]
        end = stop
    return b"".join([*parts, body[end:]])


def _too_deep(body: bytes, field: int) -> Iterator[tuple[int, int]]:
    """Yield where the values are that are to go; `field` is the depth of an object's fields."""
    depth = start = 0
    place = field
    is_deep = False
    for found in _NEXT_BRACKET.finditer(body):
        if found.lastindex == _OPENING:
            depth += 1
            if depth == field:
                place = field + (_WITHIN_METADATA if _is_metadata(body, found.start(1)) else 0)
            if depth == place:
                start = found.start(1)
            is_deep = is_deep or depth > _DEEPEST
        elif found.lastindex == _CLOSING:
            if depth == place and is_deep:
                yield start, found.end()
                is_deep = False
            depth -= 1
        else:
            return


def _is_metadata(body: bytes, start: int) -> bool:
    """Return whether the value that begins here is that of a key `metadata`."""
    return _METADATA.search(body, max(0, start - _KEY), start) is not None


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
