"""parse_path: valid JSONPaths and their segments, invalid ones and their errors."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lynq.core.node.ignore_fields.jsonpath import (
    Filter,
    Index,
    Name,
    PathError,
    Segment,
    Slice,
    Wildcard,
)
from lynq.core.node.ignore_fields.parse import parse_path, path_problem

PUNCTUATION = st.text("$.*[]'\"01-:,?()@=&|!< /\\aé", max_size=15)


def names(*keys: str) -> tuple[Segment, ...]:
    return tuple(Segment((Name(key),)) for key in keys)


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("", ()),
        ("$", ()),
        ("$.a.b", names("a", "b")),
        ("a.b", names("a", "b")),
        (".a.b", names("a", "b")),
        ("$.spec.template-x.é", names("spec", "template-x", "é")),
        ("$['a']['b.c/d']", names("a", "b.c/d")),
        ('$.["a"]', names("a")),
        (r"$['it\'s']", names("it's")),
        ("$..x", (Segment((Name("x"),), descends=True),)),
        ("$..*", (Segment((Wildcard(),), descends=True),)),
        ("$..[0]", (Segment((Index(0),), descends=True),)),
        ("$.*", (Segment((Wildcard(),)),)),
        ("a[*].b", (*names("a"), Segment((Wildcard(),)), *names("b"))),
        ("a[0][-1]", (*names("a"), Segment((Index(0),)), Segment((Index(-1),)))),
        ("a[ 0 , 'b' ]", (*names("a"), Segment((Index(0), Name("b"))))),
        ("a[1:3]", (*names("a"), Segment((Slice(1, 3, None),)))),
        ("a[:-1:2]", (*names("a"), Segment((Slice(None, -1, 2),)))),
        ("[0]", (Segment((Index(0),)),)),
    ],
)
def test_path_is_parsed_into_segments(text: str, path: tuple[Segment, ...]) -> None:
    assert parse_path(text) == path


@pytest.mark.parametrize(
    "text",
    [
        "/a/b",
        "a b",
        "$.a[",
        "$.a]",
        "$.",
        "$a",
        "a..",
        "a[]",
        "a['b",
        "a[b]",
        "a[1.5]",
        "a[1:2:0]",
        "$.a/b",
        " a",
        "a ",
        "a[0",
        "a[?]",
        "a[?()]",
        "a[?(@.b==)]",
        "a[?(1)]",
        "a[?(@.b=='x']",
        "a[?(@.)]",
        "a[?(@[x])]",
        "a[?(@.b = 1)]",
        f"a[?{'(' * 30}@{')' * 30}]",
        "a" * 1001,
    ],
)
def test_invalid_path_is_rejected(text: str) -> None:
    with pytest.raises(PathError, match="at character"):
        parse_path(text)


@given(PUNCTUATION)
def test_any_text_is_parsed_or_rejected(text: str) -> None:
    with suppress(PathError):
        assert all(segment.selectors for segment in parse_path(text))


@pytest.mark.parametrize(
    ("condition", "value", "passes"),
    [
        ("@.name=='x'", {"name": "x"}, True),
        ("@.name == 'x'", {"name": "y"}, False),
        ('@.name == "x"', {"name": "x"}, True),
        ("(@.name=='x')", {"name": "x"}, True),
        ("'x' == @.name", {"name": "x"}, True),
        ("@.name != 'x'", {}, True),
        ("@.name", {"name": None}, True),
        ("@.name", {}, False),
        ("!@.name", {}, True),
        ("@['a b'][0].c == 1", {"a b": [{"c": 1}]}, True),
        ("@[-1] == 2", [1, 2], True),
        ("@ == 'x'", "x", True),
        ("@.n > 79 && @.n <= 80", {"n": 80}, True),
        ("@.n < 1.5e1", {"n": 15}, False),
        ("@.n >= 'a'", {"n": "b"}, True),
        ("@.n > 'a'", {"n": 5}, False),
        ("@.n == 1", {"n": True}, False),
        ("@.on == true || @.off == null", {"on": True}, True),
        ("@.on == true || @.off == null", {"off": None}, True),
        ("@.a && (@.b || @.c)", {"a": 1, "c": 1}, True),
        ("@.a.b", 5, False),
        ("@.n > 1", {"n": True}, False),
    ],
)
def test_filter_compares_values(condition: str, value: object, passes: bool) -> None:  # noqa: FBT001
    (segment,) = parse_path(f"[?{condition}]")
    (selector,) = segment.selectors
    assert isinstance(selector, Filter)
    assert selector.passes(value) is passes


def test_path_problem_describes_an_invalid_path() -> None:
    assert path_problem("$.spec.replicas") is None
    assert "is not a valid JSONPath" in (path_problem("$.spec[") or "")
