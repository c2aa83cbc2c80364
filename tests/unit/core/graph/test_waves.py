"""Waves: dependencies first on the way up, dependents first on the way down."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lynq.core.graph.build import build, find_problems, removal_waves
from lynq.core.graph.model import Entry
from unit.core.graph.strategies import entries, reachable, sound_entries

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
        pytest.param((), (), id="nothing"),
        pytest.param((Entry("a"),), (("a",),), id="one"),
        pytest.param((Entry("b"), Entry("a")), (("b", "a"),), id="side by side, in given order"),
        pytest.param((Entry("b", ("a",)), Entry("a")), (("a",), ("b",)), id="a pair"),
        pytest.param(
            SHOP, (("config", "claim"), ("db",), ("web",), ("service",)), id="the highest counts"
        ),
    ],
)
def test_the_level_is_one_more_than_the_highest_of_the_dependencies(
    given_entries: tuple[Entry, ...], waves: tuple[tuple[str, ...], ...]
) -> None:
    assert build(given_entries).waves == waves


def test_what_depends_on_an_id_is_found_through_others_in_canonical_order() -> None:
    graph = build(SHOP)
    assert graph.all_dependents("claim") == ("web", "db", "service")
    assert graph.all_dependents("service") == ()
    assert graph.all_dependents("nobody") == ()


def test_an_inventory_goes_in_reverse_and_the_forgotten_first() -> None:
    present = ["claim", "old-job", "config", "web", "older"]
    assert removal_waves(SHOP, present) == (("old-job", "older"), ("web",), ("config", "claim"))


def test_order_reaches_through_what_is_already_gone() -> None:
    assert removal_waves(SHOP, ["claim", "service"]) == (("service",), ("claim",))


def test_a_circle_does_not_stop_deletion() -> None:
    bad = [Entry("ns"), Entry("a", ("b", "ns")), Entry("b", ("a",)), Entry("c", ("b",))]
    assert removal_waves(bad, ["ns", "a", "b", "c"]) == (("a", "b", "c"), ("ns",))


def test_an_unknown_dependency_a_doubled_id_and_none_do_not_stop_deletion_either() -> None:
    bad = [Entry("a", ("nobody", "a")), Entry("a", ("b",)), Entry("b"), Entry("", ("a",))]
    assert removal_waves(bad, ["a", "b", ""]) == (("",), ("a",), ("b",))


def test_a_chain_of_ten_thousand_is_no_deeper_for_us_than_one_of_two() -> None:
    chain = [Entry("n0"), *(Entry(f"n{i}", (f"n{i - 1}",)) for i in range(1, 10_000))]
    graph = build(reversed(chain))
    assert [wave for (wave,) in graph.waves] == [entry.id for entry in chain]
    assert len(graph.all_dependents("n0")) == 9_999
    closed = [Entry("n0", ("n9999",)), *chain[1:]]
    assert len(find_problems(closed)[0].ids) == 10_000
    assert removal_waves(closed, ["n1", "n2"]) == (("n1", "n2"),)


def test_many_that_depend_on_many_stay_linear() -> None:
    base = [Entry(f"base{i}") for i in range(300)]
    ids = tuple(entry.id for entry in base)
    graph = build([*(Entry(f"top{i}", ids) for i in range(300)), *base])
    assert [len(wave) for wave in graph.waves] == [300, 300]


@given(sound_entries())
def test_every_id_is_in_exactly_one_wave_after_all_of_its_dependencies(drawn: list[Entry]) -> None:
    graph = build(drawn)
    level = {this: number for number, wave in enumerate(graph.waves) for this in wave}
    assert sorted(this for wave in graph.waves for this in wave) == sorted(e.id for e in drawn)
    for entry in drawn:
        below = [level[end] for end in entry.depend_ids]
        assert level[entry.id] == 1 + max(below, default=-1)


@given(sound_entries())
def test_inside_a_wave_the_given_order_stays(drawn: list[Entry]) -> None:
    position = {entry.id: number for number, entry in enumerate(drawn)}
    for wave in build(drawn).waves:
        assert list(wave) == sorted(wave, key=position.__getitem__)


@given(sound_entries())
def test_reverse_waves_mirror_the_waves(drawn: list[Entry]) -> None:
    graph = build(drawn)
    assert graph.reverse_waves == tuple(reversed(graph.waves))
    assert removal_waves(drawn, [entry.id for entry in drawn]) == graph.reverse_waves


@given(sound_entries())
def test_dependents_are_those_that_reach(drawn: list[Entry]) -> None:
    graph = build(drawn)
    pairs = reachable(drawn)
    for entry in drawn:
        assert set(graph.all_dependents(entry.id)) == {
            start for start, end in pairs if end == entry.id
        }


@given(entries(), st.lists(st.sampled_from("abcdefghxyz")))
def test_whatever_the_form_everything_present_goes_once_and_in_order(
    drawn: list[Entry], present: list[str]
) -> None:
    waves = removal_waves(drawn, present)
    gone = [this for wave in waves for this in wave]
    assert sorted(gone) == sorted(set(present))
    level = {this: number for number, wave in enumerate(waves) for this in wave}
    pairs = reachable(drawn)
    in_circles = {start for start, end in pairs if start == end}
    behind = in_circles | {start for start, end in pairs if end in in_circles}
    for start, end in pairs:
        if start in level and end in level and end not in behind:
            assert level[start] < level[end]
