"""Explains a row that has no node: rejected, not read, or waiting."""

from collections.abc import Iterable, Iterator

from lynq.api import LynqForm, LynqHub
from lynq.api.text import printable
from lynq.core.explain.model import Cause, CauseKind, Explanation
from lynq.core.explain.next_steps import table_of
from lynq.core.explain.node import form_problems, hub_notes


def explain_row(uid: str, hubs: Iterable[LynqHub], forms: Iterable[LynqForm]) -> Explanation | None:
    """Return why a row has no node; None if neither hub nor form has a reason.

    A hub that rejected the row is the root cause. Otherwise the row may be in the table of any hub,
    and all reasons why rows do not become nodes are causes.
    """
    hubs, forms = tuple(hubs), tuple(forms)
    causes = tuple(rejections(uid, hubs)) or tuple(_possible_causes(hubs, forms))
    if not causes:
        return None
    return Explanation(node="", uid=uid, causes=causes)


def rejections(uid: str, hubs: Iterable[LynqHub]) -> Iterator[Cause]:
    """Yield the rejections of a row; a hub lists the first 20 rejected rows only."""
    shown = printable(uid)
    for hub in hubs:
        rejected = hub.status.rejected_rows
        for row in rejected.rows if rejected else ():
            if row.uid == shown:
                yield Cause(
                    kind=CauseKind.ROW_REJECTED,
                    subject=f"LynqHub {hub.metadata.name}",
                    message=f"rejected the row: {row.message} ({row.reason})",
                    since=hub.status.last_sync_time,
                    next_steps=(f"correct the row in {table_of(hub.spec)}",),
                )


def where_to_look(uid: str, hubs: Iterable[LynqHub]) -> str:
    """Return how to find a row that no hub knows, as a sentence."""
    queries = [_query(uid, hub) for hub in hubs]
    if not queries:
        return "There is no LynqHub in this namespace."
    return f"The row does not exist, or is not active: {' or '.join(queries)}"


def _query(uid: str, hub: LynqHub) -> str:
    mappings = hub.spec.value_mappings
    where = f"WHERE {mappings.uid} = '{printable(uid)}'"
    return f"SELECT {mappings.activate} FROM {table_of(hub.spec)} {where}"  # noqa: S608 - shown, not sent


def _possible_causes(hubs: tuple[LynqHub, ...], forms: tuple[LynqForm, ...]) -> Iterator[Cause]:
    for hub in hubs:
        name = hub.metadata.name
        yield from hub_notes(hub)
        own = [form for form in forms if form.spec.hub_id == name]
        if not own:
            yield Cause(
                kind=CauseKind.FORM_MISSING,
                subject=f"LynqHub {name}",
                message="has no LynqForm: its rows become no nodes",
            )
        for form in own:
            yield from form_problems(form)
            yield from _full_rollout(form)
        yield from _unlisted_rejections(hub)


def _full_rollout(form: LynqForm) -> Iterator[Cause]:
    limits, rollout = form.spec.rollout, form.status.rollout
    if limits is None or rollout is None or not limits.max_skew:
        return
    if rollout.updating_nodes >= limits.max_skew:
        yield Cause(
            kind=CauseKind.ROLLOUT_WAITING,
            subject=f"LynqForm {form.metadata.name}",
            message=f"maxSkew {limits.max_skew} is used up: {rollout.message}",
            since=rollout.start_time,
        )


def _unlisted_rejections(hub: LynqHub) -> Iterator[Cause]:
    rejected = hub.status.rejected_rows
    if rejected and rejected.count > len(rejected.rows):
        hidden = rejected.count - len(rejected.rows)
        yield Cause(
            kind=CauseKind.ROW_REJECTED,
            subject=f"LynqHub {hub.metadata.name}",
            message=f"rejected {hidden} rows that its status does not list; this may be one",
            next_steps=(f"kubectl events --for lynqhub/{hub.metadata.name}",),
        )
