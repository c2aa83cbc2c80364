"""Labels, annotations, reasons: valid for Kubernetes, and each documented."""

import ast
import inspect
import re
from enum import StrEnum
from typing import get_args, get_type_hints

import pytest

from lynq.api import Condition, names, reasons
from lynq.api.events import EventReason
from lynq.api.schema import attribute_docs

ENUMS = [
    EventReason,
    *(cls for _, cls in inspect.getmembers(reasons, inspect.isclass) if cls is not StrEnum),
]
QUALIFIED_NAMES = {
    name: value
    for name, value in vars(names).items()
    if name.startswith(("LABEL_", "ANNOTATION_", "FINALIZER_"))
}


@pytest.mark.parametrize("name", QUALIFIED_NAMES)
def test_labels_annotations_and_finalizers_are_qualified(name: str) -> None:
    pattern = r"([a-z]+\.operator\.)?lynq\.sh/[a-zA-Z][a-zA-Z-]{0,62}"
    assert re.fullmatch(pattern, QUALIFIED_NAMES[name])


def test_qualified_names_are_unique() -> None:
    assert len(set(QUALIFIED_NAMES.values())) == len(QUALIFIED_NAMES)


def test_every_name_is_documented() -> None:
    body = ast.parse(inspect.getsource(names)).body
    assigned = [index for index, part in enumerate(body) if isinstance(part, ast.AnnAssign)]
    for index in assigned:
        assert isinstance(body[index + 1], ast.Expr), ast.unparse(body[index])


@pytest.mark.parametrize("enum", ENUMS, ids=lambda enum: enum.__name__)
def test_every_reason_is_documented_and_spelled_as_its_member(enum: type[StrEnum]) -> None:
    docs = attribute_docs(enum)
    for member in enum:
        assert docs[member.name].endswith("."), member
        assert member.value.lower() == member.name.replace("_", "").lower()


def test_condition_reasons_fit_into_a_condition() -> None:
    (_, limits) = get_args(get_type_hints(Condition, include_extras=True)["reason"])
    for reason in reasons.ConditionReason:
        assert re.search(limits.pattern, reason)
        assert len(reason) <= limits.max_length


def test_event_reasons_fit_into_an_event() -> None:
    assert all(len(reason) <= 128 for reason in EventReason)
