"""The base of every type on the wire, and what a field can tell the API server about itself.

The three kinds are plain msgspec structs: snake_case here, camelCase in JSON. Unknown fields are
dropped, absent ones take their default, and what still has its default is left out when encoded.
The CRDs are generated from the same declarations (`lynq.api.schema`), so a limit is written once:

* type, `Meta(ge=…, le=…, pattern=…)` and the markers below become the field's schema,
* the default becomes the CRD's default, unless it only says "nothing" (None, False, 0, "", empty),
* the string under a field becomes its description, for the editor and for `kubectl explain`.

What a kind is called and how `kubectl get` shows it: the part of a CRD besides its schema.

Times as annotations hold them: RFC 3339.
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
    """How the error is classed: "FieldValueRequired" and the like."""

    def as_schema(self) -> dict[str, str]:
        """Give the rule as an item of `x-kubernetes-validations`."""
        optional = {"fieldPath": self.at, "reason": self.reason}
        given = {name: value for name, value in optional.items() if value is not None}
        return {"rule": self.cel, "message": self.message, **given}


class Wire(Struct, frozen=True, kw_only=True, gc=False, rename="camel", omit_defaults=True):
    """The base of what is read from and written to the API server.

    Frozen, because it sits in caches that many readers share. `gc=False` is sound because JSON
    has no cycles, and keeps 50,000 cached objects out of the garbage collector's rounds.
    """

    cel_rules: ClassVar[tuple[Rule, ...]] = ()
    """What must hold for the object as a whole."""

    lists_keyed_by: ClassVar[str | None] = None
    """The field by which the objects in each of its lists are told apart."""


def rule(cel: str, message: str) -> Meta:
    """Mark a field with a CEL rule."""
    return _extra({"x-kubernetes-validations": [Rule(cel, message).as_schema()]})


def list_map(*keys: str) -> Meta:
    """Mark a list whose objects are told apart by these fields: no two alike, merged singly."""
    return _extra({"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": list(keys)})


def default(value: object) -> Meta:
    """Mark a field with a CRD default that Python's own would not become."""
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
    """The names of a kind, and its columns."""

    kind: str
    plural: str
    short_name: str
    columns: tuple[PrinterColumn, ...]

    @property
    def singular(self) -> str:
        """What `kubectl get` accepts besides the plural."""
        return self.kind.lower()


def count_column(name: str, path: str, *, wide: bool = False) -> PrinterColumn:
    """Show a number."""
    return PrinterColumn(name, path, "integer", wide)


def condition_column(name: str, of: str, show: str, *, wide: bool = False) -> PrinterColumn:
    """Show the status, reason or message of one condition."""
    return PrinterColumn(name, f".status.conditions[?(@.type=='{of}')].{show}", wide=wide)


AGE_COLUMN = PrinterColumn("Age", ".metadata.creationTimestamp", "date")


LONGEST_TIMESTAMP: Final = timedelta(days=3650)
"""Longer than anybody waits, and a moment that far ahead can still be told."""


def rfc3339(moment: datetime, *, digits: Literal["auto", "microseconds"] = "auto") -> str:
    """Return the moment in UTC, with as many digits as it has, or always to the microsecond."""
    return moment.astimezone(UTC).isoformat(timespec=digits).replace("+00:00", "Z")


def parse_rfc3339(text: str) -> datetime | None:
    """Return the moment; one without a zone could be off by hours, and is none."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo is not None else None
