"""Waves: dependencies first when applying, dependents first when deleting."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lynq.core.graph.build import build_graph, find_problems, removal_waves
from lynq.core.graph.model import Entry
from unit.core.graph.strategies import acyclic_entries, entries, transitive_dependencies

SHOP = (
    Entry("web", ("db", "config")),
    Entry("db", ("claim",)),
    Entry("service", ("web",)),
    Entry("config"),
    Entry("claim"),
)


@pytest.mark.parametrize(
    ("given_entries", "waves"),
    [
        pytest.param((), (), id="empty"),
        pytest.param((Entry("a"),), (("a",),), id="one"),
        pytest.param(
            (Entry("b"), Entry("a")), (("b", "a"),), id="independent ids keep their order"
        ),
        pytest.param((Entry("b", ("a",)), Entry("a")), (("a",), ("b",)), id="a dependency"),
        pytest.param(
            SHOP,
            (("config", "claim"), ("db",), ("web",), ("service",)),
            id="highest dependency counts",
        ),
    ],
)
def test_level_is_one_more_than_highest_dependency(
    given_entries: tuple[Entry, ...], waves: tuple[tuple[str, ...], ...]
) -> None:
    assert build_graph(given_entries).waves == waves


def test_dependencies_keep_order_of_depend_ids() -> None:
    assert build_graph(SHOP).dependencies == {
        "web": ("db", "config"),
        "db": ("claim",),
        "service": ("web",),
        "config": (),
        "claim": (),
    }


def test_removal_is_in_reverse_with_unknown_ids_first() -> None:
    present = ["claim", "old-job", "config", "web", "older"]
    assert removal_waves(SHOP, present) == (("old-job", "older"), ("web",), ("config", "claim"))


def test_absent_entries_still_order_removal() -> None:
    assert removal_waves(SHOP, ["claim", "service"]) == (("service",), ("claim",))


def test_cycle_does_not_block_removal() -> None:
    bad = [Entry("ns"), Entry("a", ("b", "ns")), Entry("b", ("a",)), Entry("c", ("b",))]
    assert removal_waves(bad, ["ns", "a", "b", "c"]) == (("a", "b", "c"), ("ns",))


def test_invalid_ids_do_not_block_removal() -> None:
    bad = [Entry("a", ("missing", "a")), Entry("a", ("b",)), Entry("b"), Entry("", ("a",))]
    assert removal_waves(bad, ["a", "b", ""]) == (("",), ("a",), ("b",))


def test_chain_of_ten_thousand_needs_no_recursion() -> None:
    chain = [Entry("n0"), *(Entry(f"n{i}", (f"n{i - 1}",)) for i in range(1, 10_000))]
    graph = build_graph(reversed(chain))
    assert [wave for (wave,) in graph.waves] == [entry.id for entry in chain]
    ring = [Entry("n0", ("n9999",)), *chain[1:]]
    assert len(find_problems(ring)[0].ids) == 10_000
    assert removal_waves(ring, ["n1", "n2"]) == (("n1", "n2"),)


def test_many_dependencies_on_many_resources_stay_linear() -> None:
    base = [Entry(f"base{i}") for i in range(300)]
    ids = tuple(entry.id for entry in base)
    graph = build_graph([*(Entry(f"top{i}", ids) for i in range(300)), *base])
    assert [len(wave) for wave in graph.waves] == [300, 300]


@given(acyclic_entries())
def test_every_id_is_in_one_wave_after_its_dependencies(drawn: list[Entry]) -> None:
    graph = build_graph(drawn)
    level = {name: number for number, wave in enumerate(graph.waves) for name in wave}
    assert sorted(name for wave in graph.waves for name in wave) == sorted(e.id for e in drawn)
    for entry in drawn:
        below = [level[end] for end in entry.depend_ids]
        assert level[entry.id] == 1 + max(below, default=-1)


@given(acyclic_entries())
def test_wave_keeps_order_of_entries(drawn: list[Entry]) -> None:
    position = {entry.id: number for number, entry in enumerate(drawn)}
    for wave in build_graph(drawn).waves:
        assert list(wave) == sorted(wave, key=position.__getitem__)


@given(acyclic_entries())
def test_removal_reverses_waves(drawn: list[Entry]) -> None:
    reversed_waves = tuple(reversed(build_graph(drawn).waves))
    assert removal_waves(drawn, [entry.id for entry in drawn]) == reversed_waves


@given(acyclic_entries())
def test_waves_order_transitive_dependencies(drawn: list[Entry]) -> None:
    waves = build_graph(drawn).waves
    level = {name: number for number, wave in enumerate(waves) for name in wave}
    for dependent, dependency in transitive_dependencies(drawn):
        assert level[dependency] < level[dependent]


@given(entries(), st.lists(st.sampled_from("abcdefghxyz")))
def test_removal_covers_inventory_once_and_in_order(drawn: list[Entry], present: list[str]) -> None:
    waves = removal_waves(drawn, present)
    removed = [name for wave in waves for name in wave]
    assert sorted(removed) == sorted(set(present))
    level = {name: number for number, wave in enumerate(waves) for name in wave}
    pairs = transitive_dependencies(drawn)
    in_cycles = {start for start, end in pairs if start == end}
    unsorted = in_cycles | {start for start, end in pairs if end in in_cycles}
    for start, end in pairs:
        if start in level and end in level and end not in unsorted:
            assert level[start] < level[end]
