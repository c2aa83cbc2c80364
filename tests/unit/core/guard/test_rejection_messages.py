"""The message of a rejection says which rows, what is wrong, and what to correct."""

import pytest

from lynq.api.naming import LABEL_LIMIT, NAME_LIMIT, NodePair
from lynq.core.guard.rejections import (
    duplicate_uid,
    empty_uid,
    invalid_node_name,
    invalid_uid,
    node_name_taken,
    values_too_large,
)


@pytest.mark.parametrize(
    ("rows", "subject"), [(1, "1 active row has no uid"), (2, "2 active rows have no uid")]
)
def test_rows_without_uid_are_counted(rows: int, subject: str) -> None:
    rejection = empty_uid(rows)
    assert rejection.message.startswith(subject)
    assert (rejection.uid, rejection.rows) == ("", rows)


def test_only_a_uid_over_the_label_limit_is_said_to_be_long() -> None:
    assert "is not a valid label value" in invalid_uid("-" * LABEL_LIMIT, 1).message
    assert "has 64 characters, but" in invalid_uid("a" * (LABEL_LIMIT + 1), 1).message


@pytest.mark.parametrize(
    ("rows", "subject"), [(1, "another active row has uid"), (2, "2 other active rows have uid")]
)
def test_rows_of_the_same_uid_are_counted(rows: int, subject: str) -> None:
    assert duplicate_uid("acme", rows).message.startswith(f'{subject} "acme"')


def test_size_of_the_largest_row_is_said() -> None:
    rejection = values_too_large("acme", [300_000, 500_000, 400_000])
    assert 'values of uid "acme" have at least 500000 bytes' in rejection.message
    assert rejection.rows == 3


def test_only_a_node_name_over_the_name_limit_is_said_to_be_long() -> None:
    form = "f" * (NAME_LIMIT - len("Acme-"))
    assert "is not a valid object name" in invalid_node_name("Acme", [form]).message
    assert "has 254 characters, but" in invalid_node_name("acme", [f"{form}f"]).message


@pytest.mark.parametrize(
    ("forms", "subject"),
    [
        (["web"], 'node name "Acme-web" is not'),
        (["web", "api"], 'node name "Acme-api" and 1 more is not'),
        (["web", "job", "api"], 'node name "Acme-api" and 2 more is not'),
    ],
)
def test_invalid_node_names_of_a_row_share_a_rejection(forms: list[str], subject: str) -> None:
    rejection = invalid_node_name("Acme", forms)
    assert rejection.message.startswith(subject)
    assert rejection.rows == 1


def test_problem_is_that_of_the_node_name_in_the_message() -> None:
    rejection = invalid_node_name("Acme", ["web" * NAME_LIMIT, "api"])
    assert rejection.message.startswith('node name "Acme-api" and 1 more is not a valid')


def test_taken_node_name_is_said_with_its_holder() -> None:
    holders = {"web": NodePair("a", "b-web"), "api": NodePair("a", "b-api")}
    rejection = node_name_taken("a-b", holders)
    assert rejection.message.startswith(
        'node name "a-b-api" and 1 more belongs to uid "a" with form "b-api"'
    )
    assert (rejection.uid, rejection.rows) == ("a-b", 1)
