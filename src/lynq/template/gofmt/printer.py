"""fmt's printing of any value: lists, maps and structs within one another, bad verbs, limits."""

from collections.abc import Mapping
from typing import Final

from lynq.template.errors import LimitError
from lynq.template.gofmt.scalars import (
    Flags,
    format_bool,
    format_float64,
    format_integer,
    format_string,
)
from lynq.template.limits import Deadline, Limits
from lynq.template.values import (
    INTEGER_KINDS,
    SIGNED_KINDS,
    Kind,
    Object,
    is_nil,
    kind_of,
    sorted_keys,
    type_name,
)

_BETWEEN_CHECKS: Final = 1_000
_STRINGABLE: Final = "vsxXq"
_ADDRESS: Final = 0xC000010000
_POINTERS: Final = frozenset({Kind.MAP, Kind.SLICE, Kind.POINTER})


class Printer:
    """Collects the printed text, and fails when it exceeds the limit."""

    __slots__ = ("_deadline", "_items", "_limits", "_out", "_size", "erroring", "flags")

    def __init__(self, limits: Limits) -> None:
        self.flags = Flags()
        self.erroring = False
        self._limits = limits
        self._deadline: Deadline | None = None
        self._items = 0
        self._out: list[str] = []
        self._size = 0

    def result(self) -> str:
        """Return the printed text."""
        return "".join(self._out)

    def write(self, text: str) -> None:
        """Add a text."""
        self._size += len(text)
        if self._size > self._limits.text:
            raise LimitError(f"printing more than {self._limits.text} bytes")
        self._out.append(text)

    def print_arg(self, value: object, verb: str) -> None:
        """Print an argument, as fmt's printArg."""
        self._limits.check_text(self._size + (self.flags.width or 0) + (self.flags.precision or 0))
        if value is None:
            if verb in "Tv":
                self.write(self.flags.pad("<nil>"))
            else:
                self.bad_verb(None, verb)
        elif verb == "T":
            self.write(self.flags.pad(self.flags.truncate(type_name(value))))
        elif verb == "p":
            self._pointer(value, verb)
        elif verb == "w":
            self.bad_verb(value, verb)
        else:
            self.print_value(value, verb, 0)

    def print_value(self, value: object, verb: str, depth: int) -> None:
        """Print a value inside an argument, or at depth 0 the argument, as fmt's printValue."""
        if isinstance(value, Object) and self._by_method(value, verb):
            return
        kind = kind_of(value)
        if kind in (Kind.SLICE, Kind.MAP, Kind.STRUCT, Kind.POINTER):
            self._limits.check_depth(depth)
            self._compound(value, kind, verb, depth)
            return
        self._limits.check_text(self._size + (self.flags.width or 0) + (self.flags.precision or 0))
        text = self._scalar(value, kind, verb)
        if text is None:
            self.bad_verb(value, verb)
        else:
            self.write(text)

    def bad_verb(self, value: object, verb: str) -> None:
        """Print `%!d(string=x)` for a value of the wrong type, as fmt's badVerb."""
        if value is None:
            self.write(f"%!{verb}(<nil>)")
            return
        self.erroring = True
        self.write(f"%!{verb}({type_name(value)}=")
        self.print_value(value, "v", 0)
        self.write(")")
        self.erroring = False

    def _scalar(self, value: object, kind: Kind, verb: str) -> str | None:
        if kind is Kind.BOOL:
            return format_bool(bool(value), verb, self.flags)
        if isinstance(value, str):
            return format_string(value, verb, self.flags)
        if isinstance(value, float):
            return format_float64(value, verb, self.flags)
        if isinstance(value, int) and kind in INTEGER_KINDS:
            return format_integer(value, verb, self.flags, signed=kind in SIGNED_KINDS)
        return None

    def _by_method(self, value: Object, verb: str) -> bool:
        if self.erroring or (not self.flags.sharp_v and verb not in _STRINGABLE):
            return False
        text = value.go_text() if self.flags.sharp_v else value.text()
        if text is None:
            return False
        if self.flags.sharp_v:
            self.write(self.flags.pad(self.flags.truncate(text)))
        else:
            self.write(format_string(text, verb, self.flags) or "")
        return True

    def _compound(self, value: object, kind: Kind, verb: str, depth: int) -> None:
        if self.flags.sharp_v and is_nil(value):
            self.write(f"{type_name(value)}(nil)")
        elif isinstance(value, dict):
            self._open(value, "map[")
            for number, key in enumerate(sorted_keys(value)):
                self._separate(number)
                self.print_value(key, verb, depth + 1)
                self.write(":")
                self._item(value[key], verb, depth)
            self._close()
        elif isinstance(value, list):
            self._open(value, "[")
            for number, item in enumerate(value):
                self._separate(number)
                self._item(item, verb, depth)
            self._close()
        elif isinstance(value, Object) and (kind is Kind.STRUCT or depth == 0):
            self.write("&" if kind is Kind.POINTER else "")
            self._struct(value, value.fields(), verb, depth)
        else:
            self._pointer(value, verb)

    def _open(self, value: object, opening: str) -> None:
        self.write(f"{type_name(value)}{{" if self.flags.sharp_v else opening)

    def _separate(self, number: int) -> None:
        if number:
            self.write(", " if self.flags.sharp_v else " ")

    def _close(self) -> None:
        self.write("}" if self.flags.sharp_v else "]")

    def _item(self, item: object, verb: str, depth: int) -> None:
        self.count()
        if item is None:
            self.write("interface {}(nil)" if self.flags.sharp_v else "<nil>")
        else:
            self.print_value(item, verb, depth + 1)

    def count(self) -> None:
        """Count an item of a value, or a verb of a format."""
        self._items += 1
        if self._items % _BETWEEN_CHECKS == 0:
            self._check_time()

    def _check_time(self) -> None:
        """Check the deadline: a small value with many shared parts prints as a long text."""
        if not self._deadline:
            self._deadline = Deadline(self._limits.seconds / 2, "printing")
        self._deadline.check()

    def _struct(self, value: Object, fields: Mapping[str, object], verb: str, depth: int) -> None:
        flags = self.flags
        self.write(f"{type_name(value).lstrip('*')}{{" if flags.sharp_v else "{")
        for number, (name, item) in enumerate(fields.items()):
            self._separate(number)
            if flags.plus_v or flags.sharp_v:
                self.write(f"{name}:")
            self._item(item, verb, depth)
        self.write("}")

    def _pointer(self, value: object, verb: str) -> None:
        """Print an address. It is a constant, because renders are repeatable."""
        if kind_of(value) not in _POINTERS:
            self.bad_verb(value, verb)
            return
        address = 0 if is_nil(value) else _ADDRESS
        self.write(self.flags.pad(f"{address:x}" if self.flags.sharp else f"0x{address:x}"))
