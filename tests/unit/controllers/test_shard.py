"""Shards: every object belongs to exactly one process."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lynq.api.metadata import ObjectKey
from lynq.api.naming import BUCKETS, bucket_of
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
        False,
        True,
    ]
    assert bucket_of("shop", "acme-web") == 32


def test_shard_is_parsed_from_number_and_count() -> None:
    assert Shard.parse("1/3") == Shard(1, 3)


@pytest.mark.parametrize("text", ["", "3", "3/3", "-1/3", "a/b", "1/0", "1/3/5", "0/65"])
def test_invalid_shard_is_rejected(text: str) -> None:
    with pytest.raises(ValueError, match="shard"):
        Shard.parse(text)


def test_each_shard_has_its_own_lease() -> None:
    leases = {Shard(number, 3).lease for number in range(3)} | {Shard().lease}
    assert len(leases) == 4
    assert Shard().lease == "f2130106.lynq.sh"


SHARDS = st.integers(1, BUCKETS).flatmap(
    lambda count: st.integers(0, count - 1).map(lambda number: Shard(number, count))
)


@given(KEYS, SHARDS)
def test_bucket_decides_the_shard_whatever_their_number(key: ObjectKey, shard: Shard) -> None:
    assert shard.owns(key) == (bucket_of(key.namespace, key.name) in shard.buckets)


BUCKET_LABELS = [*map(str, range(BUCKETS)), "99", "01", "", "edited", None]


@given(SHARDS, st.sampled_from(BUCKET_LABELS))
def test_every_object_is_selected_by_one_shard(shard: Shard, bucket: str | None) -> None:
    shards = [Shard(number, shard.count) for number in range(shard.count)]
    selecting = [each.number for each in shards if selects(each.selector(), bucket)]
    known = bucket in {*map(str, range(BUCKETS))}
    assert selecting == [int(bucket) % shard.count if known and bucket else 0]


@given(SHARDS, st.sampled_from(BUCKET_LABELS))
def test_workload_is_received_by_its_shard_and_the_first(shard: Shard, bucket: str | None) -> None:
    is_own = bucket in {*map(str, shard.buckets)}
    assert selects(shard.selector(is_workload=True), bucket) == (is_own or shard.number == 0)


@given(SHARDS, st.booleans())
def test_labels_are_selected_as_by_the_selector(shard: Shard, is_workload: bool) -> None:  # noqa: FBT001
    selector = shard.selector(is_workload=is_workload)
    for bucket in BUCKET_LABELS:
        labels = {} if bucket is None else {"lynq.sh/bucket": bucket}
        managed = {**labels, "lynq.sh/managed": "true"}
        assert shard.selects(managed, is_workload=is_workload) == selects(selector, bucket)
        for unmanaged in (labels, {**labels, "lynq.sh/managed": "false"}):
            assert not shard.selects(unmanaged, is_workload=is_workload)


@given(SHARDS, st.sampled_from([*map(str, range(BUCKETS)), None]))
def test_node_is_received_by_its_shard_and_the_first(shard: Shard, bucket: str | None) -> None:
    is_own = bucket is not None and int(bucket) in shard.buckets
    selector = shard.node_selector
    assert (selector is None) == shard.has_hubs == (shard.number == 0)
    assert selector is None or selects_bucket(selector, bucket) == is_own


def selects(selector: str, bucket: str | None) -> bool:
    """Return whether a selector of objects selects this bucket; None is no label."""
    managed, _, rest = selector.partition(",")
    assert managed == "lynq.sh/managed=true"
    return not rest or selects_bucket(rest, bucket)


def selects_bucket(selector: str, bucket: str | None) -> bool:
    key, operator, values = selector.split(" ")
    assert key == "lynq.sh/bucket"
    is_listed = bucket in values.strip("()").split(",")
    return is_listed if operator == "in" else not is_listed


def test_shards_of_one_m_do_not_exclude_each_other() -> None:
    shards = [Shard(number, 4) for number in range(4)]
    assert not any(one.excludes_lease(other.lease) for one in shards for other in shards)


@given(SHARDS, SHARDS)
def test_shards_that_share_an_object_exclude_each_other(one: Shard, other: Shard) -> None:
    share = not set(one.buckets).isdisjoint(other.buckets)
    assert one.excludes_lease(other.lease) == other.excludes_lease(one.lease)
    assert one.excludes_lease(other.lease) == (share and one.lease != other.lease)


@pytest.mark.parametrize("name", ["other", f"{Shard().lease}-shard-9-of-3", f"{Shard().lease}-x"])
def test_leases_of_others_exclude_no_shard(name: str) -> None:
    assert not Shard().excludes_lease(name)
