"""Counts what the API server answers, under the labels that client-go has."""

from typing import Final
from urllib.parse import urlsplit

from prometheus_client import Counter

from lynq.kube.errors import Fenced
from lynq.kube.request import Interceptor, Request, Response, Send

_NO_ANSWER: Final = "<error>"
"""client-go's one code for all that is no answer: the reasons are too many for a label."""


def count_requests(requests: Counter, server: str) -> Interceptor:
    """Return what counts every attempt to reach `server`, retries and watches too.

    It belongs inside all others, so that what they fail or hold back is not taken for a request.
    """
    host = _host(server)

    async def count(request: Request, send: Send) -> Response:
        try:
            response = await send(request)
        except Fenced:
            # It was never sent.
            raise
        except BaseException:
            requests.labels(_NO_ANSWER, host, request.method).inc()
            raise
        requests.labels(str(response.status), host, request.method).inc()
        return response

    return count


def _host(server: str) -> str:
    """Return host and port as the address has them; a password in it belongs in no series."""
    return urlsplit(server).netloc.rpartition("@")[2] or "none"
