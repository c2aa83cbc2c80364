"""Make sentences fit for a status: one line, printable, of bounded length."""


def one_line(text: str, longest: int) -> str:
    """Return the text on one line, without control characters, cut where it is too long.

    Only so much of it is looked at: an error can quote a template of a megabyte, and another
    controller's condition may hold anything.
    """
    shown = "".join(char if char.isprintable() else " " for char in text[: 4 * longest])
    line = " ".join(shown.split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"
