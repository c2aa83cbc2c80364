"""Problems with one cause are one group."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from lynq.core.explain.groups import (
    KINDS,
    ObjectProblem,
    common_headline,
    group_key,
    group_problems,
    headline,
)
from lynq.core.explain.model import Cause, CauseKind

NAMES = st.sampled_from(["a", "b", "c"])
PROBLEMS = st.builds(
    ObjectProblem,
    kind=st.sampled_from(KINDS),
    namespace=NAMES,
    name=st.text(max_size=5),
    hub=NAMES,
    form=NAMES,
    cause_kind=st.sampled_from([str(kind) for kind in CauseKind]),
    resource_id=st.sampled_from(["", "web", "a/b"]),
    message=st.just(""),
    since=st.integers(0, 100),
)


@given(st.lists(PROBLEMS, max_size=30))
def test_every_problem_is_in_the_group_of_its_key(problems: list[ObjectProblem]) -> None:
    groups = group_problems(problems)
    assert sum(len(group.members) for group in groups) == len(problems)
    assert len({str(group.key) for group in groups}) == len(groups)
    for group in groups:
        assert {group_key(member) for member in group.members} == {group.key}


@given(st.lists(PROBLEMS, max_size=30), st.randoms(use_true_random=False))
def test_order_of_groups_does_not_depend_on_the_order_of_problems(
    problems: list[ObjectProblem], random: object
) -> None:
    shuffled = sorted(problems, key=lambda _: random.random())  # type: ignore[attr-defined]
    keys = [group.key for group in group_problems(problems)]
    assert [group.key for group in group_problems(shuffled)] == keys


@given(st.lists(PROBLEMS, min_size=1, max_size=30))
def test_oldest_known_problem_is_first(problems: list[ObjectProblem]) -> None:
    for group in group_problems(problems):
        known = [member.since for member in group.members if member.since]
        assert group.oldest.since == min(known, default=0)


def test_hubs_come_before_larger_groups_of_nodes() -> None:
    node = ObjectProblem(
        kind="node", namespace="a", name="x", hub="h", form="f", cause_kind="NotReady", message=""
    )
    hub = replace(node, kind="hub", form="", cause_kind="SourceUnavailable")
    groups = group_problems([node, replace(node, name="y"), hub])
    assert [group.key.kind for group in groups] == ["hub", "node"]
    assert [group.title() for group in groups] == [
        "SourceUnavailable in hub h",
        "NotReady in form f",
    ]


def cause(kind: CauseKind, message: str) -> Cause:
    return Cause(kind=kind, subject="Deployment a/b", message=message)


def test_headline_is_the_word_of_kubernetes() -> None:
    pull = cause(CauseKind.CONTAINER_FAILING, 'container "app" is waiting: ImagePullBackOff')
    crash = cause(CauseKind.CONTAINER_FAILING, 'container "app" terminated: Error, exit code 1')
    assert headline(pull) == "ImagePullBackOff"
    assert headline(crash) == "Error"
    assert headline(cause(CauseKind.NOT_READY, "0 of 1")) == "NotReady"
    assert common_headline([pull, pull]) == "ImagePullBackOff"
    assert common_headline([pull, crash]) == ""
    assert common_headline([]) == ""
