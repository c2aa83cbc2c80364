"""The table of all functions that templates can call."""

from collections.abc import Mapping
from importlib import import_module
from typing import Final

from lynq.template.functions.signature import Function, declared_in

_FAMILIES: Final = (
    "arithmetic",
    "builtins",
    "casts",
    "certificates",
    "comparison",
    "crypto",
    "dates",
    "defaults",
    "dicts",
    "encoding",
    "escaping",
    "json",
    "lists",
    "paths",
    "random",
    "regex",
    "semver",
    "strings",
    "url",
    "words",
    "wrapping",
)
"""The modules beside this one that declare functions."""

FUNCTIONS: Final[Mapping[str, Function]] = {
    name: function
    for family in _FAMILIES
    for name, function in declared_in(import_module(f"lynq.template.functions.{family}")).items()
}
"""Every function by its name."""
