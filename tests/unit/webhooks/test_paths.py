"""The secret part of the paths, and when it may be used."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lynq.api.installation_key import NO_KEY, InstallationKey
from lynq.api.names import LABEL_WEBHOOK_PATH
from lynq.webhooks.configurations import ServingPod, may_use_secret_path
from lynq.webhooks.paths import STATIC_PATHS, is_secret_part, secret_part, with_secret_part

KEY = InstallationKey(b"k" * 32)


def test_static_paths_are_those_of_the_go_operator() -> None:
    assert sorted(STATIC_PATHS) == [
        "/mutate-operator-lynq-sh-v1-lynqform",
        "/mutate-operator-lynq-sh-v1-lynqhub",
        "/validate-operator-lynq-sh-v1-lynqform",
        "/validate-operator-lynq-sh-v1-lynqhub",
        "/validate-operator-lynq-sh-v1-lynqnode",
    ]


@given(st.binary(min_size=32, max_size=32))
def test_secret_part_is_a_dns_label_that_differs_per_key(secret: bytes) -> None:
    key = InstallationKey(secret)
    assert re.fullmatch("[0-9a-f]{32}", secret_part(key))
    assert is_secret_part(secret_part(key), key)
    assert (secret_part(key) == secret_part(KEY)) is (key == KEY)


@pytest.mark.parametrize("part", ["", "x", secret_part(KEY)[:-1], "é", secret_part(KEY).upper()])
def test_other_parts_are_not_secret(part: str) -> None:
    assert not is_secret_part(part, KEY)
    assert not is_secret_part(part, NO_KEY)
    assert secret_part(NO_KEY) == ""


@given(st.sampled_from(sorted(STATIC_PATHS)), st.sampled_from(["", "a" * 32, "b" * 32]))
def test_part_is_replaced_in_the_path(static: str, part: str) -> None:
    path = with_secret_part(f"{static}/{'c' * 32}", part)
    assert path == with_secret_part(static, part) == (f"{static}/{part}" if part else static)


@pytest.mark.parametrize("path", ["", "/", "/x", "/validate-operator-lynq-sh-v1-lynqhub/a/b"])
def test_path_of_another_webhook_is_left_alone(path: str) -> None:
    assert with_secret_part(path, "a" * 32) == path


def pod(name: str, *, old: bool = False, terminating: bool = False) -> ServingPod:
    return ServingPod(name, {} if old else {LABEL_WEBHOOK_PATH: "secret"}, terminating)


@pytest.mark.parametrize(
    ("pods", "ending", "expected"),
    [
        ([], "", False),
        ([pod("a")], "", True),
        ([pod("a"), pod("b", old=True)], "", False),
        ([pod("a"), pod("b", old=True, terminating=True)], "", False),
        ([pod("a"), pod("b", terminating=True)], "", True),
        ([pod("a", terminating=True)], "", False),
        ([pod("a")], "a", False),
        ([pod("a"), pod("b")], "a", True),
        ([pod("a"), pod("b", terminating=True)], "a", False),
        ([pod("a", old=True)], "", False),
    ],
)
def test_secret_path_needs_all_pods_to_serve_it_and_one_to_go_on(
    pods: list[ServingPod], ending: str, *, expected: bool
) -> None:
    assert may_use_secret_path(pods, ending) is expected
