"""Answers about tokens, remembered for a short time."""

import asyncio

import pytest

from lynq.telemetry import AccessDecision, ReviewFailedError
from lynq.telemetry.endpoints import CachedAuthorizer


class Reviewer:
    """Answers as it is told, and counts."""

    def __init__(self) -> None:
        self.answer = AccessDecision.ALLOWED
        self.asked = 0
        self.at_once = 0
        self.most_at_once = 0

    async def __call__(self, _token: str) -> AccessDecision:
        self.asked += 1
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        await asyncio.sleep(0)
        self.at_once -= 1
        return self.answer


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


async def test_a_right_that_was_taken_away_is_noticed_after_a_minute() -> None:
    reviewer, clock = Reviewer(), Clock()
    remembering = CachedAuthorizer(reviewer, clock)
    assert await remembering("t") is AccessDecision.ALLOWED
    reviewer.answer = AccessDecision.FORBIDDEN
    clock.now += 59
    assert await remembering("t") is AccessDecision.ALLOWED
    clock.now += 2
    assert await remembering("t") is AccessDecision.FORBIDDEN


async def test_a_right_that_was_given_is_noticed_after_ten_seconds() -> None:
    reviewer, clock = Reviewer(), Clock()
    remembering = CachedAuthorizer(reviewer, clock)
    reviewer.answer = AccessDecision.FORBIDDEN
    assert await remembering("t") is AccessDecision.FORBIDDEN
    reviewer.answer = AccessDecision.ALLOWED
    clock.now += 11
    assert await remembering("t") is AccessDecision.ALLOWED


async def test_an_answer_lasts_no_longer_for_being_asked_often() -> None:
    reviewer, clock = Reviewer(), Clock()
    remembering = CachedAuthorizer(reviewer, clock)
    for _ in range(13):
        await remembering("t")
        clock.now += 10
    assert reviewer.asked == 3


async def test_made_up_tokens_fill_neither_memory_nor_the_api_server() -> None:
    reviewer = Reviewer()
    remembering = CachedAuthorizer(reviewer)
    await asyncio.gather(*(remembering(f"made-up-{number}") for number in range(1000)))
    assert reviewer.most_at_once <= 4
    assert len(remembering._decisions) == 256
    assert b"made-up" not in b"".join(remembering._decisions)


async def test_one_token_that_comes_many_times_at_once_is_reviewed_a_few_times() -> None:
    reviewer = Reviewer()
    remembering = CachedAuthorizer(reviewer)
    await asyncio.gather(*(remembering("t") for _ in range(100)))
    assert reviewer.asked <= 4


async def test_a_review_that_failed_is_not_remembered() -> None:
    failures = [ReviewFailedError("no answer")]

    async def ask(_token: str) -> AccessDecision:
        if failures:
            raise failures.pop()
        return AccessDecision.ALLOWED

    remembering = CachedAuthorizer(ask)
    with pytest.raises(ReviewFailedError):
        await remembering("t")
    assert await remembering("t") is AccessDecision.ALLOWED
