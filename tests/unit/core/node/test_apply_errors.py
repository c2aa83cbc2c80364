"""Errors of the API server: what they mean for the resource."""

import pytest

from lynq.api import ConflictPolicy
from lynq.core.node.apply_errors import (
    ApplyError,
    ApplyErrorKind,
    conflicting_managers,
    rejection_of,
)
from lynq.core.node.objects import ObjectRef

REF = ObjectRef("v1", "ConfigMap", "tenant-acme", "x")
STUCK, FORCE = ConflictPolicy.STUCK, ConflictPolicy.FORCE
FIELD_CONFLICT = ApplyError(ApplyErrorKind.CONFLICT, "helm owns .data", ("helm",))


@pytest.mark.parametrize("kind", ApplyErrorKind)
def test_only_outages_and_outdated_versions_are_transient(kind: ApplyErrorKind) -> None:
    transient = {ApplyErrorKind.CONFLICT, ApplyErrorKind.UNAVAILABLE}
    rejection = rejection_of(ApplyError(kind, "why"), REF, STUCK)
    assert rejection.is_transient is (kind in transient)
    assert not rejection.is_conflict
    assert rejection.message


def test_field_conflict_is_final_and_explains_the_policy() -> None:
    rejection = rejection_of(FIELD_CONFLICT, REF, STUCK)
    assert (rejection.is_conflict, rejection.is_transient) == (True, False)
    assert "conflictPolicy: Force" in rejection.message
    assert rejection.message.endswith("helm owns .data")
    assert "Force" not in rejection_of(FIELD_CONFLICT, REF, FORCE).message


@pytest.mark.parametrize(
    "kind", [ApplyErrorKind.NAMESPACE_NOT_FOUND, ApplyErrorKind.NAMESPACE_TERMINATING]
)
def test_namespace_errors_name_the_namespace(kind: ApplyErrorKind) -> None:
    assert '"tenant-acme"' in rejection_of(ApplyError(kind), REF, STUCK).message


def test_managers_are_named_by_number_of_fields_and_cut_after_three() -> None:
    managers = ("a", "b", "b", "c", "c", "c", "d")
    error = ApplyError(ApplyErrorKind.CONFLICT, "", managers)
    assert conflicting_managers(error) == (
        '"c" (3 fields), "b" (2 fields), "a" (1 fields) and 1 more'
    )
    all_named = conflicting_managers(ApplyError(ApplyErrorKind.CONFLICT, "", managers[:-1]))
    assert all_named == '"c" (3 fields), "b" (2 fields), "a" (1 fields)'
