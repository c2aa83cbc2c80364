"""Responses with an object that is nested too deep, among others that are not."""

import threading
import time
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lynq.api import Metadata
from lynq.api.metadata import ManagedFields
from lynq.api.wire import Wire
from lynq.kube import PartialObject, errors
from lynq.kube.codec import TOO_DEEP, cut_depth, decode, decode_list, encode

DEEPEST = 9_990
"""The maximum depth of an object in the API server, with room for its list."""
CUT = msgspec.json.decode(TOO_DEEP)


class Whole(Wire, frozen=True):
    metadata: Metadata
    spec: Any = None
    status: Any = None


class Loose(Wire, frozen=True):
    metadata: Metadata
    spec: msgspec.Raw = msgspec.Raw(b"{}")


def nested(levels: int, kind: str = "objects") -> str:
    opening, closing = {"objects": ('{"a":', "}"), "lists": ("[", "]")}[kind]
    return opening * levels + "1" + closing * levels


def an_object(name: str, spec: str = '{"a":[{"b":1}]}', fields: str = '{"f:a":{}}') -> str:
    managed = f'[{{"manager":"m","fieldsType":"FieldsV1","fieldsV1":{fields}}}]'
    metadata = f'{{"name":"{name}","labels":{{"l":"v"}},"managedFields":{managed},"uid":"7"}}'
    return f'{{"kind":"K","metadata":{metadata},"spec":{spec},"status":{{"s":"}}]"}}}}'


def a_list(*objects: str) -> bytes:
    metadata = '{"resourceVersion":"5","continue":"more"}'
    return f'{{"kind":"L","metadata":{metadata},"items":[{",".join(objects)}]}}'.encode()


@pytest.mark.parametrize("levels", [1_300, DEEPEST])
@pytest.mark.parametrize("kind", ["objects", "lists"])
def test_list_loses_only_the_field_that_is_too_deep(levels: int, kind: str) -> None:
    body = a_list(an_object("a"), an_object("deep", nested(levels, kind)), an_object("z"))
    page = decode_list(body, Whole, what="list")
    assert (page.resource_version, page.continuation) == ("5", "more")
    assert [item.metadata.name for item in page] == ["a", "deep", "z"]
    assert [item.spec for item in page] == [{"a": [{"b": 1}]}, CUT, {"a": [{"b": 1}]}]
    assert [item.status for item in page] == [{"s": "}]"}] * 3
    assert page.items[1].metadata.labels == {"l": "v"}


def test_raw_field_that_is_too_deep_is_replaced() -> None:
    body = a_list(an_object("a"), an_object("deep", nested(DEEPEST)))
    page = decode_list(body, Loose, what="list")
    assert [bytes(item.spec) for item in page] == [b'{"a":[{"b":1}]}', TOO_DEEP]


def test_unknown_field_may_have_any_depth() -> None:
    decoded = decode(an_object("a", nested(DEEPEST)).encode(), PartialObject, what="get")
    assert (decoded.kind, decoded.metadata.name) == ("K", "a")


def test_metadata_loses_only_the_fields_of_one_manager() -> None:
    body = an_object("a", nested(DEEPEST), nested(DEEPEST)).encode()
    decoded = decode(body, Whole, what="get")
    assert decoded.metadata == Metadata(
        name="a",
        labels={"l": "v"},
        managed_fields=[ManagedFields(manager="m", fields_v1=msgspec.Raw(TOO_DEEP))],
        uid="7",
    )
    assert (decoded.spec, decoded.status) == (CUT, {"s": "}]"})


def test_dict_is_decoded_completely_or_rejected() -> None:
    body = an_object("a", nested(1_300)).encode()
    with pytest.raises(errors.UnexpectedResponse, match=r"^get /it: .* nested too deep"):
        decode(body, dict, what="get /it")


@pytest.mark.parametrize("cut", [b"", b"x", b"}" * 2_000])
def test_deep_body_that_is_not_json_is_rejected(cut: bytes) -> None:
    body = an_object("a", nested(1_300)).encode()
    with pytest.raises(errors.UnexpectedResponse):
        decode(body[:-1_000] + cut, Whole, what="get")


def test_object_that_is_too_deep_to_encode_is_rejected() -> None:
    manifest: dict[str, Any] = {}
    for _ in range(1_300):
        manifest = {"a": manifest}
    with pytest.raises(errors.InvalidObject, match="nested too deep"):
        encode(manifest)


def test_decoding_needs_only_a_small_stack() -> None:
    body = a_list(an_object("deep", nested(DEEPEST), nested(DEEPEST)))
    decoded: list[Any] = []

    def read() -> None:
        decoded.append(decode_list(body, Whole, what="list").items[0].spec)

    run_in_thread(read, stack=512 * 1024)
    assert decoded == [CUT]


def run_in_thread(target: Callable[[], None], *, stack: int) -> None:
    before = threading.stack_size(stack)
    try:
        thread = threading.Thread(target=target)
        thread.start()
    finally:
        threading.stack_size(before)
    thread.join()


JSON = st.recursive(
    st.none() | st.integers(-9, 9) | st.text(alphabet='a"\\{}[],:é\n', max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(alphabet='m"\\{}', max_size=3), inner, max_size=3)
    ),
    max_leaves=20,
)


@given(value=st.dictionaries(st.sampled_from(["metadata", "spec", 'x"{']), JSON), spaced=...)
def test_body_within_the_depth_limit_is_unchanged(value: dict[str, Any], spaced: bool) -> None:  # noqa: FBT001
    text = msgspec.json.encode(value)
    text = msgspec.json.format(text, indent=2) if spaced else text
    assert cut_depth(text, level=0) == text


@given(spec=JSON, deep=st.sampled_from([nested(600), nested(600, "lists")]))
def test_siblings_of_a_field_that_is_too_deep_are_unchanged(spec: Any, deep: str) -> None:
    inside = msgspec.json.encode(spec).decode()
    body = f'{{"spec": {inside}, "status": [{inside}, {deep}, {inside}], "end": {inside}}}'
    decoded = msgspec.json.decode(cut_depth(body.encode(), level=0))
    assert decoded == {"spec": spec, "status": CUT, "end": spec}


@pytest.mark.parametrize("filling", ['"\\\\\\""', "[]", '"plain"'])
def test_cut_takes_linear_time(filling: str) -> None:
    many = ",".join([filling] * 100_000)
    body = an_object("a", f"[{nested(1_300)},{many}]").encode()
    began = time.process_time()
    assert decode(body, Whole, what="get").spec == CUT
    assert time.process_time() - began < 5


def test_rejection_of_invalid_json_takes_linear_time() -> None:
    body = an_object("a", f'[{nested(1_300)},"' + "\\n" * 500_000).encode()
    began = time.process_time()
    with pytest.raises(errors.UnexpectedResponse):
        decode(body, Whole, what="get")
    assert time.process_time() - began < 5
