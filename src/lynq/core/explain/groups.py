"""Groups problems by their cause: many nodes that fail for one reason are one problem."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Generic, NamedTuple, Protocol, TypeVar

from lynq.api import LynqForm, LynqHub
from lynq.core.explain.model import Cause, CauseKind
from lynq.core.explain.node import form_problems, hub_notes

KINDS: Final = ("hub", "form", "node")
"""The kinds in the order of their weight: one hub concerns all of its nodes."""

_WAITING: Final = " is waiting: "
_TERMINATED: Final = " terminated: "


class HasProblem(Protocol):
    """A hub, form or node that has a problem."""

    @property
    def kind(self) -> str:
        """One of KINDS."""

    @property
    def namespace(self) -> str:
        """The namespace of the object."""

    @property
    def name(self) -> str:
        """The name of the object."""

    @property
    def hub(self) -> str:
        """The name of its hub."""

    @property
    def form(self) -> str:
        """The name of its form; empty for a hub."""

    @property
    def cause_kind(self) -> str:
        """The CauseKind of the problem."""

    @property
    def resource_id(self) -> str:
        """The id of the resource that has the problem; empty if none does."""

    @property
    def since(self) -> int:
        """When the problem began, in seconds of the epoch; 0 if it is unknown."""


P = TypeVar("P", bound=HasProblem)


class GroupKey(NamedTuple):
    """What the members of a group have in common."""

    kind: str
    namespace: str
    hub: str
    form: str
    cause_kind: str
    resource_id: str

    def __str__(self) -> str:
        """Return the key as text; the id is last, because it may contain any character."""
        return "/".join(self)


@dataclass(frozen=True, slots=True)
class Group(Generic[P]):
    """Problems with one cause, the oldest first."""

    key: GroupKey
    members: tuple[P, ...]

    @property
    def oldest(self) -> P:
        """The member whose problem began first."""
        return self.members[0]

    def title(self, headline: str = "") -> str:
        """Return what is wrong and where; `headline` is more specific than the cause."""
        key = self.key
        place = f"hub {key.hub}" if key.kind == "hub" else f"form {key.form}"
        where = key.resource_id or place
        return f"{headline or key.cause_kind} in {where}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectProblem:
    """A problem of a hub or a form."""

    kind: str
    namespace: str
    name: str
    hub: str
    form: str = ""
    cause_kind: str
    resource_id: str = ""
    message: str
    since: int = 0


def group_key(problem: HasProblem) -> GroupKey:
    """Return the key of the group of a problem."""
    return GroupKey(
        problem.kind,
        problem.namespace,
        problem.hub,
        problem.form,
        problem.cause_kind,
        problem.resource_id,
    )


def group_problems(problems: Iterable[P]) -> list[Group[P]]:
    """Return the groups: those of hubs and forms first, then the largest, then the oldest."""
    members: dict[GroupKey, list[P]] = {}
    for problem in problems:
        members.setdefault(group_key(problem), []).append(problem)
    groups = [Group(key, tuple(sorted(own, key=_age))) for key, own in members.items()]
    return sorted(groups, key=_weight)


def _age(problem: HasProblem) -> tuple[bool, int, str]:
    return not problem.since, problem.since, problem.name


def _weight(group: Group[P]) -> tuple[int, int, tuple[bool, int, str], GroupKey]:
    return KINDS.index(group.key.kind), -len(group.members), _age(group.oldest), group.key


def hub_problems(hub: LynqHub) -> Iterator[ObjectProblem]:
    """Yield what is wrong with a hub: its source, held deletions, rejected rows."""
    metadata, rejected = hub.metadata, hub.status.rejected_rows
    for cause in hub_notes(hub):
        if cause.kind is not CauseKind.PAUSED:
            yield ObjectProblem(
                kind="hub",
                namespace=metadata.namespace,
                name=metadata.name,
                hub=metadata.name,
                cause_kind=cause.kind,
                message=cause.message,
                since=_seconds(cause.since),
            )
    if rejected and rejected.count:
        rows = "1 row is" if rejected.count == 1 else f"{rejected.count} rows are"
        first = f"; the first one: {rejected.rows[0].message}" if rejected.rows else ""
        yield ObjectProblem(
            kind="hub",
            namespace=metadata.namespace,
            name=metadata.name,
            hub=metadata.name,
            cause_kind=CauseKind.ROW_REJECTED,
            message=f"{rows} rejected{first}",
            since=_seconds(hub.status.last_sync_time),
        )


def invalid_form_problems(form: LynqForm) -> Iterator[ObjectProblem]:
    """Yield what is wrong with a form."""
    for cause in form_problems(form):
        if cause.kind is not CauseKind.PAUSED:
            yield ObjectProblem(
                kind="form",
                namespace=form.metadata.namespace,
                name=form.metadata.name,
                hub=form.spec.hub_id,
                form=form.metadata.name,
                cause_kind=cause.kind,
                message=cause.message,
                since=_seconds(cause.since),
            )


def headline(cause: Cause) -> str:
    """Return the word of Kubernetes for a cause, for example ImagePullBackOff."""
    if cause.kind is CauseKind.CONTAINER_FAILING:
        for sign in (_WAITING, _TERMINATED):
            _, found, reason = cause.message.partition(sign)
            if found:
                return reason.partition(",")[0].strip()
    return str(cause.kind)


def common_headline(causes: Iterable[Cause]) -> str:
    """Return the headline of causes that agree; empty if they do not, or there are none."""
    words = {headline(cause) for cause in causes}
    return words.pop() if len(words) == 1 else ""


def _seconds(moment: datetime | None) -> int:
    return int(moment.timestamp()) if moment else 0
