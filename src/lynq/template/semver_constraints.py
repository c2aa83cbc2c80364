"""Constraints on versions: `>=1.2 <2 || ~3.1`, `^1.2.3`, `1.x`, `1.2 - 1.4`, and their quirks.

The patterns are Masterminds' own and run on RE2: Python's `re` would need exponential time on them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from functools import lru_cache
from typing import Final, TypeAlias

import re2

from lynq.template.errors import FunctionError, LimitError
from lynq.template.semver import MOST_BYTES, Version, compare_prereleases, parse_version
from lynq.template.values import byte_view, from_view

_OPERATORS: Final = r"=||!=|>|<|>=|=>|<=|=<|~|~>|\^"
_LOOSE: Final = (
    r"v?([0-9|x|X|\*]+)(\.[0-9|x|X|\*]+)?(\.[0-9|x|X|\*]+)?"
    r"(-([0-9A-Za-z\-]+(\.[0-9A-Za-z\-]+)*))?"
    r"(\+([0-9A-Za-z\-]+(\.[0-9A-Za-z\-]+)*))?"
)
_ONE: Final = re2.compile(rf"^\s*({_OPERATORS})\s*({_LOOSE})\s*$")
_RANGE: Final = re2.compile(rf"\s*({_LOOSE})\s+-\s+({_LOOSE})\s*")
_RANGE_END: Final = 11
_EACH: Final = re2.compile(rf"({_OPERATORS})\s*({_LOOSE})")
_VALID: Final = re2.compile(
    rf"^(\s*({_OPERATORS})\s*({_LOOSE})\s*)((?:\s+|,\s*)({_OPERATORS})\s*({_LOOSE})\s*)*$"
)
_WILDCARDS: Final = frozenset({"", "x", "X", "*"})


class Open(Enum):
    """The first wildcard of a constraint: in `1.2.x` and `1.2`, the patch."""

    NOTHING = auto()
    PATCH = auto()
    MINOR = auto()
    MAJOR = auto()


@dataclass(frozen=True, slots=True)
class Constraint:
    """One comparison with a version, whose wildcards count as zero."""

    operator: str
    version: Version
    open: Open

    def check(self, version: Version) -> bool:
        """Report whether a version satisfies the constraint."""
        hidden = version.prerelease and not self.version.prerelease
        if hidden and (self.open is not Open.NOTHING or self.operator != "!="):
            # A prerelease satisfies only constraints that have a prerelease themselves.
            return False
        return _CHECKS[self.operator](self, version)


def _equal(constraint: Constraint, version: Version) -> bool:
    if constraint.open is not Open.NOTHING:
        return _tilde(constraint, version)
    return version.compare(constraint.version) == 0


def _not_equal(constraint: Constraint, version: Version) -> bool:
    mine = constraint.version
    if constraint.open is Open.NOTHING:
        return version.compare(mine) != 0
    if mine.major != version.major:
        return True
    if constraint.open is Open.MINOR:
        return False
    if mine.minor != version.minor:
        return True
    if constraint.open is Open.PATCH:
        return compare_prereleases(version.prerelease, mine.prerelease) != 0
    return mine.patch != version.patch or version.compare(mine) != 0


def _greater(constraint: Constraint, version: Version) -> bool:
    """`>11` is satisfied by 12 and higher, `>11.1` by 11.2 and higher."""
    mine = constraint.version
    if constraint.open is Open.NOTHING:
        return version.compare(mine) > 0
    if version.major != mine.major:
        return version.major > mine.major
    if constraint.open is Open.MINOR:
        return False
    if constraint.open is Open.PATCH:
        return version.minor > mine.minor
    return version.compare(mine) > 0


def _less(constraint: Constraint, version: Version) -> bool:
    return version.compare(constraint.version) < 0


def _at_least(constraint: Constraint, version: Version) -> bool:
    return version.compare(constraint.version) >= 0


def _at_most(constraint: Constraint, version: Version) -> bool:
    """`<=11` is satisfied by every 11.x, `<=11.1` by every 11.1.x."""
    mine = constraint.version
    if constraint.open is Open.NOTHING:
        return version.compare(mine) <= 0
    if version.major != mine.major:
        return version.major < mine.major
    return version.minor <= mine.minor or constraint.open is Open.MINOR


def _tilde(constraint: Constraint, version: Version) -> bool:
    """`~1.2.3` is satisfied by higher patches, `~0.0.0` and `~*` by every version."""
    mine = constraint.version
    if version.compare(mine) < 0:
        return False
    zero = (mine.major, mine.minor, mine.patch) == (0, 0, 0)
    if zero and constraint.open in (Open.NOTHING, Open.MAJOR):
        return True
    if version.major != mine.major:
        return False
    return version.minor == mine.minor or constraint.open is Open.MINOR


def _caret(constraint: Constraint, version: Version) -> bool:
    """`^1.2.3` is satisfied by higher versions with the same first nonzero number."""
    mine = constraint.version
    if version.compare(mine) < 0:
        return False
    if mine.major > 0 or constraint.open is Open.MINOR or version.major > 0:
        return version.major == mine.major
    if mine.minor > 0 or constraint.open is Open.PATCH or version.minor > 0:
        return version.minor == mine.minor
    return version.patch == mine.patch


Alternatives: TypeAlias = tuple[tuple[Constraint, ...], ...]

_CHECKS: Final[dict[str, Callable[[Constraint, Version], bool]]] = {
    "": _equal,
    "=": _equal,
    "!=": _not_equal,
    ">": _greater,
    "<": _less,
    ">=": _at_least,
    "=>": _at_least,
    "<=": _at_most,
    "=<": _at_most,
    "~": _tilde,
    "~>": _tilde,
    "^": _caret,
}


def parse_constraints(text: str) -> Alternatives:
    """Parse alternatives, each a conjunction of constraints."""
    if len(text) > MOST_BYTES:
        raise LimitError(f"a constraint of {len(text)} bytes is over the limit of {MOST_BYTES}")
    return _parse(text)


@lru_cache(maxsize=128)
def _parse(text: str) -> Alternatives:
    alternatives = _rewrite_ranges(byte_view(text)).split("||")
    return tuple(_parse_alternative(alternative) for alternative in alternatives)


def _rewrite_ranges(view: str) -> str:
    """Rewrite `1.2 - 1.4` to `>= 1.2, <= 1.4`."""
    written = view
    for match in _RANGE.finditer(view):
        written = written.replace(match[0], f">= {match[1]}, <= {match[_RANGE_END]} ", 1)
    return written


def _parse_alternative(view: str) -> tuple[Constraint, ...]:
    if not _VALID.search(view):
        raise FunctionError(f"improper constraint: {from_view(view)}")
    return tuple(_parse_one(match[0]) for match in _EACH.finditer(view))


def _parse_one(text: str) -> Constraint:
    operator, loose, major, minor, patch, prerelease = (
        part or "" for part in _ONE.search(text).groups()[:6]
    )
    if major in _WILDCARDS:
        return Constraint(operator, _version(f"0.0.0{prerelease}"), Open.MAJOR)
    if minor.removeprefix(".") in _WILDCARDS:
        return Constraint(operator, _version(f"{major}.0.0{prerelease}"), Open.MINOR)
    if patch.removeprefix(".") in _WILDCARDS:
        return Constraint(operator, _version(f"{major}{minor}.0{prerelease}"), Open.PATCH)
    return Constraint(operator, _version(loose), Open.NOTHING)


def _version(text: str) -> Version:
    try:
        return parse_version(text)
    except FunctionError:
        raise FunctionError("constraint Parser Error") from None


def satisfies(alternatives: Alternatives, version: Version) -> bool:
    """Report whether a version satisfies one of the alternatives."""
    return any(all(constraint.check(version) for constraint in group) for group in alternatives)
