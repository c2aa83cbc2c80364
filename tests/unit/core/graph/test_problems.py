"""What is wrong with ids and dependIds is told at once, and by name."""

import pytest
from hypothesis import given

from lynq.core.graph.build import build, find_problems
from lynq.core.graph.model import Entry
from lynq.core.graph.problems import GraphError, GraphProblemKind
from unit.core.graph.strategies import entries, reachable

EMPTY = GraphProblemKind.EMPTY_ID
DUPLICATE = GraphProblemKind.DUPLICATE_ID
UNKNOWN = GraphProblemKind.UNKNOWN_DEPENDENCY
ITSELF = GraphProblemKind.SELF_DEPENDENCY
CYCLE = GraphProblemKind.CYCLE


def web(*depend_ids: str) -> Entry:
    return Entry("web", depend_ids, "deployments[0]")


@pytest.mark.parametrize(
    ("given_entries", "kind", "ids", "message"),
    [
        pytest.param(
            [web(), Entry("", (), "services[1]")],
            EMPTY,
            ("",),
            "services[1] has an empty id: every resource needs one",
            id="empty id",
        ),
        pytest.param(
            [web(), Entry("web", (), "services[0]")],
            DUPLICATE,
            ("web",),
            'duplicate id "web" of deployments[0], services[0]: ids must be unique over all lists',
            id="duplicate id in two lists",
        ),
        pytest.param(
            [web("db")],
            UNKNOWN,
            ("web", "db"),
            '"web" depends on "db", which is the id of no resource',
            id="unknown dependency",
        ),
        pytest.param(
            [web("")],
            UNKNOWN,
            ("web", ""),
            '"web" depends on "", which is the id of no resource',
            id="empty dependency",
        ),
        pytest.param(
            [web("web")],
            ITSELF,
            ("web",),
            "circular dependency detected: web -> web",
            id="itself",
        ),
        pytest.param(
            [Entry("a", ("b",)), Entry("b", ("a",))],
            CYCLE,
            ("a", "b"),
            "circular dependency detected: a -> b -> a",
            id="two in a circle",
        ),
        pytest.param(
            [Entry("c", ("a",)), Entry("a", ("b",)), Entry("b", ("c",)), Entry("d", ("a",))],
            CYCLE,
            ("c", "a", "b"),
            "circular dependency detected: c -> a -> b -> c",
            id="three in a circle and one that waits for them",
        ),
        pytest.param(
            [Entry("a", ("b", "c")), Entry("b", ("c",)), Entry("c", ("a",))],
            CYCLE,
            ("a", "c"),
            "circular dependency detected: a -> c -> a",
            id="the shortest circle stands for the others",
        ),
    ],
)
def test_a_problem_has_a_kind_ids_and_a_sentence(
    given_entries: list[Entry], kind: GraphProblemKind, ids: tuple[str, ...], message: str
) -> None:
    (problem,) = find_problems(given_entries)
    assert (problem.kind, problem.ids, problem.message) == (kind, ids, message)


def test_all_problems_are_told_at_once() -> None:
    bad = [
        Entry("a", ("a", "nobody")),
        Entry("b", ("c",)),
        Entry("c", ("b",)),
        Entry("d", ("e",)),
        Entry("e", ("d",)),
        Entry("twice"),
        Entry("twice"),
        Entry(""),
    ]
    with pytest.raises(GraphError) as refused:
        build(bad)
    kinds = [problem.kind for problem in refused.value.problems]
    assert kinds == [EMPTY, DUPLICATE, ITSELF, UNKNOWN, CYCLE, CYCLE]
    assert str(refused.value).startswith("resource 8 has an empty id")
    assert str(refused.value).endswith(
        "circular dependency detected: b -> c -> b; circular dependency detected: d -> e -> d"
    )


def test_separate_circles_are_told_apart_even_where_one_waits_for_the_other() -> None:
    bad = [Entry("a", ("x", "b")), Entry("b", ("a",)), Entry("x", ("y",)), Entry("y", ("x",))]
    assert [problem.ids for problem in find_problems(bad)] == [("a", "b"), ("x", "y")]


def test_a_circle_through_a_doubled_id_is_not_told_before_the_ids_are_right() -> None:
    bad = [Entry("a"), Entry("a", ("b",)), Entry("b", ("a",))]
    assert [problem.kind for problem in find_problems(bad)] == [DUPLICATE]


def test_a_dependency_named_twice_is_one() -> None:
    assert build([Entry("a", ("b", "b")), Entry("b")]).dependencies["a"] == ("b",)
    assert len(find_problems([Entry("a", ("b", "b"))])) == 1


def test_long_answers_are_shortened() -> None:
    ring = [Entry(f"n{i}", (f"n{(i + 1) % 5000}",)) for i in range(5000)]
    (problem,) = find_problems(ring)
    assert len(problem.ids) == 5000
    assert problem.message.startswith("circular dependency detected: n0 -> n1 -> ")
    assert problem.message.endswith(" -> (4989 more) -> n0")
    many = GraphError(find_problems([Entry(f"n{i}", ("nobody",)) for i in range(50)]))
    assert str(many).endswith("; and 30 more")
    assert len(many.problems) == 50


@given(entries())
def test_a_circle_is_found_exactly_where_there_is_one(drawn: list[Entry]) -> None:
    closed = {start for start, end in reachable(drawn) if start == end}
    problems = find_problems(drawn)
    assert all(problem.kind is CYCLE for problem in problems)
    assert bool(problems) == bool(closed)
    assert {this for problem in problems for this in problem.ids} <= closed


@given(entries())
def test_a_circle_is_one_and_every_knot_has_one(drawn: list[Entry]) -> None:
    depends_on = {entry.id: entry.depend_ids for entry in drawn}
    pairs = reachable(drawn)
    told = [problem.ids for problem in find_problems(drawn)]
    for ids in told:
        assert len(set(ids)) == len(ids)
        for this, following in zip(ids, [*ids[1:], ids[0]], strict=True):
            assert following in depends_on[this]
    for this in (start for start, end in pairs if start == end):
        mine = [ids for ids in told if this == ids[0] or {(this, ids[0]), (ids[0], this)} <= pairs]
        assert len(mine) == 1
