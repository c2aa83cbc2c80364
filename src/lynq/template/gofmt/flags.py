"""A verb's flags, width and precision, and the padding they ask for."""

from dataclasses import dataclass

from lynq.template.values import from_bytes, to_bytes


@dataclass(slots=True)
class Flags:
    """What stands between `%` and the verb."""

    minus: bool = False
    plus: bool = False
    sharp: bool = False
    space: bool = False
    zero: bool = False
    plus_v: bool = False
    sharp_v: bool = False
    width: int | None = None
    precision: int | None = None

    def for_verb(self, verb: str) -> None:
        """Read `%+v` and `%#v` as Go does: as other ways to print, not as sign and prefix."""
        if verb in "vw":
            self.sharp_v, self.sharp = self.sharp, False
            self.plus_v, self.plus = self.plus, False

    def pad(self, text: str, *, zero: bool | None = None) -> str:
        """Fill up to the width, which counts characters; zeros go only to the left."""
        if not self.width:
            return text
        missing = self.width - count_runes(text)
        if self.minus:
            return text + self._filler(missing, zero=zero)
        return self._filler(missing, zero=zero) + text

    def truncate(self, text: str) -> str:
        """Cut to the precision, which counts characters."""
        if self.precision is None or len(text) <= self.precision:
            return text
        return _whole(text)[: self.precision]

    def _filler(self, size: int, *, zero: bool | None) -> str:
        zeros = self.zero if zero is None else zero
        return ("0" if zeros and not self.minus else " ") * size


def count_runes(text: str) -> int:
    """Count a text's characters; a byte that is no UTF-8 counts as one."""
    return len(_whole(text))


def _whole(text: str) -> str:
    """Join what was cut apart: two halves of a character, side by side, are one again."""
    return text if text.isascii() else from_bytes(to_bytes(text))
