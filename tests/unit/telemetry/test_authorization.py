"""Answers about tokens, remembered for a short time."""

import asyncio

import pytest

from lynq.telemetry import Decision, ReviewFailedError
from lynq.telemetry.authorization import Remembering


class Reviewer:
    """Answers as it is told, and counts."""

    def __init__(self) -> None:
        self.answer = Decision.ALLOWED
        self.asked = 0
        self.at_once = 0
        self.most_at_once = 0

    async def __call__(self, _token: str) -> Decision:
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
    remembering = Remembering(reviewer, clock)
    assert await remembering("t") is Decision.ALLOWED
    reviewer.answer = Decision.FORBIDDEN
    clock.now += 59
    assert await remembering("t") is Decision.ALLOWED
    clock.now += 2
    assert await remembering("t") is Decision.FORBIDDEN


async def test_a_right_that_was_given_is_noticed_after_ten_seconds() -> None:
    reviewer, clock = Reviewer(), Clock()
    remembering = Remembering(reviewer, clock)
    reviewer.answer = Decision.FORBIDDEN
    assert await remembering("t") is Decision.FORBIDDEN
    reviewer.answer = Decision.ALLOWED
    clock.now += 11
    assert await remembering("t") is Decision.ALLOWED


async def test_an_answer_lasts_no_longer_for_being_asked_often() -> None:
    reviewer, clock = Reviewer(), Clock()
    remembering = Remembering(reviewer, clock)
    for _ in range(13):
        await remembering("t")
        clock.now += 10
    assert reviewer.asked == 3


async def test_made_up_tokens_fill_neither_memory_nor_the_api_server() -> None:
    reviewer = Reviewer()
    remembering = Remembering(reviewer)
    await asyncio.gather(*(remembering(f"made-up-{number}") for number in range(1000)))
    assert reviewer.most_at_once <= 4
    assert len(remembering._known) == 256
    assert b"made-up" not in b"".join(remembering._known)


async def test_one_token_that_comes_many_times_at_once_is_reviewed_a_few_times() -> None:
    reviewer = Reviewer()
    remembering = Remembering(reviewer)
    await asyncio.gather(*(remembering("t") for _ in range(100)))
    assert reviewer.asked <= 4


async def test_a_review_that_failed_is_not_remembered() -> None:
    failures = [ReviewFailedError("no answer")]

    async def ask(_token: str) -> Decision:
        if failures:
            raise failures.pop()
        return Decision.ALLOWED

    remembering = Remembering(ask)
    with pytest.raises(ReviewFailedError):
        await remembering("t")
    assert await remembering("t") is Decision.ALLOWED
