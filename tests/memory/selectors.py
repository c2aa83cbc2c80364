"""Label and field selectors."""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

Body = dict[str, Any]
Selector = Callable[[Body], bool]

_SPLIT = re.compile(r",(?![^(]*\))")
_TERM = re.compile(r"\s*!?\s*[\w./-]+\s*((=|==|!=)\s*[\w.-]*|(not)?in\s+\([\w\s.,-]*\))?\s*")
_FIELDS = re.compile(
    r"metadata\.(name|namespace)|involvedObject\..+|reason|source|type|"
    r"spec\.nodeName|status\.phase|spec\.unschedulable"
)
_IN = re.compile(r"\s*(\S+)\s+(in|notin)\s+\(([^)]*)\)\s*")


@lru_cache(maxsize=256)
def selector(labels: str, fields: str) -> Selector:
    """Return the predicate of a label and a field selector; "" selects every object.

    Raises ValueError for one that is not valid.
    """
    label_terms = [_label_term(term) for term in _SPLIT.split(labels) if term.strip()]
    field_terms = [_field_term(term) for term in fields.split(",") if term.strip()]

    def selects(obj: Body) -> bool:
        values = obj["metadata"].get("labels") or {}
        return all(term(values) for term in label_terms) and all(term(obj) for term in field_terms)

    return selects


def _label_term(term: str) -> Callable[[Mapping[str, str]], bool]:
    if not _TERM.fullmatch(term):
        raise ValueError(f"unable to parse requirement: {term}")
    if match := _IN.fullmatch(term):
        key, is_in = match[1], match[2] == "in"
        values = {value.strip() for value in match[3].split(",")}
        return lambda labels: (labels.get(key) in values) is is_in
    for operator, is_equal in (("!=", False), ("==", True), ("=", True)):
        if operator in term:
            key, _, value = (part.strip() for part in term.partition(operator))
            return _equality(key, value, is_equal=is_equal)
    term = term.strip()
    if term.startswith("!"):
        return lambda labels: term[1:].strip() not in labels
    return lambda labels: term in labels


def _equality(key: str, value: str, *, is_equal: bool) -> Callable[[Mapping[str, str]], bool]:
    return lambda labels: (labels.get(key) == value) is is_equal


def _field_term(term: str) -> Selector:
    operator = "!=" if "!=" in term else "==" if "==" in term else "="
    path, _, value = (part.strip() for part in term.partition(operator))
    if not _FIELDS.fullmatch(path):
        raise ValueError(f"field label not supported: {path}")
    return lambda obj: (_value_at(obj, path) == value) is (operator != "!=")


def _value_at(obj: Any, path: str) -> str:
    for key in path.split("."):
        obj = obj.get(key) if isinstance(obj, dict) else None
    return "" if obj is None else str(obj)
