"""A plan for people: totals first, then one node for all nodes that change alike."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from html import escape
from typing import Any, Final

from lynq.api.text import and_more, fenced, plural, shown
from lynq.cli.output import Text, styled
from lynq.core.plan.changes import Action, Plan, PlannedChange, PlannedRollout
from lynq.core.plan.fields import FieldChange

MAX_MARKDOWN: Final = 60_000
"""Characters of a comment; GitHub allows 65,536."""
_MAX_VALUE: Final = 200
_MAX_LINE: Final = 2000
_MAX_SUMMARY: Final = 20
"""Lines above the changes of a comment; with those of the longest, half of the comment."""
_NOT_SHOWN: Final = "(not shown)"
"""Stands for a value that does not come from the form."""
_MAX_WAVES: Final = 3
"""Waves of a rollout that are shown."""
_SIGNS: Final = {
    Action.CREATE: ("+", "create", "green"),
    Action.ADOPT: ("+", "adopt", "green"),
    Action.UPDATE: ("~", "update", "yellow"),
    Action.REPLACE: ("~", "replace", "yellow"),
    Action.ORPHAN: ("-", "retain", "yellow"),
    Action.DELETE: ("-", "delete", "red"),
}


def plan_lines(plan: Plan, *, show_all: bool) -> Iterator[Text]:
    """Yield the lines of the plan for a terminal."""
    yield from _summary(plan, show_all=show_all)
    for group in _groups(plan.changes, fold=not show_all):
        yield ""
        yield from _group(group)


def plan_markdown(plan: Plan, *, show_values: bool) -> str:
    """Return the plan as a comment for a pull request, cut to what GitHub accepts.

    More people read a comment than a terminal: a value that does not stand in the form is shown
    only with `show_values`.
    """
    summary = [shown(str(line), _MAX_LINE) for line in _summary(plan, show_all=False)]
    hidden = len(summary) - _MAX_SUMMARY
    if hidden > 0:
        summary[_MAX_SUMMARY:] = [f"  {_count(hidden, 'more line')}: lynq plan shows them"]
    parts = ["### Lynq plan", "", *fenced(summary), ""]
    size = sum(map(len, parts))
    # Nodes that differ in hidden values only are alike.
    changes = plan.changes if show_values else [_without_row(change) for change in plan.changes]
    for number, group in enumerate(_groups(changes, fold=True)):
        part = ["<details>", f"<summary>{_markdown_title(group)}</summary>", ""]
        part += [*fenced(_diff(group[0]), "diff"), "", "</details>", ""]
        # With the ends of lines.
        size += sum(len(line) + 1 for line in part)
        if size > MAX_MARKDOWN:
            parts.append(f"_Cut: {number} groups of nodes are shown, more follow._")
            break
        parts += part
    return "\n".join(parts)


def _summary(plan: Plan, *, show_all: bool) -> Iterator[Text]:
    if plan.is_empty:
        yield "Nothing changes."
    counts = plan.counts()
    for action, (sign, verb, color) in _SIGNS.items():
        if action in counts:
            kinds = ", ".join(_kinds(action, counts[action], plan.changes))
            total = sum(counts[action].values())
            yield styled(f"  {sign} {total} to {verb}: {kinds}", color)
    if plan.rejected:
        rows = and_more(
            [f"{row.uid or '(no uid)'}: {row.reason}" for row in plan.rejected], separator="; "
        )
        yield styled(f"  ! {_count(len(plan.rejected), 'row')} rejected: {rows}", "red")
    for reason, nodes in _by_reason(plan):
        verb = "fails" if len(nodes) == 1 else "fail"
        yield styled(f"  ! {_count(len(nodes), 'node')} {verb}: {and_more(nodes)}: {reason}", "red")
    if plan.guard.is_held:
        yield styled(f"  HELD by the deletion guard: {plan.guard.message}", "red", bold=True)
    for rollout in plan.rollouts:
        yield from _rollout(rollout, show_all=show_all)
    for note in plan.notes:
        yield f"  note: {note}"


def _rollout(rollout: PlannedRollout, *, show_all: bool) -> Iterator[Text]:
    """Yield the order of a rollout, unless all of its nodes are written at once."""
    waves, waiting = rollout.order.waves, rollout.order.waiting
    if len(waves) <= 1 and not waiting:
        return
    shown = len(waves) if show_all else _MAX_WAVES
    listed = ", ".join if show_all else and_more
    count = _count(sum(map(len, waves)) + len(waiting), "node")
    yield (
        f"  rollout of form {rollout.form}: {count}, at most {rollout.max_skew} at a time (maxSkew)"
    )
    for number, wave in enumerate(waves[:shown], start=1):
        yield f"    wave {number}: {listed(wave)}"
    if len(waves) > shown:
        yield f"    {_count(len(waves) - shown, 'more wave')} (--all shows them)"
    if waiting:
        nodes = _count(len(waiting), "node")
        yield styled(f"    {nodes} without a slot: {listed(waiting)}", "yellow")
        holders = listed(rollout.order.holders)
        yield f"      the slots are held by nodes that are not ready: {holders}"


def _kinds(action: Action, kinds: Counter[str], changes: Iterable[PlannedChange]) -> Iterator[str]:
    restarts = Counter(
        change.kind for change in changes if change.action is action and change.restarts_pods
    )
    for kind, count in sorted(kinds.items(), key=lambda item: (item[0] != "LynqNode", item[0])):
        suffix = ""
        if restarts[kind]:
            suffix = (
                " (pods restart)" if restarts[kind] == count else f" ({restarts[kind]} restart)"
            )
        yield f"{_count(count, kind)}{suffix}"


def _by_reason(plan: Plan) -> Iterator[tuple[str, list[str]]]:
    reasons: dict[str, list[str]] = {}
    for failure in plan.failed:
        where = f'"{failure.id}": ' if failure.id else ""
        reasons.setdefault(f"{where}{failure.reason}", []).append(failure.node)
    yield from reasons.items()


def _groups(changes: Sequence[PlannedChange], *, fold: bool) -> list[list[list[PlannedChange]]]:
    """Return the changes by node, in groups of nodes that change alike."""
    nodes: dict[str, list[PlannedChange]] = {}
    for change in changes:
        nodes.setdefault(change.node, []).append(change)
    if not fold:
        return [[changes] for changes in nodes.values()]
    groups: dict[str, list[list[PlannedChange]]] = {}
    for name, node_changes in nodes.items():
        groups.setdefault(_signature(name, node_changes), []).append(node_changes)
    return list(groups.values())


def _signature(node: str, changes: Iterable[PlannedChange]) -> str:
    """Return what is equal for nodes that change alike, whatever their names are."""
    parts: list[Any] = []
    for change in changes:
        fields = [] if change.action is Action.CREATE or _is_node(change) else _values(change)
        parts.append((change.action.value, change.kind, change.form, change.is_held, fields))
    text = json.dumps(parts, sort_keys=True, default=str)
    form = next((change.form for change in changes if change.form), "")
    uid = node.removesuffix(f"-{form}")
    return text.replace(node, "{node}").replace(uid, "{uid}") if uid else text


def _values(change: PlannedChange) -> list[tuple[str, Any, Any]]:
    return [(each.path, each.before, each.after) for each in change.reviewed_fields]


def _title(group: Sequence[Sequence[PlannedChange]]) -> str:
    node = group[0][0].node or "other objects"
    others = len(group) - 1
    return f"{node} ({others} more like it)" if others else node


def _markdown_title(group: Sequence[Sequence[PlannedChange]]) -> str:
    """Return the title as HTML; in <code>, GitHub makes no mention, link or image of it."""
    return f"<code>{escape(shown(_title(group)))}</code>"


def _group(group: Sequence[Sequence[PlannedChange]]) -> Iterator[Text]:
    others = ", --all shows them):" if len(group) > 1 else ":"
    yield f"{_title(group).removesuffix(')')}{others}" if len(group) > 1 else f"{_title(group)}:"
    for change in group[0]:
        sign, verb, color = _SIGNS[change.action]
        notes = _notes(change)
        yield styled(f"  {sign} {verb} {change.kind} {_location(change)}{notes}", color)
        yield from (f"      {line}" for line in _field_lines(change))


def _notes(change: PlannedChange) -> str:
    notes = [
        *(["held"] if change.is_held else []),
        *(["pods restart"] if change.restarts_pods else []),
    ]
    return f" ({', '.join(notes)})" if notes else ""


def _field_lines(change: PlannedChange) -> Iterator[str]:
    if change.action in {Action.CREATE, Action.DELETE} or _is_node(change):
        return
    for each in change.reviewed_fields:
        yield f"{each.path}: {_value(each.before)} → {_value(each.after)}"


def _diff(changes: Iterable[PlannedChange]) -> Iterator[str]:
    """Yield the lines of a diff, which GitHub colors."""
    for change in changes:
        sign, verb, _ = _SIGNS[change.action]
        mark = "!" if sign == "~" else sign
        yield f"{mark} {verb} {change.kind} {_location(change)}{_notes(change)}"
        if change.action in {Action.CREATE, Action.DELETE} or _is_node(change):
            continue
        for each in change.reviewed_fields:
            for mark, value in (("-", each.before), ("+", each.after)):
                if value is not None:
                    yield f"{mark}   {each.path}: {_value(value)}"


def _without_row(change: PlannedChange) -> PlannedChange:
    """Return a change without the values that a row may be part of."""
    fields = (
        FieldChange(
            each.path,
            *(
                value if change.is_literal(each.path, value) else _NOT_SHOWN
                for value in (each.before, each.after)
            ),
        )
        for each in change.fields
    )
    return replace(change, fields=tuple(fields))


def _value(value: Any) -> str:  # noqa: ANN401 - any JSON value
    if value is None:
        return "(absent)"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    cut = shown(text, _MAX_VALUE)
    return f"{cut} ({len(text)} characters)" if len(text) > _MAX_VALUE else cut


def _location(change: PlannedChange) -> str:
    return f"{change.namespace}/{change.name}" if change.namespace else change.name


def _is_node(change: PlannedChange) -> bool:
    return change.kind == "LynqNode"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {plural(noun, number)}"
