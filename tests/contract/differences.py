"""The listed differences of the API server in memory from the real one."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from contract.replay import Difference

FILE: Final = Path(__file__).with_name("differences.toml")


class ListedDifference(msgspec.Struct, frozen=True):
    """A kind of difference that is accepted, and why."""

    request: str
    """A regular expression of the request, or `state`."""
    field: str
    """A regular expression of the path of the field."""
    reason: str

    def covers(self, difference: Difference) -> bool:
        """Return whether a difference is of this kind."""
        return bool(
            re.fullmatch(self.request, difference.request)
            and re.fullmatch(self.field, difference.field)
        )


class _File(msgspec.Struct, frozen=True):
    difference: list[ListedDifference] = []


def listed_differences() -> list[ListedDifference]:
    """Return the listed differences."""
    return msgspec.toml.decode(FILE.read_text(), type=_File).difference


@dataclass(frozen=True, slots=True)
class Verdict:
    """Which differences are not listed, and which listed ones occurred."""

    unexplained: list[Difference]
    used: list[ListedDifference]


def judged(differences: Iterable[Difference]) -> Verdict:
    """Compare differences with the list."""
    listed = listed_differences()
    unexplained: list[Difference] = []
    used: list[ListedDifference] = []
    for difference in differences:
        entry = next((each for each in listed if each.covers(difference)), None)
        if entry is None:
            unexplained.append(difference)
        else:
            used.append(entry)
    return Verdict(unexplained, used)
