"""Shards: every object belongs to exactly one process."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lynq.api.metadata import ObjectKey
from lynq.controllers.options import Shard

KEYS = st.builds(ObjectKey, st.text(max_size=20), st.text(min_size=1, max_size=60))


@given(KEYS, st.integers(1, 9))
def test_every_object_belongs_to_one_shard(key: ObjectKey, count: int) -> None:
    assert sum(Shard(number, count).owns(key) for number in range(count)) == 1


def test_objects_are_spread_over_shards() -> None:
    keys = [ObjectKey("shop", f"tenant-{number}-web") for number in range(3000)]
    shares = [sum(map(Shard(number, 3).owns, keys)) for number in range(3)]
    assert all(900 < share < 1100 for share in shares)


def test_shard_of_an_object_is_stable() -> None:
    assert [Shard(number, 3).owns(ObjectKey("shop", "acme-web")) for number in range(3)] == [
        False,
        True,
        False,
    ]


def test_shard_is_parsed_from_number_and_count() -> None:
    assert Shard.parse("1/3") == Shard(1, 3)


@pytest.mark.parametrize("text", ["", "3", "3/3", "-1/3", "a/b", "1/0", "1/3/5"])
def test_invalid_shard_is_rejected(text: str) -> None:
    with pytest.raises(ValueError, match="shard"):
        Shard.parse(text)


def test_each_shard_has_its_own_lease() -> None:
    leases = {Shard(number, 3).lease for number in range(3)} | {Shard().lease}
    assert len(leases) == 4
    assert Shard().lease == "f2130106.lynq.sh"
