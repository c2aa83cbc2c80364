r"""Where Go's syntax of regular expressions and RE2's differ.

Go refuses `\C` and group names beyond ASCII, knows more names of Unicode classes, and has its own
words for errors. Everything else is RE2's to judge.
"""

import re
from collections.abc import Iterator
from typing import Final

_PIECE: Final = re.compile(
    r"(?P<quoted>\\Q(?:.*?\\E|.*))"
    r"|(?P<class>\[\^?\]?(?:\\[pP]\{[^}]*\}|\\.|\[:\^?\w+:\]|[^\]\\])*\])"
    r"|(?P<property>\\[pP]\{[^}]*\})"
    r"|(?P<escape>\\.)"
    r"|(?P<named>\(\?P?<(?P<name>[^>]*)>)"
    r"|(?P<uncounted>\(\?)"
    r"|(?P<group>\()"
    r"|(?P<end>\))",
    re.DOTALL,
)
_PROPERTY: Final = re.compile(r"\\([pP])\{(\^?)([^}]*)\}")
_NAME: Final = re.compile(r"[A-Za-z0-9_]+", re.ASCII)
_OPEN_CODE: Final = r"\x{"
_MAX_HEIGHT: Final = 1000
_WORDS: Final = {
    "missing ]": "missing closing ]",
    "missing )": "missing closing )",
    "trailing \\": "trailing backslash at end of expression",
    "no argument for repetition operator": "missing argument to repetition operator",
    "invalid repetition size": "invalid repeat count",
    "bad repetition operator": "invalid nested repetition operator",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid named capture group": "invalid named capture",
}
_CATEGORIES: Final = {
    "Any": ("Any",),
    "Lc": ("Lu", "Ll", "Lt"),
    "Casedletter": ("Lu", "Ll", "Lt"),
    "Assigned": ("L", "M", "N", "P", "S", "Z", "C"),
    "Closepunctuation": ("Pe",),
    "Combiningmark": ("M",),
    "Connectorpunctuation": ("Pc",),
    "Control": ("Cc",),
    "Cntrl": ("Cc",),
    "Currencysymbol": ("Sc",),
    "Dashpunctuation": ("Pd",),
    "Decimalnumber": ("Nd",),
    "Digit": ("Nd",),
    "Enclosingmark": ("Me",),
    "Finalpunctuation": ("Pf",),
    "Format": ("Cf",),
    "Initialpunctuation": ("Pi",),
    "Letter": ("L",),
    "Letternumber": ("Nl",),
    "Lineseparator": ("Zl",),
    "Lowercaseletter": ("Ll",),
    "Mark": ("M",),
    "Mathsymbol": ("Sm",),
    "Modifierletter": ("Lm",),
    "Modifiersymbol": ("Sk",),
    "Nonspacingmark": ("Mn",),
    "Number": ("N",),
    "Openpunctuation": ("Ps",),
    "Other": ("C",),
    "Otherletter": ("Lo",),
    "Othernumber": ("No",),
    "Otherpunctuation": ("Po",),
    "Othersymbol": ("So",),
    "Paragraphseparator": ("Zp",),
    "Privateuse": ("Co",),
    "Punctuation": ("P",),
    "Punct": ("P",),
    "Separator": ("Z",),
    "Spaceseparator": ("Zs",),
    "Spacingmark": ("Mc",),
    "Surrogate": ("Cs",),
    "Symbol": ("S",),
    "Titlecaseletter": ("Lt",),
    "Uppercaseletter": ("Lu",),
}


def refusal(pattern: str) -> str | None:
    """Give Go's error for what RE2 accepts and Go does not."""
    open_groups: list[bool] = []
    for piece in _PIECE.finditer(pattern):
        if piece["escape"] == r"\C":
            return r"invalid escape sequence: `\C`"
        if piece["named"] and not _NAME.fullmatch(piece["name"]):
            return f"invalid named capture: `{piece[0]}`"
        if piece["named"] or piece["group"] or piece["uncounted"]:
            open_groups.append(not piece["uncounted"])
        elif piece["end"]:
            open_groups.pop()
        # Only capturing groups add to the height of Go's tree.
        if len(open_groups) >= _MAX_HEIGHT and sum(open_groups) >= _MAX_HEIGHT:
            return f"expression nests too deeply: `{pattern}`"
    return None


def group_names(pattern: str) -> list[str]:
    """Give the names of the capturing groups, whole match first; most have none."""
    groups = (piece for piece in _PIECE.finditer(pattern) if piece["named"] or piece["group"])
    return ["", *(piece["name"] or "" for piece in groups)]


def rewrite_classes(pattern: str) -> str:
    r"""Put names that RE2 knows in place of those only Go knows: `\p{Letter}` is `\p{L}`."""
    return "".join(_rewritten(pattern))


def _rewritten(pattern: str) -> Iterator[str]:
    at = 0
    for piece in _PIECE.finditer(pattern):
        yield pattern[at : piece.start()]
        at = piece.end()
        if piece["class"]:
            yield _PROPERTY.sub(lambda found: _property(found, inside=True), piece[0])
        elif piece["property"]:
            yield _PROPERTY.sub(lambda found: _property(found, inside=False), piece[0])
        else:
            yield piece[0]
    yield pattern[at:]


def _property(found: re.Match[str], *, inside: bool) -> str:
    negated = (found[1] == "P") != (found[2] == "^")
    name = re.sub(r"[ _-]", "", found[3]).capitalize()
    if name == "Ascii":
        names = [r"\x00-\x7f"]
    else:
        names = [rf"\p{{{each}}}" for each in _CATEGORIES.get(name, (name,))]
    if name == "Cn":
        names, negated = [rf"\p{{{each}}}" for each in _CATEGORIES["Assigned"]], not negated
    if inside and not negated:
        return "".join(names)
    if len(names) == 1 and name != "Ascii":
        return names[0].replace("p", "P", 1) if negated else names[0]
    # A negated union has no form inside another class; RE2 then refuses the pattern.
    return f"[{'^' if negated else ''}{''.join(names)}]" if not inside else found[0]


def translate_error(message: str, pattern: str) -> str:
    """Say in Go's words what RE2 says is wrong with a pattern."""
    reason, _, place = message.partition(": ")
    if place.startswith("(?<"):
        return f"invalid named capture: `{pattern[pattern.rindex(place) :]}`"
    if reason == "invalid UTF-8" and not place and _OPEN_CODE in pattern:
        return f"invalid escape sequence: `{pattern[pattern.rindex(_OPEN_CODE) :]}`"
    return f"{_WORDS.get(reason, reason)}: `{place}`"
