"""Which changes of a swap people notice."""

from typing import Any

import pytest

from lynq.core.plan.changes import Action, FailedResource, Plan, PlannedChange
from lynq.core.plan.fields import FieldChange
from lynq.core.plan.takeover import takeover_of

MARK = FieldChange("metadata.labels[lynq.sh/managed]", None, "true")
IMAGE = FieldChange("spec.template.spec.containers[name=app].image", "a", "b")


def change(action: Action = Action.ADOPT, kind: str = "ConfigMap", **parts: Any) -> PlannedChange:
    fields = parts.pop("fields", (MARK,))
    return PlannedChange(
        action=action, api_version="v1", kind=kind, namespace="a", name="b", fields=fields
    )


def test_marks_alone_are_unnoticed() -> None:
    signature = FieldChange("metadata.annotations[lynq.sh/signature]", None, "x")
    node = change(Action.UPDATE, "LynqNode", fields=(signature,))
    takeover = takeover_of(Plan(changes=[node, change(), change(Action.UPDATE, "Deployment")]))
    assert takeover.is_unnoticed
    assert takeover.nodes == 1
    assert takeover.marked == {"ConfigMap": 1, "Deployment": 1}
    assert takeover.marks == ("lynq.sh/managed", "lynq.sh/signature")


def test_changed_pod_template_is_a_change_and_a_restart() -> None:
    takeover = takeover_of(Plan(changes=[change(kind="Deployment", fields=(MARK, IMAGE))]))
    assert (len(takeover.changed), len(takeover.restarted)) == (1, 1)
    assert not takeover.is_unnoticed


@pytest.mark.parametrize(
    ("action", "attribute"),
    [
        (Action.CREATE, "created"),
        (Action.REPLACE, "recreated"),
        (Action.DELETE, "deleted"),
        (Action.ORPHAN, "deleted"),
    ],
)
@pytest.mark.parametrize("kind", ["ConfigMap", "LynqNode"])
def test_every_other_action_is_noticed(action: Action, attribute: str, kind: str) -> None:
    takeover = takeover_of(Plan(changes=[change(action, kind)]))
    assert len(getattr(takeover, attribute)) == 1
    assert not takeover.is_unnoticed


def test_failed_resources_are_noticed() -> None:
    assert not takeover_of(Plan(failed=[FailedResource("acme-web", "app", "denied")])).is_unnoticed
