"""`stays` and `eventually`, the waiting helpers of all tests."""

import asyncio

import pytest

from virtual_time import virtual_time
from waiting import DeadlineError, at_most, eventually, settled, stays


@virtual_time
async def test_stays_returns_after_the_time() -> None:
    loop = asyncio.get_running_loop()
    start = loop.time()
    await stays(lambda: True, seconds=5)
    assert loop.time() - start == pytest.approx(5)


@virtual_time
async def test_stays_ends_when_rounding_leaves_almost_no_time() -> None:
    """The sum of three steps is a little less than 0.3 s."""
    loop = asyncio.get_running_loop()
    start = loop.time()
    await stays(lambda: True, seconds=0.3, every=0.1)
    assert loop.time() - start == pytest.approx(0.3)


@virtual_time
async def test_stays_fails_as_soon_as_the_condition_ceases_to_hold() -> None:
    loop = asyncio.get_running_loop()
    start = loop.time()

    async def holds() -> bool:
        return loop.time() - start < 2

    with pytest.raises(AssertionError, match="ceased to hold"):
        await stays(holds, seconds=60)
    assert loop.time() - start == pytest.approx(2, abs=0.1)


@virtual_time
async def test_stays_raises_the_condition_s_own_assertion_error() -> None:
    def assertion() -> bool:
        raise AssertionError("two leaders")

    with pytest.raises(AssertionError, match="two leaders"):
        await stays(assertion, seconds=1)


@virtual_time
async def test_eventually_raises_the_last_assertion_error_at_the_deadline() -> None:
    def assertion() -> bool:
        raise AssertionError("no leader")

    with pytest.raises(DeadlineError, match="no leader"):
        await eventually(assertion, within=1)


@virtual_time
async def test_eventually_waits_for_a_key_that_is_absent() -> None:
    status: dict[str, str] = {}
    asyncio.get_running_loop().call_later(5, status.update, {"phase": "Ready"})
    assert await eventually(lambda: status["phase"]) == "Ready"
    with pytest.raises(DeadlineError, match=r"KeyError.*reason"):
        await eventually(lambda: status["reason"], within=1)


@virtual_time
async def test_settled_waits_until_the_value_rests() -> None:
    loop = asyncio.get_running_loop()
    start = loop.time()
    await settled(lambda: min(int(loop.time() - start), 3), seconds=2)
    assert loop.time() - start == pytest.approx(5, abs=0.1)


@virtual_time
async def test_settled_fails_if_the_value_never_rests() -> None:
    loop = asyncio.get_running_loop()
    with pytest.raises(DeadlineError, match="still changed after 10 s"):
        await settled(loop.time, seconds=2, within=10)


def test_block_that_takes_longer_than_at_most_fails_by_deadline() -> None:
    with at_most(seconds=60):
        pass
    with pytest.raises(DeadlineError, match="not at most -1 s"), at_most(seconds=-1):
        pass


def test_error_of_a_block_is_not_hidden_by_its_duration() -> None:
    with pytest.raises(KeyError), at_most(seconds=-1):
        raise KeyError
