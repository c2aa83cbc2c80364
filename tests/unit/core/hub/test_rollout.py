"""The writes of a form that are sent in one sync: admitted, rendered, annotated."""

from collections.abc import Mapping
from datetime import datetime
from functools import partial

import pytest

from lynq.api import LynqForm, LynqNode
from lynq.api.names import ANNOTATION_ROLLOUT_BUDGET, ANNOTATION_ROW_CHANGED_AT
from lynq.api.naming import NodePair
from lynq.api.node_metadata import stamp
from lynq.core.hub.diff import NodeCreation, NodeUpdate, NodeWrite, Throttle, UpdateCause
from lynq.core.hub.rollout import AdmittedWrites, PendingWrites, admit_writes
from lynq.core.hub.row_values import RenderFailure, RowRenderError
from unit.core.hub.fixtures import NOON, Cluster, a_form, at, rows, synced

A_WEB = NodePair("a", "web")


def a_node(*, changed_at: datetime) -> LynqNode:
    cluster = Cluster()
    synced(cluster, rows("a"), a_form(), rows_changed_at=changed_at)
    return cluster.nodes["a-web"]


class NewNodes:
    """Writes of new nodes; some fail to render."""

    def __init__(self, names: str, *, failing: str = "") -> None:
        self.rendered: list[str] = []
        self.pending = {name: partial(self._render, name, fails=name in failing) for name in names}

    def _render(self, name: str, *, fails: bool) -> NodeWrite:
        self.rendered.append(name)
        if fails:
            raise RowRenderError(RenderFailure(A_WEB, "app", "nameTemplate", 1, "", "fails"))
        return NodeCreation(A_WEB, a_node(changed_at=NOON))


def admitted(
    pending: PendingWrites, form: LynqForm, row_changes: Mapping[str, datetime] | None = None
) -> AdmittedWrites:
    return admit_writes(
        form, pending, row_changes or {}, (), workloads_ready=lambda _: True, now=NOON
    )


@pytest.mark.parametrize(
    ("failing", "max_skew", "rendered", "written", "throttle"),
    [
        pytest.param("", 0, "abc", 3, None, id="unlimited"),
        pytest.param("", 3, "abc", 3, None, id="enough slots"),
        pytest.param("", 1, "a", 1, Throttle("web", ("b", "c"), 1, 0), id="waiting, not rendered"),
        pytest.param("a", 1, "abc", 1, Throttle("web", ("c",), 1, 0), id="a failure takes no slot"),
        pytest.param("ab", 1, "abc", 1, None, id="the last one takes the slot"),
        pytest.param("b", 3, "abc", 2, None, id="a failure among enough slots"),
        pytest.param("abc", 1, "abc", 0, None, id="all fail"),
    ],
)
def test_writes_are_rendered_when_they_are_admitted(
    failing: str, max_skew: int, rendered: str, written: int, throttle: Throttle | None
) -> None:
    nodes = NewNodes("abc", failing=failing)
    result = admitted(nodes.pending, a_form(max_skew=max_skew))
    assert "".join(nodes.rendered) == rendered
    assert (len(result.writes), "".join(result.failures)) == (written, failing)
    assert result.throttle == throttle


@pytest.mark.parametrize(
    ("cause", "changed_at", "expected"),
    [
        pytest.param(None, None, at(-9), id="a new node whose change is unknown"),
        pytest.param(None, at(5), at(5), id="a new node"),
        pytest.param(UpdateCause.DATA, at(5), at(5), id="a changed row"),
        pytest.param(UpdateCause.DRIFT, None, at(-9), id="an edit leaves the time"),
        pytest.param(UpdateCause.FORM, None, None, id="a form change has no change of a row"),
    ],
)
def test_write_has_its_budget_and_the_time_of_its_rows_change(
    cause: UpdateCause | None, changed_at: datetime | None, expected: datetime | None
) -> None:
    node = a_node(changed_at=at(-9))
    write = NodeUpdate(A_WEB, cause, node, node) if cause else NodeCreation(A_WEB, node)
    changes = {"a-web": changed_at} if changed_at else {}
    [sent] = admitted({"a-web": lambda: write}, a_form(), changes).writes
    after = sent.node if isinstance(sent, NodeCreation) else sent.after
    assert sent.name == "a-web"
    assert after.metadata.annotations[ANNOTATION_ROLLOUT_BUDGET] == "Row"
    time = after.metadata.annotations.get(ANNOTATION_ROW_CHANGED_AT)
    assert time == (stamp(expected) if expected else None)
