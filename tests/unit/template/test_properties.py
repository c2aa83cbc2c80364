"""Every source and all data result in text or a TemplateError, in bounded time."""

from contextlib import suppress

from hypothesis import given, settings
from hypothesis import strategies as st

from lynq.template import (
    Environment,
    Limits,
    TemplateError,
    referenced_variables,
    render,
    render_object,
)
from lynq.template.errors import LimitError
from lynq.template.functions.table import FUNCTIONS
from lynq.template.gofmt.floats import format_float
from lynq.template.gofmt.printf import show, sprintf
from lynq.template.gofmt.quoting import quote
from lynq.template.literals import unquote

SMALL = Environment(
    limits=Limits(text=10_000, output=10_000, items=1_000, seconds=0.1, slow_calls=0)
)
PIECES = st.sampled_from(
    [
        *(
            "{{",
            "}}",
            "{{-",
            "-}}",
            "(",
            ")",
            "|",
            ",",
            ":=",
            "=",
            ".",
            "$",
            "$x",
            ".a",
            ".b.c",
            " ",
        ),
        *('"', "`", "'", "\\", "/*", "*/", "\n", "0x", "1", "-1", "1.5e3", "'a'", '"%d"', "nil"),
        *("if", "else", "end", "range", "with", "define", "template", "block", "break", "continue"),
        *("true", "printf", "index", "len", "eq", "and", "or", "list", "dict", "é", "{", "}", "#"),
    ]
)
NAMES = st.sampled_from(sorted(FUNCTIONS))
ATOMS = st.one_of(
    st.sampled_from([".s", ".n", ".l", ".m", ".z", ".f", "nil", "true", "$", ".", "(list 1 2)"]),
    st.integers(-(2**63), 2**63 - 1).map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.text(max_size=8).map(quote),
)
DATA = {"s": "text", "n": 5, "l": ["a", 1, None], "m": {"a": 1}, "z": None, "f": 1.5}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def calls(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    arguments = st.lists(inner, max_size=3)
    called = st.builds(lambda name, given: " ".join([name, *given]), NAMES, arguments)
    return st.one_of(called.map("({})".format), st.builds("({} | {})".format, inner, called))


EXPRESSIONS = st.recursive(ATOMS, calls, max_leaves=6)


def render_or_refuse(source: str, data: dict[str, object]) -> str | None:
    try:
        return render(source, data, SMALL)
    except TemplateError:
        return None


@given(st.lists(PIECES, max_size=25).map("".join))
@settings(max_examples=400, deadline=2_000)
def test_any_source_renders_or_raises_template_error(source: str) -> None:
    render_or_refuse(source, DATA)


@given(st.text(max_size=60))
@settings(max_examples=100, deadline=2_000)
def test_any_text_renders_or_raises_template_error(source: str) -> None:
    render_or_refuse(source, {})
    render_or_refuse("{{ " + source + " }}", {})


@given(EXPRESSIONS)
@settings(max_examples=600, deadline=5_000)
def test_any_function_call_renders_or_raises_template_error(expression: str) -> None:
    render_or_refuse("{{ " + expression + " }}", dict(DATA))


@given(NAMES, JSON, JSON)
@settings(max_examples=400, deadline=5_000)
def test_any_data_in_any_function_renders_or_raises_template_error(
    name: str, first: object, second: object
) -> None:
    data = {"a": first, "b": second}
    for call in (f"{name} .a", f"{name} .a .b", f".a | {name}", f"{name} .a .b .a"):
        render_or_refuse(f"{{{{ {call} }}}}", data)


@given(st.text())
def test_row_values_render_unchanged(value: str) -> None:
    expected = "".join("\ufffd" if "\ud800" <= char <= "\udfff" else char for char in value)

    assert render("{{ .x }}", {"x": value}) == expected
    assert render_object({"a": "{{ .x }}"}, {"x": value}) == {"a": expected}


@given(st.lists(PIECES, max_size=15).map("".join))
@settings(max_examples=100)
def test_variables_of_any_source_are_listed_or_template_error(source: str) -> None:
    with suppress(TemplateError):
        referenced_variables(source)


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"])))
def test_quoted_text_round_trips(text: str) -> None:
    assert unquote(quote(text)) == text
    assert unquote(quote(text, ascii_only=True)) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_printed_float_round_trips(number: float) -> None:
    assert float(show(number)) == number
    assert float(format_float(number, "e")) == number
    assert float.fromhex(format_float(number, "x")) == number


@given(st.text(max_size=20), st.lists(JSON, max_size=3))
@settings(max_examples=300)
def test_any_format_prints_a_string(template: str, values: list[object]) -> None:
    with suppress(LimitError):
        sprintf(template, *values, limits=SMALL.limits)
