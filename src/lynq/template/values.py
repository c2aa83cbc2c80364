"""Go's types on Python values: which Go type a value stands for, and strings as bytes.

| Go                         | here                                                          |
|----------------------------|---------------------------------------------------------------|
| string                     | `str`; a byte that is no UTF-8 is a surrogate U+DC80..U+DCFF  |
| bool, int, float64         | `bool`, `int`, `float`                                        |
| int64, uint8, ...          | `Int64`, `Uint8`, ...: subclasses of `int`                    |
| []interface{}              | `list`; as nil slice `NilList`                                |
| []string, []int, [][]any   | `Strings`, `Ints`, `Lists`; nil: `NilStrings`                 |
| map[string]interface{}     | `dict`; as nil map `NilMap`; the root of the data `Variables` |
| map[string]string          | `StringMap`                                                   |
| nil                        | `None`                                                        |
| struct, or pointer to one  | a subclass of `Object`                                        |

Truth is Python's: empty and zero are false, everything else is true, for each of these types. A
string can be viewed as its bytes, so that lengths, indexes and slices are Go's.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar

from lynq.template.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lynq.template.functions.signature import Function


class Kind(StrEnum):
    """reflect.Kind, by the names that `kindOf` returns."""

    INVALID = "invalid"
    BOOL = "bool"
    INT = "int"
    INT32 = "int32"
    INT64 = "int64"
    UINT = "uint"
    UINT8 = "uint8"
    UINT32 = "uint32"
    UINT64 = "uint64"
    FLOAT64 = "float64"
    STRING = "string"
    SLICE = "slice"
    MAP = "map"
    STRUCT = "struct"
    POINTER = "ptr"
    INTERFACE = "interface"


SIGNED_KINDS = frozenset({Kind.INT, Kind.INT32, Kind.INT64})
UNSIGNED_KINDS = frozenset({Kind.UINT, Kind.UINT8, Kind.UINT32, Kind.UINT64})
INTEGER_KINDS = SIGNED_KINDS | UNSIGNED_KINDS


@dataclass(frozen=True, slots=True)
class GoType:
    """A Go type: its name as `%T` prints it, its kind, and the type of its elements."""

    name: str
    kind: Kind
    elem: GoType | None = None

    @property
    def named(self) -> bool:
        """Whether it is a defined type, to which only itself is assignable."""
        return "." in self.name


ANY = GoType("interface {}", Kind.INTERFACE)
BOOL = GoType("bool", Kind.BOOL)
INT = GoType("int", Kind.INT)
FLOAT64 = GoType("float64", Kind.FLOAT64)
STRING = GoType("string", Kind.STRING)
ANY_SLICE = GoType("[]interface {}", Kind.SLICE, ANY)
ANY_MAP = GoType("map[string]interface {}", Kind.MAP, ANY)


class Typed:
    """A Python value whose class has its Go type."""

    __slots__ = ()
    go_type: ClassVar[GoType]


class Int32(Typed, int):
    """An int32, such as a rune."""

    __slots__ = ()
    go_type = GoType("int32", Kind.INT32)


class Int64(Typed, int):
    """An int64, the result of sprig's arithmetic."""

    __slots__ = ()
    go_type = GoType("int64", Kind.INT64)


class Uint(Typed, int):
    """A uint."""

    __slots__ = ()
    go_type = GoType("uint", Kind.UINT)


class Uint8(Typed, int):
    """A uint8, the result of indexing a string."""

    __slots__ = ()
    go_type = GoType("uint8", Kind.UINT8)


class Uint32(Typed, int):
    """A uint32."""

    __slots__ = ()
    go_type = GoType("uint32", Kind.UINT32)


class Uint64(Typed, int):
    """A uint64, such as a version's major number."""

    __slots__ = ()
    go_type = GoType("uint64", Kind.UINT64)


class NilList(Typed, list[object]):
    """The nil slice of type []interface{}."""

    __slots__ = ()
    go_type = ANY_SLICE


class Strings(Typed, list[str]):
    """A []string."""

    __slots__ = ()
    go_type = GoType("[]string", Kind.SLICE, STRING)


class NilStrings(Strings):
    """The nil slice of type []string."""

    __slots__ = ()


class Ints(Typed, list[int]):
    """A []int."""

    __slots__ = ()
    go_type = GoType("[]int", Kind.SLICE, INT)


class Lists(Typed, list[list[object]]):
    """A [][]interface{}."""

    __slots__ = ()
    go_type = GoType("[][]interface {}", Kind.SLICE, ANY_SLICE)


class StringMap(Typed, dict[str, str]):
    """A map[string]string."""

    __slots__ = ()
    go_type = GoType("map[string]string", Kind.MAP, STRING)


