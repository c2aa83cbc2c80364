"""A Go string as a Python string of its bytes: lengths, indexes and slices are then Go's."""

from lynq.template.values import from_bytes, to_bytes


def byte_view(text: str) -> str:
    """Give a string with one character, U+0000 to U+00FF, for each byte of the text."""
    return text if text.isascii() else to_bytes(text).decode("latin-1")


def from_view(view: str) -> str:
    """Give the text whose byte view this is."""
    return view if view.isascii() else from_bytes(view.encode("latin-1"))
