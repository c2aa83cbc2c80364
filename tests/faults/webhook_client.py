"""A webhook client that tries to stop the operator, as a program: `webhook_client.py PORT`.

A process of its own, because it works as hard as the operator. It ends with SIGTERM, and prints how
often it has done what.
"""

import asyncio
import itertools
import json
import os
import signal
import ssl
import sys
from collections import Counter
from contextlib import suppress
from typing import Final

from faults.attackers import hostile_templates
from operated.environment import Object, config_map

WEBHOOKS: Final = tuple(
    f"/{verb}-operator-lynq-sh-v1-{kind}"
    for verb, kind in (
        ("validate", "lynqform"),
        ("mutate", "lynqform"),
        ("validate", "lynqhub"),
        ("validate", "lynqnode"),
    )
)

_MINUTE: Final = 40.0
"""Seconds of pauses in which each body is sent to each webhook."""


class WebhookClient:
    """Sends hostile requests to the port of the webhooks."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._tls = ssl.create_default_context()
        self._tls.check_hostname, self._tls.verify_mode = False, ssl.CERT_NONE
        self.counts = Counter[str]()

    async def run(self) -> None:
        """Attack until canceled."""
        async with asyncio.TaskGroup() as group:
            for attack in (self.bodies(), self.connections()):
                group.create_task(attack)

    async def bodies(self) -> None:
        """Send each hostile body to each webhook within a minute."""
        requests = list(itertools.product(hostile_bodies(), WEBHOOKS))
        for body, path in itertools.cycle(requests):
            await self._post(path, body)
            await asyncio.sleep(_MINUTE / len(requests))

    async def connections(self) -> None:
        """Hold connections that send nothing, or an endless header; burst, and start again."""
        while True:
            async with asyncio.TaskGroup() as group:
                for number in range(50):
                    group.create_task(self._idle(b"" if number % 2 else b"POST / HTTP/1.1\r\nX: "))
            async with asyncio.TaskGroup() as group:
                for _ in range(20):
                    group.create_task(self._post(WEBHOOKS[0], b"{}"))

    async def _idle(self, text: bytes) -> None:
        with suppress(OSError, TimeoutError):
            async with asyncio.timeout(5):
                _, writer = await asyncio.open_connection("127.0.0.1", self._port, ssl=self._tls)
                self.counts["connection"] += 1
                try:
                    while True:
                        writer.write(text * 100)
                        await writer.drain()
                        await asyncio.sleep(0.5)
                finally:
                    writer.close()

    async def _post(self, path: str, body: bytes) -> None:
        head = f"POST {path} HTTP/1.1\r\nHost: a\r\nContent-Length: {len(body)}\r\n"
        with suppress(OSError, TimeoutError, asyncio.IncompleteReadError):
            async with asyncio.timeout(10):
                reader, writer = await asyncio.open_connection(
                    "127.0.0.1", self._port, ssl=self._tls
                )
                try:
                    writer.write(f"{head}Connection: close\r\n\r\n".encode() + body)
                    await writer.drain()
                    status = await reader.readline()
                    self.counts[f"answer {status[9:12].decode()}"] += 1
                finally:
                    writer.close()


def hostile_bodies() -> list[bytes]:
    """Return bodies of webhook requests."""
    forms = [
        {"hubId": "hub", "configMaps": [config_map(text)]} for text in hostile_templates().values()
    ]
    resources = [config_map(id=f"r{number}") for number in range(2_000)]
    dependent = [entry | {"dependIds": [f"r{n}" for n in range(200)]} for entry in resources]
    return [
        *(review(form) for form in forms),
        review({"hubId": "hub", "configMaps": resources}),
        review({"hubId": "hub", "configMaps": dependent}),
        b'{"a":' * 200_000,
        b"[" * 1_000_000,
        b'{"request":{"object":' + b"[" * 500_000 + b"]" * 500_000 + b"}}",
        b'"' + b"\\u0000" * 400_000 + b'"',
        b"9" * 2_000_000,
        b"x" * 4_000_000,
        b"\0" * 100_000,
        b"",
    ]


def review(spec: Object) -> bytes:
    """Return an AdmissionReview of a form."""
    kind = {"group": "operator.lynq.sh", "version": "v1", "kind": "LynqForm"}
    metadata = {"name": "evil", "namespace": "default"}
    obj = {"apiVersion": "operator.lynq.sh/v1", "kind": "LynqForm"}
    request = {
        "uid": "1",
        "kind": kind,
        "operation": "CREATE",
        "namespace": "default",
        "name": "evil",
        "userInfo": {"username": "system:admin", "groups": ["system:masters"]},
        "object": obj | {"metadata": metadata, "spec": spec},
    }
    version = "admission.k8s.io/v1"
    return json.dumps(
        {"apiVersion": version, "kind": "AdmissionReview", "request": request}
    ).encode()


async def main(port: int) -> None:
    """Attack until SIGTERM, and print the counts."""
    # A client elsewhere takes no time from the operator.
    os.nice(10)
    client = WebhookClient(port)
    attacking = asyncio.ensure_future(client.run())
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, attacking.cancel)
    await asyncio.wait([attacking])
    print(json.dumps(client.counts))  # noqa: T201
    if not attacking.cancelled():
        attacking.result()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
