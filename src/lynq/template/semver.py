"""A semantic version: read with mercy ("v1.2"), compared by the specification, and its methods."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Final

from lynq.template.errors import FunctionError, LimitError
from lynq.template.functions.signature import method
from lynq.template.gofmt.quoting import quote
from lynq.template.values import GoType, Kind, Object

if TYPE_CHECKING:
    from collections.abc import Callable

    from lynq.template.functions.signature import Function


_SUFFIXES: Final = (
    r"(?:-([0-9A-Za-z\-]+(?:\.[0-9A-Za-z\-]+)*))?(?:\+([0-9A-Za-z\-]+(?:\.[0-9A-Za-z\-]+)*))?"
)
_VERSION: Final = re.compile(r"v?([0-9]+)(\.[0-9]+)?(\.[0-9]+)?" + _SUFFIXES)
_IDENTIFIER: Final = re.compile(r"[0-9A-Za-z\-]*")
_MAX: Final = (1 << 64) - 1
MOST_BYTES: Final = 4096
_MAX_DIGITS: Final = 20


def _segment(digits: str) -> int:
    """Parse a number of at most 64 bits; int() fails for thousands of digits."""
    value = int(digits.lstrip("0")[: _MAX_DIGITS + 1] or "0")
    if value > _MAX:
        parsing = f"strconv.ParseUint: parsing {quote(digits)}: value out of range"
        raise FunctionError(f"Error parsing version segment: {parsing}")
    return value


def _check_prerelease(text: str) -> None:
    for part in text.split("."):
        if part.isascii() and part.isdigit():
            if len(part) > 1 and part[0] == "0":
                raise FunctionError("Version segment starts with 0")
        elif not _IDENTIFIER.fullmatch(part):
            raise FunctionError("Invalid Prerelease string")


def _check_metadata(text: str) -> None:
    if not all(_IDENTIFIER.fullmatch(part) for part in text.split(".")):
        raise FunctionError("Invalid Metadata string")


def parse_version(text: str) -> Version:
    """Parse a version; minor and patch may be missing, and a leading v is ignored."""
    if len(text) > MOST_BYTES:
        raise LimitError(f"a version of {len(text)} bytes is over the limit of {MOST_BYTES}")
    match = _VERSION.fullmatch(text)
    if match is None:
        raise FunctionError("Invalid Semantic Version")
    *segments, prerelease, metadata = match.groups(default="")
    major, minor, patch = (_segment(segment.removeprefix(".")) for segment in segments)
    _check_prerelease(prerelease)
    return Version(major, minor, patch, prerelease, metadata, text)


def compare_prereleases(left: str, right: str) -> int:
    """Compare identifier by identifier; a prefix of the other is lower."""
    lefts, rights = left.split("."), right.split(".")
    longest = max(len(lefts), len(rights))
    for at in range(longest):
        order = _compare_parts(
            lefts[at] if at < len(lefts) else "", rights[at] if at < len(rights) else ""
        )
        if order:
            return order
    return 0


def _compare_parts(left: str, right: str) -> int:
    """Compare two identifiers: empty before numeric, numeric before alphanumeric."""
    if left == right:
        return 0
    if not left or not right:
        return 1 if left else -1
    left_number, right_number = _number(left), _number(right)
    if left_number is None and right_number is None:
        return 1 if left > right else -1
    if left_number is None or right_number is None:
        return 1 if left_number is None else -1
    return 1 if left_number > right_number else -1


def _number(part: str) -> int | None:
    if not part.isdigit():
        return None
    value = int(part.lstrip("0")[: _MAX_DIGITS + 1] or "0")
    return value if value <= _MAX else None


def _next(version: Version, major: int, minor: int, patch: int) -> VersionValue:
    """Return the version with these numbers, without prerelease and metadata."""
    major, minor, patch = (number & _MAX for number in (major, minor, patch))
    return _renamed(VersionValue(major, minor, patch, "", "", version.original))


def _renamed(version: VersionValue) -> VersionValue:
    """Set the original to the printed version, with a leading v if it had one."""
    prefix = "v" if version.original.startswith("v") else ""
    return replace(version, original=prefix + version.text())


def _value(version: Version) -> VersionValue:
    numbers = (version.major, version.minor, version.patch)
    return VersionValue(*numbers, version.prerelease, version.metadata, version.original)


def _next_patch(version: Version) -> VersionValue:
    # The next patch of a prerelease is its release.
    step = 0 if version.prerelease else 1
    return _next(version, version.major, version.minor, version.patch + step)


def _set_prerelease(version: Version, text: str) -> VersionValue:
    if text:
        _check_prerelease(text)
    return _renamed(replace(_value(version), prerelease=text))


def _set_metadata(version: Version, text: str) -> VersionValue:
    if text:
        _check_metadata(text)
    return _renamed(replace(_value(version), metadata=text))


_VALUE_METHODS: Final = (
    method("String", "func() string", lambda self: self.text()),
    method("Value", "func() (any, error)", lambda self: self.text()),
    method("Major", "func() uint64", lambda self: self.major),
    method("Minor", "func() uint64", lambda self: self.minor),
    method("Patch", "func() uint64", lambda self: self.patch),
    method("Prerelease", "func() string", lambda self: self.prerelease),
    method("Metadata", "func() string", lambda self: self.metadata),
    method("IncMajor", "func() semver.Version", lambda self: _next(self, self.major + 1, 0, 0)),
    method(
        "IncMinor", "func() semver.Version", lambda self: _next(self, self.major, self.minor + 1, 0)
    ),
    method("IncPatch", "func() semver.Version", _next_patch),
    method("SetPrerelease", "func(string) (semver.Version, error)", _set_prerelease),
    method("SetMetadata", "func(string) (semver.Version, error)", _set_metadata),
)


def _unexported(struct: str) -> dict[str, str]:
    names = ("major", "minor", "patch", "pre", "metadata", "original")
    return {name: f"{name} is an unexported field of struct type {struct}" for name in names}


def _is_equal(version: Version, other: Version | None) -> bool:
    return other is not None and version.compare(other) == 0


def _comparison(name: str, test: Callable[[int], bool]) -> tuple[str, Function]:
    return method(name, "func(*semver.Version) bool", lambda self, other: test(self.compare(other)))


@dataclass(frozen=True, slots=True, eq=False)
class Version(Object):
    """A *semver.Version: equal only to itself, as pointers are."""

    major: int
    minor: int
    patch: int
    prerelease: str
    metadata: str
    original: str
    go_type: ClassVar[GoType] = GoType("*semver.Version", Kind.POINTER)
    methods: ClassVar = dict(
        (
            *_VALUE_METHODS,
            method("Original", "func() string", lambda self: self.original),
            _comparison("LessThan", lambda order: order < 0),
            _comparison("LessThanEqual", lambda order: order <= 0),
            _comparison("GreaterThan", lambda order: order > 0),
            _comparison("GreaterThanEqual", lambda order: order >= 0),
            method("Equal", "func(*semver.Version) bool", _is_equal),
            method("Compare", "func(*semver.Version) int", lambda self, other: self.compare(other)),
        )
    )

    field_errors: ClassVar = _unexported("*semver.Version")

    def copied(self) -> Version:
        """Return version 0.0.0: Go's deep copy skips unexported fields."""
        return type(self)(0, 0, 0, "", "", "")

    def text(self) -> str:
        """Print without a leading v."""
        prerelease = f"-{self.prerelease}" if self.prerelease else ""
        metadata = f"+{self.metadata}" if self.metadata else ""
        return f"{self.major}.{self.minor}.{self.patch}{prerelease}{metadata}"

    def go_text(self) -> str:
        """Print as `%#v` does, with unsigned integers in hexadecimal."""
        pointer = "&" if self.go_type.kind is Kind.POINTER else ""
        numbers = f"major:{self.major:#x}, minor:{self.minor:#x}, patch:{self.patch:#x}"
        texts = f"pre:{quote(self.prerelease)}, metadata:{quote(self.metadata)}"
        return f"{pointer}semver.Version{{{numbers}, {texts}, original:{quote(self.original)}}}"

    def json(self) -> str:
        """Return the JSON encoding."""
        return self.text()

    def compare(self, other: Version | None) -> int:
        """Return -1, 0 or 1; metadata is ignored."""
        if other is None:
            raise FunctionError("runtime error: invalid memory address or nil pointer dereference")
        mine = (self.major, self.minor, self.patch)
        theirs = (other.major, other.minor, other.patch)
        if mine != theirs:
            return 1 if mine > theirs else -1
        if not self.prerelease or not other.prerelease:
            # A release is higher than its prereleases.
            return (not self.prerelease) - (not other.prerelease)
        return compare_prereleases(self.prerelease, other.prerelease)


@dataclass(frozen=True, slots=True, eq=False)
class VersionValue(Version):
    """A semver.Version, the result of the Inc and Set methods, without pointer methods."""

    go_type: ClassVar[GoType] = GoType("semver.Version", Kind.STRUCT)
    methods: ClassVar = dict(_VALUE_METHODS)
    field_errors: ClassVar = _unexported("semver.Version")
