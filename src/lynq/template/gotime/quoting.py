"""How package time quotes text in its errors: byte by byte, without strconv."""

from typing import Final

_SPACE: Final = " "
_ASCII_END: Final = "\x80"


def quote(view: str) -> str:
    r"""Quote a byte view; what is not printable ASCII becomes \xNN."""
    return '"' + "".join(map(_escaped, view)) + '"'


def _escaped(byte: str) -> str:
    if byte < _SPACE or byte >= _ASCII_END:
        return f"\\x{ord(byte):02x}"
    return "\\" + byte if byte in '"\\' else byte
