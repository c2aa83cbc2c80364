"""The start page: problems, grouped by cause."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any, Final

from lynq.core.explain.groups import (
    Group,
    ObjectProblem,
    group_problems,
    hub_problems,
    invalid_form_problems,
)
from lynq.core.explain.model import CauseKind, entry_of
from lynq.dashboard.node_entry import NodeEntry
from lynq.dashboard.options import MAX_EXAMPLES, MAX_GROUPS
from lynq.dashboard.types.common import SummaryView
from lynq.dashboard.types.lists import ProblemGroup, ProblemsView
from lynq.dashboard.views.headlines import Headline
from lynq.dashboard.visible import Visible, at, count, form_line, hub_line, node_line

_SETTLING: Final = frozenset({"Progressing", "Deleting"})
"""States that are a problem only if they last."""
_FINE: Final = frozenset({"Ready", "Paused"})

AnyProblem = NodeEntry | ObjectProblem


def problem_nodes(nodes: Iterable[NodeEntry], now: datetime, grace: float) -> Iterator[NodeEntry]:
    """Yield the nodes that failed, or that progress for longer than `grace` seconds."""
    latest = now.timestamp() - grace
    for node in nodes:
        if node.state not in _FINE and (node.state not in _SETTLING or node.since <= latest):
            yield node


def groups_of(visible: Visible, now: datetime, grace: float) -> list[Group[AnyProblem]]:
    """Return the problems that a viewer sees, in groups."""
    problems: list[AnyProblem] = []
    for hub in visible.hubs():
        problems += hub_problems(hub)
    for form in visible.forms():
        problems += invalid_form_problems(form)
    problems += problem_nodes(visible.nodes(), now, grace)
    return group_problems(problems)[:MAX_GROUPS]


def problems_view(
    visible: Visible, groups: list[Group[AnyProblem]], headlines: dict[str, Headline]
) -> ProblemsView:
    """Return `GET /problems`; headlines by the key of their group."""
    hubs = {hub.metadata.key: hub for hub in visible.hubs()}
    forms = {form.metadata.key: form for form in visible.forms()}

    def line(problem: AnyProblem) -> SummaryView:
        if isinstance(problem, NodeEntry):
            return node_line(problem)
        key: Any = (problem.namespace, problem.name)
        return hub_line(hubs[key]) if problem.kind == "hub" else form_line(forms[key])

    return ProblemsView(
        groups=tuple(_view(group, line, headlines.get(str(group.key))) for group in groups),
        nodes=count(visible.nodes()),
        denials=visible.denials,
    )


def _view(group: Group[AnyProblem], line: Any, headline: Headline | None) -> ProblemGroup:  # noqa: ANN401
    key = group.key
    kind: Any = key.kind.capitalize()
    cause = headline.cause if headline else key.cause_kind
    return ProblemGroup(
        key=str(key),
        kind=kind,
        title=group.title(headline.word if headline else ""),
        cause=cause,
        count=len(group.members),
        resource_id=key.resource_id,
        form=key.form,
        hub=key.hub,
        message=headline.message if headline else group.oldest.message,
        since=at(group.oldest.since),
        examples=tuple(map(line, group.members[:MAX_EXAMPLES])),
        documentation=entry_of(CauseKind(cause)) if cause else "",
    )
