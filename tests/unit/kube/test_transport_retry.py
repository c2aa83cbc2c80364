import pytest

from lynq.kube import Backoff, ClientOptions, Request, errors
from lynq.kube.transport import attempt_delay

OPTIONS = ClientOptions(attempts=3, backoff=Backoff(base=1, cap=8), max_retry_after=30)
GET = Request("get", "GET", "/", repeatable=True)
CREATE = Request("create", "POST", "/")


def answer(code: int, reason: str = "", retry_after: float | None = None) -> errors.ApiError:
    status = errors.Status(code=code, reason=reason)
    return errors.from_status(status, verb="get", path="/", retry_after=retry_after)


@pytest.mark.parametrize(
    ("error", "read", "create"),
    [
        (answer(429), True, True),
        (answer(503), True, False),
        (answer(504), True, False),
        (answer(500), False, False),
        (answer(500, retry_after=1.0), True, False),
        (answer(500, "ServerTimeout"), True, False),
        (answer(404), False, False),
        (answer(409), False, False),
        (errors.ConnectionFailed("refused", sent=False), True, True),
        (errors.ConnectionFailed("reset"), True, False),
        (errors.TimedOut("late"), False, False),
        (errors.ResponseTooLarge("large"), False, False),
        (errors.Fenced("lost"), False, False),
    ],
)
def test_which_requests_are_retried(error: errors.KubeError, *, read: bool, create: bool) -> None:
    assert (attempt_delay(error, GET, 1, OPTIONS) is not None) is read
    assert (attempt_delay(error, CREATE, 1, OPTIONS) is not None) is create


def test_delay_grows_and_attempts_are_limited() -> None:
    delays = [attempt_delay(answer(503), GET, failures, OPTIONS) for failures in (1, 2, 3)]
    assert delays == [1, 2, None]


def test_retry_after_is_a_minimum() -> None:
    assert attempt_delay(answer(429, retry_after=10), GET, 1, OPTIONS) == 11


def test_longer_retry_after_is_not_waited_for() -> None:
    assert attempt_delay(answer(429, retry_after=31), GET, 1, OPTIONS) is None
