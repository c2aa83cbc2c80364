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


def test_only_partial_objects_request_metadata() -> None:
    assert requests.accept(dict) == {"Accept": "application/json"}
    assert "as=PartialObjectMetadata;" in requests.accept(PartialObject)["Accept"]
    assert "as=PartialObjectMetadataList;" in requests.accept(PartialObject, listed=True)["Accept"]


def test_api_version_and_kind_of_a_dict_are_optional() -> None:
    assert msgspec.json.decode(requests.body(CONFIG_MAPS, {"metadata": {"name": "a"}})) == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "a"},
    }


def test_watch_can_request_initial_events() -> None:
    assert requests.watching(None, seconds=60.4, initial_events=True) == {
        "watch": "true",
        "allowWatchBookmarks": "true",
        "timeoutSeconds": "60",
        "sendInitialEvents": "true",
        "resourceVersionMatch": "NotOlderThan",
    }
    assert requests.watching("7", seconds=60, initial_events=False)["resourceVersion"] == "7"


def test_query_of_a_write_has_only_the_given_options_and_requests_no_warnings() -> None:
    assert requests.writing(None, dry_run=False) == {"fieldValidation": "Ignore"}
    assert requests.writing("lynq", dry_run=True, force=True) == {
        "fieldManager": "lynq",
        "dryRun": "All",
        "fieldValidation": "Ignore",
        "force": "true",
    }


def test_preconditions_are_optional() -> None:
    assert requests.delete_options(None, None, None) == b"{}"
    assert msgspec.json.decode(requests.delete_options("u", None, "Foreground")) == {
        "preconditions": {"uid": "u"},
        "propagationPolicy": "Foreground",
    }


def test_dry_run_of_a_delete_is_in_the_body() -> None:
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
def test_key_of_a_request_body(obj: Any, key: ObjectKey) -> None:
    assert key_of(obj) == key


@pytest.mark.parametrize("obj", [{"metadata": {"name": 5}}, Bare()])
def test_object_without_a_valid_key_is_rejected(obj: Any) -> None:
    with pytest.raises(InvalidObject):
        key_of(obj)


def test_create_requires_a_namespace_and_replace_a_name() -> None:
    with pytest.raises(InvalidObject, match="a ConfigMap cannot be created without a namespace"):
        requests.collection_path(CONFIG_MAPS, {"metadata": {"name": "a"}}, None)
    with pytest.raises(InvalidObject, match=r"the ConfigMap has no metadata\.name"):
        requests.object_path(CONFIG_MAPS, {"metadata": {"namespace": "n"}})


def test_value_without_json_form_is_rejected_unquoted() -> None:
    with pytest.raises(InvalidObject) as caught:
        encode({"hunter2": object()})
    assert "hunter2" not in str(caught.value)


def test_struct_omits_unset_fields() -> None:
    settings = Settings(metadata=Metadata(name="a", resource_version="1"), data={"n": 1})
    assert msgspec.json.decode(encode(settings)) == {
        "metadata": {"name": "a", "resourceVersion": "1"},
        "data": {"n": 1},
    }


def test_decode_error_names_the_path_without_the_value() -> None:
    body = b'{"metadata": {"name": "a"}, "data": {"n": "hunter2"}}'
    with pytest.raises(UnexpectedResponse) as caught:
        decode(body, Settings, what="get /x")
    assert str(caught.value) == "get /x: the response is not a Settings, see `$.data[...]`"


def test_null_list_is_empty() -> None:
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
def test_object_is_removed_without_finalizers_and_grace_period(answer: bytes, gone: bool) -> None:  # noqa: FBT001
    assert requests.is_removed(answer, what="delete") is gone


def test_uid_is_the_precondition_of_a_merge_patch() -> None:
    patch = {"metadata": {"annotations": {"a": "b"}}, "spec": {"paused": True}}
    assert requests.with_uid(patch, "u") == {
        "metadata": {"uid": "u", "annotations": {"a": "b"}},
        "spec": {"paused": True},
    }
    assert requests.with_uid({}, "u") == {"metadata": {"uid": "u"}}
