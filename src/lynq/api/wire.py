"""Base class and field markers of the API types, printer columns, and RFC 3339 times.

The three kinds are plain msgspec structs: snake_case here, camelCase in JSON. Unknown fields are
dropped, absent ones get their default, and fields with their default value are not encoded. The
CRDs are generated from the same declarations (`lynq.api.schema`):

* type, `Meta(ge=…, le=…, pattern=…)` and the markers below become the field's schema,
* the default becomes the CRD's default, unless it is empty (None, False, 0, "", no items),
* the string under a field becomes its description, for editors and for `kubectl explain`.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, ClassVar, Final, Literal

from msgspec import Meta, Struct


@dataclass(frozen=True, slots=True)
class Rule:
    """A CEL rule that the API server evaluates at every write."""

    cel: str
    message: str
    at: str | None = None
    """The field that the error names, relative to the object: ".keyRef"."""
    reason: str | None = None
    """The reason of the error, for example "FieldValueRequired"."""

    def as_schema(self) -> dict[str, str]:
        """Return the rule as an item of `x-kubernetes-validations`."""
        optional = {"fieldPath": self.at, "reason": self.reason}
        present = {name: value for name, value in optional.items() if value is not None}
        return {"rule": self.cel, "message": self.message, **present}


class Wire(Struct, frozen=True, kw_only=True, gc=False, rename="camel", omit_defaults=True):
    """Base class of the types that are exchanged with the API server.

    Frozen, because cached objects are shared. `gc=False` is safe because JSON has no cycles, and
    saves the garbage collector from traversing 50,000 cached objects.
    """

    cel_rules: ClassVar[tuple[Rule, ...]] = ()
    """CEL rules of the object as a whole."""

    lists_keyed_by: ClassVar[str | None] = None
    """The list-map key of each of its lists of objects."""

    map_type: ClassVar[str | None] = None
    """`atomic`, if the object is one field for the API server, which tracks no owners in it."""


def rule(cel: str, message: str) -> Meta:
    """Mark a field with a CEL rule."""
    return _extra({"x-kubernetes-validations": [Rule(cel, message).as_schema()]})


def list_map(key: str) -> Meta:
    """Mark a list as a list-map with this key: it is unique, and items are merged by it."""
    return _extra({"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": [key]})


def default(value: object) -> Meta:
    """Mark a field with a CRD default that differs from the default of the type."""
    return _extra({"default": value})


def _extra(schema: dict[str, Any]) -> Meta:
    return Meta(extra_json_schema=schema)


Int32 = Annotated[int, _extra({"format": "int32"})]
Int64 = Annotated[int, _extra({"format": "int64"})]
Time = Annotated[datetime, Meta(tz=True)]
Interval = Annotated[str, Meta(pattern="^[0-9]+(s|m|h)$")]
"""A whole number of seconds, minutes or hours: 30s, 5m, 1h."""
Timeout = Annotated[str, Meta(pattern="^[1-9][0-9]*(s|m|h)$")]
"""An interval that is not zero."""


@dataclass(frozen=True, slots=True)
class PrinterColumn:
    """A column of `kubectl get`."""

    name: str
    path: str
    type: str = "string"
    wide: bool = False
    """Shown only with `-o wide`."""


@dataclass(frozen=True, slots=True)
class Definition:
    """The names of a kind, and its printer columns."""

    kind: str
    plural: str
    short_name: str
    columns: tuple[PrinterColumn, ...]

    @property
    def singular(self) -> str:
        """The singular name of the kind."""
        return self.kind.lower()


def count_column(name: str, path: str, *, wide: bool = False) -> PrinterColumn:
    """Return a column with a number."""
    return PrinterColumn(name, path, "integer", wide)


def condition_column(name: str, of: str, show: str, *, wide: bool = False) -> PrinterColumn:
    """Return a column with the status, reason or message of a condition."""
    return PrinterColumn(name, f".status.conditions[?(@.type=='{of}')].{show}", wide=wide)


AGE_COLUMN = PrinterColumn("Age", ".metadata.creationTimestamp", "date")


EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
LONGEST_TIMESTAMP: Final = timedelta(days=3650)
"""The longest interval; a time that far in the future is still representable."""


def rfc3339(time: datetime, *, digits: Literal["auto", "microseconds"] = "auto") -> str:
    """Format a time in UTC, with as many digits as it has, or always with microseconds."""
    return time.astimezone(UTC).isoformat(timespec=digits).replace("+00:00", "Z")


def unix_nanoseconds(time: datetime) -> int:
    """Return the nanoseconds since 1970, to the microsecond."""
    return (time - EPOCH) // timedelta(microseconds=1) * 1000


def parse_rfc3339(text: str) -> datetime | None:
    """Parse a time; None if it is invalid or has no time zone."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return None
    return time if time.tzinfo is not None else None
