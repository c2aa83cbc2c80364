"""The template functions, each with an example that is executed here."""

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Final

from lynq.api.schema import unwrap
from lynq.template import Environment, Limits, Needs, SeededRandom, TemplateError, compile_template
from lynq.template.functions.signature import Function
from lynq.template.functions.table import FUNCTIONS
from reference.markdown import code, page, table

EXAMPLES: Final = Path(__file__).with_name("function_examples.toml")
VARIABLES: Final = {"uid": "acme", "plan": "pro"}
_NOW: Final = datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC)
_ENVIRONMENT: Final = Environment(
    now=int(_NOW.timestamp()) * 10**9,
    random=SeededRandom(b"reference"),
    # A busy machine does not change the output.
    limits=Limits(seconds=60),
)
_ONCE: Final = "Only for resources with `creationPolicy: Once`: the result cannot be repeated."
_INTRODUCTION = (
    "The functions that templates of a form can call: those of Go's text/template and of sprig, "
    "and a few of Lynq. The outputs are those of the operator's own engine, with the variables "
    "`uid` (`acme`) and `plan` (`pro`), at 2024-05-06 07:08:09 UTC. An output with line breaks, or "
    "with blanks at its ends, is shown in quotes."
)
_NOTES = (
    "- `now` is the time of the last change of the row or form, so that a render can be repeated.\n"
    "- Random values depend on the installation key, the node, the resource and the field: they "
    "stay the same at every render.\n"
    "- Where `X` ignores an error, `mustX` fails the render; otherwise both are the same.\n"
    "- `env`, `expandenv` and `getHostByName` of sprig do not exist: a template reads nothing from "
    "the operator's process or network."
)


def pages() -> Iterator[tuple[str, str]]:
    """Yield name and content of the page."""
    parts = []
    for group, examples in grouped_examples().items():
        rows = (_row(FUNCTIONS[name], template) for name, template in examples.items())
        parts += [f"## {group}", table(("function", "meaning", "example and output"), rows)]
    yield "functions.md", page("Template functions", _INTRODUCTION, _NOTES, *parts)


def grouped_examples() -> Mapping[str, Mapping[str, str]]:
    """Return the example of every function by group and name."""
    groups: dict[str, dict[str, str]] = {}
    for group, examples in tomllib.loads(EXAMPLES.read_text()).items():
        groups[group] = {}
        for name, template in examples.items():
            groups[group][name] = template
            for must in (f"must{name[0].upper()}{name[1:]}", f"must_{name}"):
                if must in FUNCTIONS:
                    groups[group][must] = re.sub(rf"\b{name}\b", must, template)
    return groups


@cache
def output(template: str) -> str:
    """Execute a template."""
    try:
        return compile_template(template).render(VARIABLES, _ENVIRONMENT)
    except TemplateError as error:
        return f"error: {error.message}"


def _row(function: Function, template: str) -> tuple[str, str, str]:
    meaning = unwrap(function.body.__doc__ or "").partition("\n\n")[0]
    if function.needs & Needs.ENTROPY:
        meaning += f" {_ONCE}"
    return code(function.name), meaning, f"{code(template)}\n→ {code(_shown(output(template)))}"


def _shown(text: str) -> str:
    return text if text and text == text.strip() and "\n" not in text else json.dumps(text)
