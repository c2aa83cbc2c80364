"""Decodes JSON to typed objects, and encodes them; decoders are cached per type.

The API server accepts objects with 10,000 levels of nesting, and msgspec recurses once per level:
see `lynq.api.nesting`. A body that is too deep is scanned without recursion, and each field that
exceeds the limit is replaced by a string. No struct accepts a string in place of an object, so a
truncated spec is never mistaken for a valid one.
"""

import re
from collections.abc import Hashable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Generic, TypeAlias, cast

import msgspec

from lynq.api import Metadata
from lynq.api.metadata import ObjectKey
from lynq.api.nesting import MAX_DEPTH, exceeds_depth
from lynq.api.wire import Wire
from lynq.kube.errors import InvalidObject, UnexpectedResponse
from lynq.kube.resource import ObjectList

TOO_DEEP: Final = b'"nested too deep to be read"'
"""Replaces a field that is nested too deep."""
_TOO_DEEP_TO_ENCODE: Final = "the object is nested too deep to be encoded"

_MANAGED_FIELDS_OFFSET: Final = 3
"""Levels from `metadata` to the fields of a manager, which are as deep as the object's own."""

# Up to the next bracket outside of a string, or to the first byte that is not JSON. Possessive: the
# expression never backtracks.
_NEXT_BRACKET: Final = re.compile(
    rb'(?:[^"\[\]{}]++|"(?:[^"\\]++|\\.)*+")*+(?:([\[{])|([\]}])|".*+|\Z)', flags=re.DOTALL
)
_OPENING: Final = 1
_CLOSING: Final = 2
_METADATA: Final = re.compile(rb'(?<!\\)"metadata"\s*:\s*\Z')
_KEY_LENGTH: Final = 64
"""The bytes that are searched backwards for a key."""


def cut_depth(body: bytes, *, level: int) -> bytes:
    """Return a body in which the fields that are nested too deep are replaced.

    `level` is the depth of the objects in the body: 0 if the body is one object. A field of an
    object is replaced as a whole; of the metadata only the fields of a manager, so that the object
    keeps its name.
    """
    parts, end = [], 0
    for start, stop in _too_deep(body, level + 2):
        parts += [body[end:start], TOO_DEEP]
        end = stop
    return b"".join([*parts, body[end:]])


def _too_deep(body: bytes, field: int) -> Iterator[tuple[int, int]]:
    """Yield the ranges of values to replace; `field` is the depth of an object's fields."""
    depth = start = 0
    cut_level = field
    is_deep = False
    for match in _NEXT_BRACKET.finditer(body):
        if match.lastindex == _OPENING:
            depth += 1
            if depth == field:
                cut_level = field + (
                    _MANAGED_FIELDS_OFFSET if _is_metadata(body, match.start(1)) else 0
                )
            if depth == cut_level:
                start = match.start(1)
            is_deep = is_deep or depth > MAX_DEPTH
        elif match.lastindex == _CLOSING:
            if depth == cut_level and is_deep:
                yield start, match.end()
                is_deep = False
            depth -= 1
        else:
            return


def _is_metadata(body: bytes, start: int) -> bool:
    """Return whether the value at `start` belongs to a key `metadata`."""
    return _METADATA.search(body, max(0, start - _KEY_LENGTH), start) is not None


if TYPE_CHECKING:
    # Type variables have no defaults at run time yet: a call without `into` returns a dict.
    from typing_extensions import TypeVar

    T = TypeVar("T", default=dict[str, Any])
else:
    from typing import TypeVar

    T = TypeVar("T")

Object: TypeAlias = dict[str, Any] | msgspec.Struct
"""An object in a request body: a manifest as a dict, or a struct with a `metadata`."""

DICT: Any = dict
"""The default of every `into`."""


class _ListMeta(Wire, frozen=True):
    resource_version: str = ""
    continuation: str = msgspec.field(default="", name="continue")


class _List(Wire, Generic[T], frozen=True):
    metadata: _ListMeta = msgspec.field(default_factory=_ListMeta)
    # Go encodes a nil slice as null.
    items: list[T] | None = None


@lru_cache(maxsize=256)
def _decoder(into: Hashable) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(cast("Any", into))


def decode(body: bytes | msgspec.Raw, into: type[T], *, what: str, level: int = 0) -> T:
    """Decode a response body; `what` names the request in error messages.

    Fields that are nested too deep are replaced (see the module); `level` is the depth of the
    objects in the body. A dict is decoded completely or not at all.
    """
    if exceeds_depth(body):
        shallow = b"" if into is dict else cut_depth(bytes(body), level=level)
        if not shallow or exceeds_depth(shallow):
            raise UnexpectedResponse(f"{what}: the response is nested too deep to be decoded")
        body = shallow
    try:
        return cast("T", _decoder(cast("Hashable", into)).decode(body))
    except msgspec.DecodeError as error:
        # msgspec's message can contain a value; only the path behind " - at " is safe to show.
        _, _, path = str(error).partition(" - at ")
        raise UnexpectedResponse(
            f"{what}: the response is not a {into.__name__}" + (f", see {path}" if path else "")
        ) from None


def decode_list(body: bytes, into: type[T], *, what: str) -> ObjectList[T]:
    """Decode a list or one page of it."""
    page: _List[T] = decode(
        body, cast("type[_List[T]]", _list_of(cast("Hashable", into))), what=what, level=2
    )
    metadata = page.metadata
    return ObjectList(page.items or [], metadata.resource_version, metadata.continuation)


@lru_cache(maxsize=256)
def _list_of(into: Any) -> Any:  # noqa: ANN401 - a type created at run time
    return _List[into]


def encode(obj: Object | list[dict[str, Any]]) -> bytes:
    """Encode an object or a patch."""
    try:
        text = msgspec.json.encode(obj)
    except (TypeError, ValueError, OverflowError):
        # The encoder's message can contain the value.
        raise InvalidObject("the object contains a value that JSON cannot represent") from None
    except RecursionError:
        raise InvalidObject(_TOO_DEEP_TO_ENCODE) from None
    # Python 3.12 and later encode more levels than are decoded here.
    if exceeds_depth(text):
        raise InvalidObject(_TOO_DEEP_TO_ENCODE)
    return text


def key_of(obj: Object) -> ObjectKey:
    """Return namespace and name of an object in a request body.

    The rest of a dict is not validated here; the API server does that.
    """
    if not isinstance(obj, dict):
        return _key_of_struct(obj)
    metadata = _metadata(obj)
    namespace, name = metadata.get("namespace") or "", metadata.get("name") or ""
    if not (isinstance(namespace, str) and isinstance(name, str)):
        raise InvalidObject("metadata.name and metadata.namespace must be strings")
    return ObjectKey(namespace, name)


def pinned(obj: Object) -> bool:
    """Return whether an object in a request body has a resourceVersion as precondition."""
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
