"""Problems of ids and dependIds are all reported at once, with the ids concerned."""

import pytest
from hypothesis import given

from lynq.core.graph.build import build_graph, find_problems
from lynq.core.graph.model import Entry
from lynq.core.graph.problems import GraphError, GraphProblemKind
from unit.core.graph.strategies import entries, transitive_dependencies

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
            "services[1] has no id: an id is required",
            id="empty id",
        ),
        pytest.param(
            [web(), Entry("web", (), "services[0]")],
            DUPLICATE,
            ("web",),
            'duplicate id "web" in deployments[0], services[0]: '
            "ids must be unique across all lists",
            id="duplicate id in two lists",
        ),
        pytest.param(
            [web("db")],
            UNKNOWN,
            ("web", "db"),
            '"web" depends on "db", but no resource has this id',
            id="unknown dependency",
        ),
        pytest.param(
            [web("")],
            UNKNOWN,
            ("web", ""),
            '"web" depends on "", but no resource has this id',
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
            id="cycle of two",
        ),
        pytest.param(
            [Entry("c", ("a",)), Entry("a", ("b",)), Entry("b", ("c",)), Entry("d", ("a",))],
            CYCLE,
            ("c", "a", "b"),
            "circular dependency detected: c -> a -> b -> c",
            id="cycle of three with a dependent",
        ),
        pytest.param(
            [Entry("a", ("b", "c")), Entry("b", ("c",)), Entry("c", ("a",))],
            CYCLE,
            ("a", "c"),
            "circular dependency detected: a -> c -> a",
            id="shortest cycle represents the component",
        ),
    ],
)
def test_problem_has_kind_ids_and_message(
    given_entries: list[Entry], kind: GraphProblemKind, ids: tuple[str, ...], message: str
) -> None:
    (problem,) = find_problems(given_entries)
    assert (problem.kind, problem.ids, problem.message) == (kind, ids, message)


def test_all_problems_are_reported_at_once() -> None:
    bad = [
        Entry("a", ("a", "missing")),
        Entry("b", ("c",)),
        Entry("c", ("b",)),
        Entry("d", ("e",)),
        Entry("e", ("d",)),
        Entry("twice"),
        Entry("twice"),
        Entry(""),
    ]
    with pytest.raises(GraphError) as raised:
        build_graph(bad)
    kinds = [problem.kind for problem in raised.value.problems]
    assert kinds == [EMPTY, DUPLICATE, ITSELF, UNKNOWN, CYCLE, CYCLE]
    assert str(raised.value).startswith("resource 8 has no id")
    assert str(raised.value).endswith(
        "circular dependency detected: b -> c -> b; circular dependency detected: d -> e -> d"
    )


def test_connected_components_report_separate_cycles() -> None:
    bad = [Entry("a", ("x", "b")), Entry("b", ("a",)), Entry("x", ("y",)), Entry("y", ("x",))]
    assert [problem.ids for problem in find_problems(bad)] == [("a", "b"), ("x", "y")]


def test_cycle_through_duplicate_id_is_not_reported() -> None:
    bad = [Entry("a"), Entry("a", ("b",)), Entry("b", ("a",))]
    assert [problem.kind for problem in find_problems(bad)] == [DUPLICATE]


def test_repeated_dependency_counts_once() -> None:
    assert build_graph([Entry("a", ("b", "b")), Entry("b")]).dependencies["a"] == ("b",)
    assert len(find_problems([Entry("a", ("b", "b"))])) == 1


def test_long_messages_are_shortened() -> None:
    ring = [Entry(f"n{i}", (f"n{(i + 1) % 5000}",)) for i in range(5000)]
    (problem,) = find_problems(ring)
    assert len(problem.ids) == 5000
    assert problem.message.startswith("circular dependency detected: n0 -> n1 -> ")
    assert problem.message.endswith(" -> (4989 more) -> n0")
    many = GraphError(find_problems([Entry(f"n{i}", ("missing",)) for i in range(50)]))
    assert str(many).endswith("; and 30 more")
    assert len(many.problems) == 50


@given(entries())
def test_cycle_is_reported_if_and_only_if_one_exists(drawn: list[Entry]) -> None:
    in_cycles = {start for start, end in transitive_dependencies(drawn) if start == end}
    problems = find_problems(drawn)
    assert all(problem.kind is CYCLE for problem in problems)
    assert bool(problems) == bool(in_cycles)
    assert {resource_id for problem in problems for resource_id in problem.ids} <= in_cycles


@given(entries())
def test_each_component_reports_one_valid_cycle(drawn: list[Entry]) -> None:
    depends_on = {entry.id: entry.depend_ids for entry in drawn}
    pairs = transitive_dependencies(drawn)
    cycles = [problem.ids for problem in find_problems(drawn)]
    for ids in cycles:
        assert len(set(ids)) == len(ids)
        for resource_id, dependency in zip(ids, [*ids[1:], ids[0]], strict=True):
            assert dependency in depends_on[resource_id]
    for member in (start for start, end in pairs if start == end):
        of_component = [
            ids
            for ids in cycles
            if member == ids[0] or {(member, ids[0]), (ids[0], member)} <= pairs
        ]
        assert len(of_component) == 1
