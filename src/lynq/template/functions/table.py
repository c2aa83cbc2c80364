"""The table of all functions that templates can call."""

from collections.abc import Mapping
from typing import Final

from lynq.template.functions import (
    arithmetic,
    builtins,
    casts,
    certificates,
    cipher,
    comparison,
    crypto,
    dates,
    defaults,
    dicts,
    encoding,
    escaping,
    flow,
    hashes,
    hosts,
    integers,
    json,
    json_reading,
    kinds,
    lettercase,
    lists,
    merging,
    passwords,
    paths,
    quoting,
    random,
    regex,
    semver,
    string_lists,
    strings,
    typed,
    url,
    words,
    wrapping,
)
from lynq.template.functions.signature import Function, declared_in

_FAMILIES: Final = (
    builtins,
    casts,
    certificates,
    cipher,
    comparison,
    dates,
    defaults,
    dicts,
    encoding,
    escaping,
    wrapping,
    arithmetic,
    flow,
    hashes,
    hosts,
    integers,
    json_reading,
    json,
    crypto,
    kinds,
    lettercase,
    lists,
    merging,
    passwords,
    paths,
    quoting,
    random,
    regex,
    semver,
    string_lists,
    strings,
    typed,
    url,
    words,
)

FUNCTIONS: Final[Mapping[str, Function]] = {
    name: function for family in _FAMILIES for name, function in declared_in(family).items()
}
"""Every function by its name."""
