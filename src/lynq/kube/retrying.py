"""Whether a failed attempt may be sent again, and after how long.

The question is always: can the first attempt have been carried out?

| what happened | who may go again |
|---|---|
| the connection was never made | everyone: nothing was sent |
| 429 | everyone: the API server says that it did not look at the request |
| connection lost on the way, 503, 504, 500 with Retry-After | repeatable requests |
| no answer in time | nobody: a server that is too slow is not helped by asking twice |

Repeatable are reads, dry runs, server-side applies (the same intent twice is the same state) and
deletes of one uid (the second finds nothing to do). Whatever asks for a resourceVersion is not: the
first attempt may have moved it, and the second would report a conflict with ourselves, by which a
lease holder believes to have lost. Nor are creates (the second answers AlreadyExists for our own
object) and patches (a JSON patch adds twice).
"""

from lynq.kube.errors import (
    ApiError,
    ConnectionFailed,
    InternalError,
    KubeError,
    ServiceUnavailable,
    TimedOut,
    Timeout,
    TooManyRequests,
)
from lynq.kube.options import ClientOptions
from lynq.kube.request import Request


def retry_delay(
    error: KubeError, request: Request, failures: int, options: ClientOptions
) -> float | None:
    """Return the seconds to wait before the next attempt, or None when there is none.

    `failures` counts the attempts that failed, this one included.
    """
    if failures >= options.attempts or not _may_repeat(error, request):
        return None
    delay = options.backoff.delay(failures - 1)
    asked = error.retry_after if isinstance(error, ApiError) else None
    if asked is None:
        return delay
    # The server's wish is a minimum; the jitter on top keeps clients from coming back as one.
    return asked + delay if asked <= options.patience else None


def _may_repeat(error: KubeError, request: Request) -> bool:
    match error:
        case TooManyRequests():
            return True
        case ConnectionFailed(sent=False):
            return True
        case TimedOut():
            return False
        case ConnectionFailed() | ServiceUnavailable() | Timeout():
            return request.repeatable
        case InternalError(retry_after=float()):
            return request.repeatable
        case _:
            return False
