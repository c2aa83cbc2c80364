"""The depth of JSON from outside, and the decoders that read it."""

import ast
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lynq
from lynq.api.nesting import MAX_DEPTH, NestedTooDeep, depth_checked, exceeds_depth

SOURCE = Path(lynq.__file__).parent

UNCHECKED = {
    "cli/form_files.py: text": "encoded here",
    "cli/output.py: json.dumps(data)": "encoded here",
    "cli/row_file.py: raw": "a string of a line that was checked",
    "cluster/layout.py: self._record.read_bytes()": "written by this program",
    "controllers/node/live_bodies.py: kept.text": "encoded here",
    "controllers/node/live_bodies.py: msgspec.json.encode(obj)": "encoded here",
    "core/node/managed_fields.py: text": "encoded here",
    "kube/codec.py: body": "cut to the depth",
    "template/functions/json.py: valid(text)": "templates have a lower limit",
    "webhooks/review.py: raw": "an object of a review whose body was checked",
}
"""The texts that are decoded without `depth_checked`, and why."""


def nested(levels: int, opening: str = "[", closing: str = "]") -> str:
    return opening * levels + closing * levels


@pytest.mark.parametrize("pair", [("[", "]"), ('{"a":', "}"), ('[{"[":', "}]")])
def test_depth_is_exact(pair: tuple[str, str]) -> None:
    per_pair = pair[0].count("[") + pair[0].count("{") - pair[0].count('"[')
    text = nested(MAX_DEPTH // per_pair, *pair)
    assert not exceeds_depth(text)
    assert exceeds_depth(f"[{text}]")


@pytest.mark.parametrize(
    "text",
    [
        "[" * 501,
        "[" * 501 + "}" * 501,
        "x" + "[" * 501,
        '"' + "]" * 600 + '"' + "[" * 501,
        '["}]",' * 501,
        '["\\"]",' * 501,
        '["\\\\",' * 501,
        '{"]":{"}":' * 251,
    ],
)
def test_deep_beginning_of_invalid_json_is_found(text: str) -> None:
    assert exceeds_depth(text)


@pytest.mark.parametrize(
    "text", ['"' + "[" * 600 + '"', '["[[[[\\"[[[[",' * 400, "[]," * 600, '{"[":1},' * 600]
)
def test_brackets_in_strings_and_siblings_do_not_count(text: str) -> None:
    assert not exceeds_depth(text)


JSON = st.recursive(
    st.none() | st.text(alphabet='a"\\{}[],:é\n', max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(alphabet='m"\\{}[', max_size=3), inner, max_size=3)
    ),
    max_leaves=20,
)


def depth_of(value: Any) -> int:
    items = value.values() if isinstance(value, dict) else value
    return 1 + max(map(depth_of, items), default=0) if isinstance(value, dict | list) else 0


@given(value=JSON)
def test_depth_is_that_of_the_decoded_value(value: Any) -> None:
    depth = depth_of(value)
    for text in (json.dumps(value), json.dumps(value, indent=1), msgspec.json.encode(value)):
        assert not exceeds_depth(text, depth)
        if depth:
            assert exceeds_depth(text, depth - 1)


@given(beginning=JSON, end=st.text(alphabet='a"\\{}[]', max_size=6))
def test_depth_is_found_in_any_beginning(beginning: Any, end: str) -> None:
    text = f"[{json.dumps(beginning)}, {json.dumps(end)}, {'[' * 20}{end}"
    assert exceeds_depth(text, 20)


def test_error_is_one_that_callers_of_each_decoder_expect() -> None:
    with pytest.raises(msgspec.DecodeError, match=r"^nested deeper than 500 levels$"):
        depth_checked(nested(501))
    with pytest.raises(ValueError, match=r"^nested deeper than 500 levels$"):
        depth_checked(b"[" * 501)
    assert depth_checked(b"[]") == b"[]"


@pytest.mark.parametrize("levels", [MAX_DEPTH, 1_500, 10_000, 500_000])
@pytest.mark.parametrize("decode", [json.loads, msgspec.json.decode])
def test_no_depth_ends_a_process_with_small_stacks(
    levels: int, decode: Callable[[str], object]
) -> None:
    outcomes: list[object] = []

    def read() -> None:
        try:
            outcomes.append(decode(depth_checked(nested(levels))) is not None)
        except NestedTooDeep:
            outcomes.append(NestedTooDeep)

    before = threading.stack_size(512 * 1024)
    try:
        thread = threading.Thread(target=read)
        thread.start()
    finally:
        threading.stack_size(before)
    thread.join()
    assert outcomes == [True if levels == MAX_DEPTH else NestedTooDeep]


def decoders(tree: ast.Module) -> Iterator[ast.Call]:
    """Yield the calls that decode JSON; `bytes.decode` has an encoding or nothing as argument."""
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and node.args):
            continue
        name = ast.unparse(node.func)
        is_text = isinstance(node.args[0], ast.Constant)
        if name in {"json.loads", "json.load"} or (name.endswith(".decode") and not is_text):
            yield node


def test_each_decoder_reads_text_of_bounded_depth() -> None:
    unchecked = {
        f"{path.relative_to(SOURCE)}: {ast.unparse(call.args[0])}"
        for path in SOURCE.rglob("*.py")
        for call in decoders(ast.parse(path.read_text()))
        if not ast.unparse(call.args[0]).startswith("depth_checked(")
    }
    assert unchecked == UNCHECKED.keys()


def test_no_decoder_hides_behind_another_name() -> None:
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module in {"json", "msgspec.json"}:
                hidden = {alias.name for alias in node.names} - {"encode", "Encoder"}
                assert not hidden, path
