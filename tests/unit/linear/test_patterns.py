"""No regular expression of the source takes more than linear time on any text.

Python's `re` holds the interpreter while it searches, so one such text would stop all hubs, the
probes and the lease. A pattern is RE2's, or it is measured with the methods that the code calls, on
inputs that are made from its own repetitions and on families that are the same for all.
"""

import ast
import re
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from lynq.api import crds
from unit.linear.inputs import UNITS, family, pumps
from unit.linear.measure import LIMIT, growth
from unit.linear.patterns import Place, modules, places, unnamed

PASSED_ON = {
    "lynq.cli.manifest_files._FLOAT": ("match",),
    "lynq.cli.manifest_files._INTEGER": ("match",),
    "lynq.core.explain.resources._SIGNS": ("search",),
    "lynq.core.node.ignore_fields.jsonpath._NUMBER": ("match",),
    "lynq.core.node.ignore_fields.jsonpath._QUOTED": ("match",),
    "lynq.core.node.ignore_fields.jsonpath._SPACE": ("match",),
    "lynq.core.node.ignore_fields.parse._KEY": ("match",),
    "lynq.kube.denials._DENIALS": ("search",),
    "lynq.telemetry.log_encoder._SECRETS_IN_TEXT": ("sub",),
    "lynq.template.functions.encoding._BASE32_RUN": ("match",),
    "lynq.template.functions.encoding._BASE64_RUN": ("match",),
    "lynq.template.functions.json._BLANK": ("match",),
    "lynq.template.functions.json._DIGITS": ("match",),
    "lynq.template.functions.json._PLAIN_STRING": ("match",),
}
"""The methods that a function calls on a pattern that it is given."""
OF_A_TEMPLATE = "re2.compile(to_bytes(source), options)"
"""The only pattern that is not a constant: RE2's, of at most 2048 bytes."""


def test_each_pattern_is_a_constant_of_its_module() -> None:
    others = [
        f"{name}: {ast.unparse(call)}" for name, tree in modules().items() for call in unnamed(tree)
    ]
    assert others == [f"lynq.template.regex: {OF_A_TEMPLATE}"]


def test_no_pattern_hides_behind_another_name() -> None:
    for name, tree in modules().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom):
                assert node.module not in {"re", "re2"}, name
            if isinstance(node, ast.Import):
                assert not any(
                    alias.name in {"re", "re2"} and alias.asname for alias in node.names
                ), name


def test_each_pattern_takes_linear_time() -> None:
    found = places()
    assert len(found) > 120
    slow = [problem for place in found for problem in problems(place)]
    assert slow == []


def test_each_pattern_of_the_schemas_takes_linear_time() -> None:
    texts = sorted(set(schema_patterns(crds.build())))
    assert texts
    # The decoder searches these with `re` when it reads a field.
    searched = [Place("schema", text, re.compile(text), ("search",)) for text in texts]
    assert [problem for place in searched for problem in problems(place)] == []


@pytest.mark.parametrize(
    ("pattern", "method"),
    [
        (r"(a+)+$", "match"),
        (r"\[(?:\\p\{[^}]*\}|\\.|[^\]])*\]", "search"),
        (r"\d+ s", "sub"),
        (r"\[=.*?\]", "sub"),
        (r"x(?:[^:]*:[^\n]*\n)*[^x]*?END", "search"),
        (r"(?<=requested: )(\S+=\S+?)(?=, used: |$)", "search"),
        (r"json: cannot unmarshal (string|bool)[^\n]*? into Go", "search"),
    ],
)
def test_measurement_finds_patterns_that_are_not_linear(pattern: str, method: str) -> None:
    assert list(problems(Place("m", "P", re.compile(pattern), (method,))))


def problems(place: Place) -> Iterator[str]:
    """Yield the first slow input of each method."""
    methods = place.methods or PASSED_ON[str(place).partition("[")[0]]
    for method in methods:
        search = call(place.pattern, method)
        for text in inputs(place.pattern):
            if (times := growth(search, text)) > LIMIT:
                yield f"{place} {method} {text(12)!r}: {times:.0f} times as long"
                break


def inputs(pattern: Any) -> Iterator[Callable[[int], str]]:
    if isinstance(pattern, re.Pattern):
        yield from pumps(pattern)
    yield from (partial(family, unit) for unit in UNITS)


def call(pattern: Any, method: str) -> Callable[[str], object]:
    """Return the method as a function of a text."""
    is_bytes = isinstance(pattern.pattern, bytes)
    function: Callable[[Any], object] = getattr(pattern, method)
    if method in {"sub", "subn"}:
        function = partial(function, b"" if is_bytes else "")
    elif method == "finditer":
        function = lambda text: deque(pattern.finditer(text), 0)  # noqa: E731
    if is_bytes:
        return lambda text: function(text.encode(errors="surrogatepass"))
    if isinstance(pattern, re.Pattern):
        return function
    # RE2 searches UTF-8, which has no lone surrogates.
    return lambda text: function(text.encode(errors="replace").decode())


def schema_patterns(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(pattern := value.get("pattern"), str):
            yield pattern
        for item in value.values():
            yield from schema_patterns(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from schema_patterns(item)
