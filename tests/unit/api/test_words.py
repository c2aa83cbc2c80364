"""Labels, annotations, reasons: spelt as Kubernetes wants, and each with its sentence."""

import ast
import inspect
import re
from enum import StrEnum
from typing import get_args, get_type_hints

import pytest

from lynq.api import Condition, names, reasons
from lynq.api.schema import attribute_docs

WORDS = [each for _, each in inspect.getmembers(reasons, inspect.isclass) if each is not StrEnum]
MARKS = {
    name: value
    for name, value in vars(names).items()
    if name.startswith(("LABEL_", "ANNOTATION_", "FINALIZER_"))
}


@pytest.mark.parametrize("name", MARKS)
def test_marks_are_qualified_by_our_domain(name: str) -> None:
    assert re.fullmatch(r"([a-z]+\.operator\.)?lynq\.sh/[a-zA-Z][a-zA-Z-]{0,62}", MARKS[name])


def test_no_two_marks_are_alike() -> None:
    assert len(set(MARKS.values())) == len(MARKS)


def test_every_name_has_its_sentence() -> None:
    body = ast.parse(inspect.getsource(names)).body
    assigned = [index for index, part in enumerate(body) if isinstance(part, ast.AnnAssign)]
    for index in assigned:
        assert isinstance(body[index + 1], ast.Expr), ast.unparse(body[index])


@pytest.mark.parametrize("words", WORDS, ids=lambda words: words.__name__)
def test_every_word_has_its_sentence_and_the_spelling_of_its_name(words: type[StrEnum]) -> None:
    docs = attribute_docs(words)
    for word in words:
        assert docs[word.name].endswith("."), word
        assert word.value.lower() == word.name.replace("_", "").lower()


def test_reasons_fit_into_a_condition() -> None:
    (_, limits) = get_args(get_type_hints(Condition, include_extras=True)["reason"])
    for word in reasons.ConditionReason:
        assert re.search(limits.pattern, word)
        assert len(word) <= limits.max_length


def test_reasons_fit_into_an_event() -> None:
    assert all(len(word) <= 128 for word in reasons.EventReason)
