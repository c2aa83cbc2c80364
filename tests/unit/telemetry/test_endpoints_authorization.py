"""Cached decisions on tokens."""

import asyncio

import pytest

from lynq.telemetry import AccessDecision, ReviewFailedError
from lynq.telemetry.authorization import CachedAuthorizer


class Reviewer:
    """Returns a configured decision and counts the reviews."""

    def __init__(self) -> None:
        self.answer = AccessDecision.ALLOWED
        self.reviews = 0
        self.at_once = 0
        self.most_at_once = 0

    async def __call__(self, _token: str) -> AccessDecision:
        self.reviews += 1
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
    authorizer = CachedAuthorizer(reviewer, clock)
    assert await authorizer("t") is AccessDecision.ALLOWED
    reviewer.answer = AccessDecision.FORBIDDEN
    clock.now += 59
    assert await authorizer("t") is AccessDecision.ALLOWED
    clock.now += 2
    assert await authorizer("t") is AccessDecision.FORBIDDEN


async def test_denied_decision_is_cached_for_ten_seconds() -> None:
    reviewer, clock = Reviewer(), Clock()
    authorizer = CachedAuthorizer(reviewer, clock)
    reviewer.answer = AccessDecision.FORBIDDEN
    assert await authorizer("t") is AccessDecision.FORBIDDEN
    reviewer.answer = AccessDecision.ALLOWED
    clock.now += 11
    assert await authorizer("t") is AccessDecision.ALLOWED


async def test_use_does_not_extend_a_cached_decision() -> None:
    reviewer, clock = Reviewer(), Clock()
    authorizer = CachedAuthorizer(reviewer, clock)
    for _ in range(13):
        await authorizer("t")
        clock.now += 10
    assert reviewer.reviews == 3


async def test_invalid_tokens_flood_neither_cache_nor_api_server() -> None:
    reviewer = Reviewer()
    reviewer.answer = AccessDecision.UNAUTHENTICATED
    authorizer = CachedAuthorizer(reviewer)
    await asyncio.gather(*(authorizer(f"invalid-{number}") for number in range(1000)))
    assert reviewer.most_at_once <= 4
    assert len(authorizer._denied) == 256
    assert b"invalid" not in b"".join(authorizer._denied)


async def test_invalid_tokens_do_not_evict_the_one_of_the_scraper() -> None:
    reviewer = Reviewer()
    authorizer = CachedAuthorizer(reviewer)
    await authorizer("scraper")
    reviewer.answer = AccessDecision.UNAUTHENTICATED
    for number in range(300):
        await authorizer(f"invalid-{number}")
    assert await authorizer("scraper") is AccessDecision.ALLOWED
    assert reviewer.reviews == 301


async def test_scraper_does_not_wait_for_the_reviews_of_invalid_tokens() -> None:
    clock, go = Clock(), asyncio.Event()

    async def review(token: str) -> AccessDecision:
        if token != "scraper":
            await go.wait()
        return AccessDecision.ALLOWED

    authorizer = CachedAuthorizer(review, clock)
    await authorizer("scraper")
    flood = [asyncio.ensure_future(authorizer(f"invalid-{number}")) for number in range(100)]
    await asyncio.sleep(0)
    clock.now += 61
    async with asyncio.timeout(5):
        assert await authorizer("scraper") is AccessDecision.ALLOWED
    go.set()
    await asyncio.gather(*flood)


async def test_concurrent_requests_of_one_token_share_reviews() -> None:
    reviewer = Reviewer()
    authorizer = CachedAuthorizer(reviewer)
    await asyncio.gather(*(authorizer("t") for _ in range(100)))
    assert reviewer.reviews <= 4


async def test_failed_review_is_not_cached() -> None:
    failures = [ReviewFailedError("no answer")]

    async def review(_token: str) -> AccessDecision:
        if failures:
            raise failures.pop()
        return AccessDecision.ALLOWED

    authorizer = CachedAuthorizer(review)
    with pytest.raises(ReviewFailedError):
        await authorizer("t")
    assert await authorizer("t") is AccessDecision.ALLOWED
