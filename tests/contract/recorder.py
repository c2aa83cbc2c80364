"""A pytest plugin that writes down the requests of each test with an `env`.

`pytest -p contract.recorder` with LYNQ_RECORD=FOLDER writes one file per test: the requests of the
test and of its operator, in the order of their answers. `contract.record` makes recordings of them.
"""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from contract.recording import Recording, Step
from lynq.kube import Client, Request, Response, Send

_HEADERS = ("Accept", "Content-Type", "Impersonate-User")


@dataclass(slots=True)
class RequestLog:
    """An interceptor that writes down requests and answers."""

    steps: list[Step] = field(default_factory=list)

    async def __call__(self, request: Request, send: Send) -> Response:
        """Send a request; note it with its answer, a watch when it opens."""
        response = await send(request)
        self.steps.append(
            Step(
                request.method,
                request.path,
                dict(request.query),
                {name: request.headers[name] for name in _HEADERS if name in request.headers},
                _json(request.body),
                response.status,
                None if request.stream else _json(response.body),
            )
        )
        return response

    def around(self, client: Client) -> Client:
        """Return the client with this interceptor outside of its others."""
        transport = client._transport
        return Client(replace(transport, interceptors=(self, *transport.interceptors)))


def _json(body: bytes | None) -> Any:
    try:
        return msgspec.json.decode(body) if body else None
    except msgspec.DecodeError:
        return None


@pytest.fixture(autouse=True)
def record_requests(request: pytest.FixtureRequest) -> Iterator[None]:
    """Write down the requests of a test with an `env`."""
    if "env" not in request.fixturenames:
        yield
        return
    env = request.getfixturevalue("env")
    log = RequestLog()
    env.client = log.around(env.client)
    yield
    test = request.node.nodeid
    name = re.sub(r"\W+", "-", f"{request.path.stem}-{request.node.name}").strip("-")
    draft = Recording(test, [Step("", env.namespace), *log.steps])
    path = Path(os.environ["LYNQ_RECORD"], f"{name}.json")
    path.write_bytes(msgspec.json.encode(draft))
