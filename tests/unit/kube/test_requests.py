from typing import Any

import msgspec
import pytest

from lynq.api import Metadata
from lynq.api.metadata import ObjectKey
from lynq.api.wire import Wire
from lynq.kube import PartialObject, requests
from lynq.kube.codec import decode, decode_list, encode, key_of
from lynq.kube.errors import InvalidObject, UnexpectedResponse
from lynq.kube.resource import CONFIG_MAPS


class Settings(Wire, frozen=True):
    metadata: Metadata
    data: dict[str, int]


class Bare(Wire, frozen=True):
    data: str = ""


def test_only_what_is_read_as_partial_is_asked_for_as_metadata() -> None:
    assert requests.accept(dict) == {"Accept": "application/json"}
    assert "as=PartialObjectMetadata;" in requests.accept(PartialObject)["Accept"]
    assert "as=PartialObjectMetadataList;" in requests.accept(PartialObject, listed=True)["Accept"]


def test_an_object_need_not_repeat_its_kind() -> None:
    assert msgspec.json.decode(requests.body(CONFIG_MAPS, {"metadata": {"name": "a"}})) == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "a"},
    }


def test_a_watch_can_ask_for_the_objects_there_are() -> None:
    assert requests.watching(None, seconds=60.4, initial_events=True) == {
        "watch": "true",
        "allowWatchBookmarks": "true",
        "timeoutSeconds": "60",
        "sendInitialEvents": "true",
        "resourceVersionMatch": "NotOlderThan",
    }
    assert requests.watching("7", seconds=60, initial_events=False)["resourceVersion"] == "7"


def test_a_write_carries_only_the_options_given() -> None:
    assert requests.writing(None, dry_run=False) == {}
    assert requests.writing("lynq", dry_run=True, force=True) == {
        "fieldManager": "lynq",
        "dryRun": "All",
        "force": "true",
    }


def test_preconditions_are_sent_only_when_given() -> None:
    assert requests.delete_options(None, None, None) == b"{}"
    assert msgspec.json.decode(requests.delete_options("u", None, "Foreground")) == {
        "preconditions": {"uid": "u"},
        "propagationPolicy": "Foreground",
    }


def test_a_dry_run_of_a_delete_is_in_the_body_because_the_query_is_not_read() -> None:
    assert requests.delete_options(None, None, None, dry_run=True) == b'{"dryRun":["All"]}'


@pytest.mark.parametrize(
    ("obj", "key"),
    [
        ({"metadata": {"name": "a", "namespace": "n", "labels": None}}, ObjectKey("n", "a")),
        ({"metadata": {"name": "a"}}, ObjectKey("", "a")),
        ({}, ObjectKey("", "")),
        (Settings(metadata=Metadata(name="a", namespace="n"), data={}), ObjectKey("n", "a")),
    ],
)
def test_the_key_of_what_is_sent(obj: Any, key: ObjectKey) -> None:
    assert key_of(obj) == key


@pytest.mark.parametrize("obj", [{"metadata": {"name": 5}}, Bare()])
def test_what_has_no_key_cannot_be_sent(obj: Any) -> None:
    with pytest.raises(InvalidObject):
        key_of(obj)


def test_a_created_object_needs_a_namespace_and_a_replaced_one_a_name() -> None:
    with pytest.raises(InvalidObject, match="a ConfigMap cannot be created without a namespace"):
        requests.collection_path(CONFIG_MAPS, {"metadata": {"name": "a"}}, None)
    with pytest.raises(InvalidObject, match=r"the ConfigMap has no metadata\.name"):
        requests.object_path(CONFIG_MAPS, {"metadata": {"namespace": "n"}})


def test_what_json_has_no_form_for_is_refused_unquoted() -> None:
    with pytest.raises(InvalidObject) as caught:
        encode({"hunter2": object()})
    assert "hunter2" not in str(caught.value)


def test_a_struct_leaves_out_what_is_not_set() -> None:
    settings = Settings(metadata=Metadata(name="a", resource_version="1"), data={"n": 1})
    assert msgspec.json.decode(encode(settings)) == {
        "metadata": {"name": "a", "resourceVersion": "1"},
        "data": {"n": 1},
    }


def test_an_answer_of_another_shape_is_refused_with_the_place_but_not_the_value() -> None:
    body = b'{"metadata": {"name": "a"}, "data": {"n": "hunter2"}}'
    with pytest.raises(UnexpectedResponse) as caught:
        decode(body, Settings, what="get /x")
    assert str(caught.value) == "get /x: the response is not a Settings, see `$.data[...]`"


def test_a_null_list_is_empty() -> None:
    page = decode_list(b'{"metadata": {"resourceVersion": "3"}, "items": null}', dict, what="")
    assert (page.items, page.resource_version, page.continuation) == ([], "3", "")
    assert len(page) == 0
    assert list(page) == []


@pytest.mark.parametrize(
    ("answer", "gone"),
    [
        (b'{"kind":"Status","status":"Success"}', True),
        (b'{"kind":"Pod","metadata":{"deletionGracePeriodSeconds":30}}', False),
        (b'{"kind":"ConfigMap","metadata":{"finalizers":["x/y"]}}', False),
        (b'{"kind":"Namespace","metadata":{},"spec":{"finalizers":["kubernetes"]}}', False),
        (b'{"kind":"Namespace","metadata":{},"spec":{}}', True),
        (b'{"kind":"Gadget","metadata":{},"spec":{"finalizers":5}}', True),
    ],
)
def test_an_object_is_gone_when_nothing_keeps_it(answer: bytes, gone: bool) -> None:  # noqa: FBT001
    assert requests.is_removed(answer, what="delete") is gone
