"""The engine: errors have a position, data is never code, and code has only constants."""

import ast

import pytest

from lynq.template import (
    Environment,
    Needs,
    SeededRandom,
    TemplateError,
    compile_template,
    referenced_variables,
    render,
)
from lynq.template.compiler.build import build, explain
from lynq.template.functions.table import FUNCTIONS
from lynq.template.parser import parse


def fails(source: str, **data: object) -> TemplateError:
    with pytest.raises(TemplateError) as failed:
        render(source, data)
    return failed.value


def test_parse_error_names_line_and_cause() -> None:
    error = fails("a\n{{ if }}")

    assert (error.kind, error.line) == ("parse", 2)
    assert str(error) == "template: template:2: missing value for if"


def test_execution_error_names_line_column_action_and_function() -> None:
    error = fails("a\n  {{ .x | fail }}", x="boom")

    assert (error.kind, error.line, error.column) == ("execute", 2, 10)
    assert (error.action, error.function) == ("fail", "fail")
    assert error.message == "error calling fail: boom"


def test_error_names_the_missing_variable() -> None:
    assert 'map has no entry for key "planId"' in str(fails("{{ .uid }}-{{ .planId }}", uid="a"))


def test_error_in_a_defined_template_names_the_template() -> None:
    error = fails('{{ define "box" }}{{ upper . }}{{ end }}{{ template "box" 5 }}')

    assert error.template == "box"
    assert "wrong type for value; expected string; got int" in error.message


def test_data_without_a_go_type_is_rejected() -> None:
    assert fails("{{ .x }}", x=object()).kind == "data"
    assert fails("{{ .x }}", x={1: 2}).kind == "data"
    assert fails("{{ upper .x }}", x=b"bytes").kind == "data"


@pytest.mark.parametrize(
    "value", ["{{ .uid }}", "{{", "}}", "{{ fail `x` }}", "\\", "'", '"""', "#"]
)
def test_values_are_never_parsed_as_templates(value: str) -> None:
    assert render("{{ .x }}", {"x": value}) == value
    assert render("{{ .x | upper | lower }}", {"x": value}) == value.lower()
    assert render("{{ range list .x }}{{ . }}{{ end }}", {"x": value}) == value


SOURCES = [
    "{{ .uid }}-api",
    '{{ .__class__ }}{{ ("").__class__ }}{{ $.__builtins__.eval }}',
    "{{ range $i, $e := .l }}{{ $i }}{{ if $e }}{{ break }}{{ end }}{{ end }}",
    '{{ define "x" }}{{ now.Format "2006" }}{{ end }}{{ template "x" . }}',
    '{{ printf "%s" (index . "\'; import os #") | default "x" | int }}',
    "'''{{/* */}}\"\"\"\\\n#",
]


@pytest.mark.parametrize("source", SOURCES)
def test_generated_code_has_no_attributes_imports_or_builtins(source: str) -> None:
    template = parse(source, FUNCTIONS.__contains__)
    nodes = list(ast.walk(ast.parse(explain(template))))

    assert not [node for node in nodes if isinstance(node, ast.Attribute | ast.Import | ast.Lambda)]
    assert build(template).main.__globals__["__builtins__"] == {}


@pytest.mark.parametrize(
    "name", ["__class__", "__dict__", "mro", "keys", "items", "format", "upper"]
)
def test_python_attributes_are_inaccessible(name: str) -> None:
    for value in ("text", 5, 1.5, True, ["a"], {"a": 1}, None):
        fails(f"{{{{ .x.{name} }}}}", x=value)
    fails(f"{{{{ .{name} }}}}", x=1)
    fails(f"{{{{ now.{name} }}}}")


def test_templates_are_compiled_once() -> None:
    assert compile_template("{{ .once }}") is compile_template("{{ .once }}")


def test_needs_list_the_inputs_of_a_template() -> None:
    assert compile_template("{{ .x | upper }}").needs == Needs.NOTHING
    assert compile_template("{{ now }}").needs & Needs.CLOCK
    assert compile_template("{{ uuidv4 }}").needs & Needs.RANDOM
    assert compile_template('{{ if false }}{{ genCA "a" 1 }}{{ end }}').needs & Needs.ENTROPY
    assert compile_template('{{ bcrypt "x" }}').needs & Needs.SLOW


def test_render_is_repeatable() -> None:
    environment = Environment(now=0, random=SeededRandom(b"seed"))
    source = (
        '{{ randAlpha 9 }} {{ uuidv4 }} {{ shuffle "abcdefgh" }} {{ randInt 0 1000 }} {{ now }}'
    )

    assert render(source, {}, environment) == render(source, {}, environment)
    assert render(source, {}, environment) != render(source, {}, Environment(now=0))


@pytest.mark.parametrize(
    ("source", "read"),
    [
        ("{{ .uid }}-{{ .name | upper }}", ["name", "uid"]),
        ("{{ .a.b.c }}{{ $.d }}", ["a", "d"]),
        ("{{ range .list }}{{ .inner }}{{ $.outer }}{{ end }}", ["list", "outer"]),
        ("{{ with .a }}{{ .inner }}{{ else }}{{ .b }}{{ end }}", ["a", "b"]),
        ("{{ with . }}{{ .a }}{{ end }}", ["a"]),
        ("{{ if eq .a (printf `%s` .b) }}{{ (.c).d }}{{ end }}", ["a", "b", "c"]),
        ('{{ define "x" }}{{ .a }}{{ end }}{{ template "x" . }}', ["a"]),
        ('{{ define "x" }}{{ .a }}{{ end }}{{ template "x" .b }}', ["b"]),
        ('{{ define "x" }}{{ .a }}{{ template "x" . }}{{ end }}{{ template "x" . }}', ["a"]),
        ('{{ index . "x" | default (get $ "y") }}', ["x", "y"]),
        ("plain {{/* .comment */}}", []),
    ],
)
def test_referenced_variables_are_listed(source: str, read: list[str]) -> None:
    assert referenced_variables(source) == read


def test_invalid_utf8_renders_as_replacement_characters() -> None:
    assert render('{{ trunc 1 "é" }}', {}) == "\ufffd"
    assert render('{{ trunc 1 "é" }}{{ "\\xa9" }}', {}) == "é"
    assert render("{{ .x | len }} {{ .x }}", {"x": "\ud800"}) == "3 \ufffd"
