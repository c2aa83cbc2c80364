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


async def test_allowed_decision_is_cached_for_a_minute() -> None:
    reviewer, clock = Reviewer(), Clock()
    remembering = CachedAuthorizer(reviewer, clock)
    assert await remembering("t") is AccessDecision.ALLOWED
    reviewer.answer = AccessDecision.FORBIDDEN
    clock.now += 59
    assert await remembering("t") is AccessDecision.ALLOWED
    clock.now += 2
    assert await remembering("t") is AccessDecision.FORBIDDEN


async def test_denied_decision_is_cached_for_ten_seconds() -> None:
    reviewer, clock = Reviewer(), Clock()
    remembering = CachedAuthorizer(reviewer, clock)
    reviewer.answer = AccessDecision.FORBIDDEN
    assert await remembering("t") is AccessDecision.FORBIDDEN
    reviewer.answer = AccessDecision.ALLOWED
    clock.now += 11
    assert await remembering("t") is AccessDecision.ALLOWED


async def test_use_does_not_extend_a_cached_decision() -> None:
    reviewer, clock = Reviewer(), Clock()
    remembering = CachedAuthorizer(reviewer, clock)
    for _ in range(13):
        await remembering("t")
        clock.now += 10
    assert reviewer.asked == 3


async def test_invalid_tokens_flood_neither_cache_nor_api_server() -> None:
    reviewer = Reviewer()
    remembering = CachedAuthorizer(reviewer)
    await asyncio.gather(*(remembering(f"made-up-{number}") for number in range(1000)))
    assert reviewer.most_at_once <= 4
    assert len(remembering._decisions) == 256
    assert b"made-up" not in b"".join(remembering._decisions)


async def test_concurrent_requests_of_one_token_share_reviews() -> None:
    reviewer = Reviewer()
    remembering = CachedAuthorizer(reviewer)
    await asyncio.gather(*(remembering("t") for _ in range(100)))
    assert reviewer.asked <= 4


async def test_failed_review_is_not_cached() -> None:
    failures = [ReviewFailedError("no answer")]

    async def ask(_token: str) -> AccessDecision:
        if failures:
            raise failures.pop()
        return AccessDecision.ALLOWED

    remembering = CachedAuthorizer(ask)
    with pytest.raises(ReviewFailedError):
        await remembering("t")
    assert await remembering("t") is AccessDecision.ALLOWED