class NilMap(Typed, dict[str, object]):
    """The nil map of type map[string]interface{}."""

    __slots__ = ()
    go_type = ANY_MAP


class Variables(Typed, dict[str, object]):
    """The data at the root. In Go it has a defined type, which `dig` and `%T` show."""

    __slots__ = ()
    go_type = GoType("template.Variables", Kind.MAP, ANY)


class TypedInt(Typed, int):
    """A result of `int`: the field becomes a number if it is the whole output."""

    __slots__ = ()
    go_type = INT


class TypedFloat(Typed, float):
    """A result of `float`: the field becomes a number if it is the whole output."""

    __slots__ = ()
    go_type = FLOAT64


class TypedBool(Typed, int):
    """A result of `bool`. Functions receive the plain bool instead."""

    __slots__ = ()
    go_type = BOOL


class Object(Typed):
    """A Go struct, or a pointer to one: a fixed set of fields and methods."""

    __slots__ = ()
    methods: ClassVar[Mapping[str, Function]] = {}
    field_errors: ClassVar[Mapping[str, str]] = {}
    """Go's errors for names that exist, but are not available to templates."""

    def fields(self) -> Mapping[str, object]:
        """Return the exported fields in order."""
        return {}

    def copied(self) -> Object:
        """Return the deep copy; an object is immutable, so it may be the object itself."""
        return self

    def text(self) -> str | None:
        """Return the result of the `String` method, or None if there is none."""
        return None

    def go_text(self) -> str | None:
        """Return the result of the `GoString` method, or None if there is none."""
        return None


_NIL_CLASSES = frozenset({type(None), NilList, NilStrings, NilMap})
_PLAIN: Mapping[type, GoType] = {
    str: STRING,
    bool: BOOL,
    int: INT,
    float: FLOAT64,
    list: ANY_SLICE,
    dict: ANY_MAP,
}


def type_of(value: object) -> GoType | None:
    """Return the Go type of a value; None for nil."""
    go_type = _PLAIN.get(type(value))
    if go_type is not None:
        return go_type
    if isinstance(value, Typed):
        return value.go_type
    if value is None:
        return None
    raise DataError(f"a Python {type(value).__name__} is no template value")


def type_name(value: object) -> str:
    """Return the name of the type as `%T` prints it."""
    go_type = type_of(value)
    return go_type.name if go_type is not None else "<nil>"


def kind_of(value: object) -> Kind:
    """Return the value's reflect.Kind."""
    go_type = type_of(value)
    return go_type.kind if go_type is not None else Kind.INVALID


def is_nil(value: object) -> bool:
    """Report whether the value is nil, a nil slice or a nil map."""
    return type(value) in _NIL_CLASSES


def sorted_keys(mapping: Mapping[str, object]) -> list[str]:
    """Return the keys in Go's order, by their bytes."""
    for key in mapping:
        if type(key) is not str:
            raise DataError(f"a Python {type(key).__name__} is no key of a template's map")
    keys = sorted(mapping)
    return keys if all(map(str.isascii, keys)) else sorted(keys, key=to_bytes)


def wrap_int64(number: int) -> int:
    """Wrap an integer around as an int64."""
    return (number + (1 << 63)) % (1 << 64) - (1 << 63)


def to_bytes(text: str) -> bytes:
    """Return the bytes of a Go string."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        # A lone surrogate, from data that is not UTF-8: Go has no such rune either.
        return "".join("\ufffd" if _is_half(char) else char for char in text).encode(
            "utf-8", "surrogateescape"
        )


def from_bytes(data: bytes) -> str:
    """Return the Go string of the bytes."""
    return data.decode("utf-8", "surrogateescape")


def byte_len(text: str) -> int:
    """Return the length of a Go string in bytes."""
    return len(text) if text.isascii() else len(to_bytes(text))


def to_output(text: str) -> str:
    """Return the text as output: each invalid byte becomes U+FFFD, as in JSON."""
    if text.isascii():
        return text
    whole = from_bytes(to_bytes(text))
    return "".join("\ufffd" if "\udc80" <= char <= "\udcff" else char for char in whole)


def _is_half(char: str) -> bool:
    return "\ud800" <= char <= "\udfff" and not "\udc80" <= char <= "\udcff"


def byte_view(text: str) -> str:
    """Return a string with one character, U+0000 to U+00FF, per byte of the text."""
    return text if text.isascii() else to_bytes(text).decode("latin-1")


def from_view(view: str) -> str:
    """Return the text of a byte view."""
    return view if view.isascii() else from_bytes(view.encode("latin-1"))
