"""A form, a row and a webhook client that try to stop the operator, until they are cancelled."""

import asyncio
import itertools
import json
import ssl
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from lynq.kube.errors import ApiError
from operated.environment import FORMS, Environment, Object, config_map

BOMB: Final = '{{ range until 100000 }}{{ $x := sha256sum (printf "%d-%s" . $.plan) }}{{ end }}'
DERIVED: Final = '{{ range until 20 }}{{ derivePassword 1 "long" "p" "u" "s" }}{{ end }}'

VALUES: Final = {
    "dots": "." * 30_000,
    "more dots": "." * 190_000,
    "unclosed class": "[" + r"\p{L}" * 66,
    "unclosed classes": "[" + r"\p{L}" * 400,
    "nested repeats": "(" * 300 + "a" + "*)" * 300,
    "alternatives": "(a|aa|a?)*" * 150,
    "certificate": "-----BEGIN X-----\n" + "a:b\n" * 36_000,
    "many certificates": "-----BEGIN X-----\n" * 9_000,
    "lists": "[" * 95_000,
    "objects": '{"a":' * 30_000,
    "escapes": '"' + "\\u" * 60_000,
    "number": "9" * 190_000,
    "exponent": "1e999999999",
    "template": "{{ .uid }}" * 10_000,
    "colons": "a: " * 60_000,
    "anchors": "&a [*a, *a]\n" * 10_000,
    "quota": "exceeded quota: " * 10_000,
    "hours": "1h" * 90_000,
    "slashes": "https://" + "/" * 180_000,
}
"""Values of a row, each below the limit of a row."""

SINKS: Final = {
    "text": "{{ .plan }}",
    "pattern": '{{ regexMatch .plan "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!" }}',
    "replace": '{{ regexReplaceAll "(a*)*b" .plan "x" }}',
    "replacement": '{{ regexReplaceAll .plan "aaa" .plan }}',
    "certificate": "{{ (buildCustomCert (.plan | b64enc) (.plan | b64enc)).Cert }}",
    "json": "{{ .plan | fromJson | toJson }}",
    "number": "{{ add (.plan | float64) 1 }}",
    "duration": "{{ duration .plan }}",
    "url": "{{ urlParse .plan }}",
    "version": "{{ semver .plan }}",
    "indent": "{{ .plan | nindent 80 | wrap 3 }}",
    "bomb": BOMB,
    "memory": "{{ .plan | repeat 100000 }}",
    "keys": DERIVED,
}
"""What a form does with a value."""


@dataclass
class Attackers:
    """What the attackers do, and how often they have done it."""

    env: Environment
    kubectl: Callable[..., str]
    port: int
    folder: Path
    counts: Counter[str] = field(default_factory=Counter)

    async def run(self) -> None:
        """Attack until canceled."""
        await self.env.create_hub(sync_interval="1s", deletionGuard={"disabled": True})
        for name, text in SINKS.items():
            await self.env.create_form(name, configMaps=[config_map(text), labelled("{{ .plan }}")])
        async with asyncio.TaskGroup() as group:
            for attack in (self.rows(), self.forms(), self.bodies(), self.connections()):
                group.create_task(attack)

    async def rows(self) -> None:
        """Write three hostile rows per second."""
        values = itertools.cycle(VALUES.values())
        while True:
            self.env.set_rows(*((f"evil{number}", 1, next(values)) for number in range(3)))
            self.counts["row"] += 3
            await asyncio.sleep(1)

    async def forms(self) -> None:
        """Change a form every second: bombs, long texts, and names that take long."""
        text = self.folder / "deep.json"
        for number, (name, template) in enumerate(itertools.cycle(hostile_templates().items())):
            patch = {"spec": {"configMaps": [config_map(template), labelled(template)]}}
            with suppress(ApiError):
                await self.env.patch(FORMS, "text", patch)
            if number % 5 == 0:
                text.write_text(deep_form(self.env.namespace, f"deep-{number}"))
                arguments = ("create", "--validate=false", "-f", str(text))
                with suppress(AssertionError):
                    await asyncio.to_thread(self.kubectl, *arguments)
            self.counts[f"form {name}"] += 1
            await asyncio.sleep(1)

    async def bodies(self) -> None:
        """Send each hostile body to each webhook, four at once."""
        slots = asyncio.Semaphore(4)

        async def send(path: str, body: bytes) -> None:
            async with slots:
                await self.post(path, body)

        while True:
            async with asyncio.TaskGroup() as group:
                for body, path in itertools.product(hostile_bodies(), WEBHOOKS):
                    group.create_task(send(path, body))

    async def connections(self) -> None:
        """Hold connections that send nothing, or an endless header; burst, and start again."""
        while True:
            async with asyncio.TaskGroup() as group:
                for number in range(50):
                    group.create_task(self.idle(b"" if number % 2 else b"POST / HTTP/1.1\r\nX: "))
            async with asyncio.TaskGroup() as group:
                for _ in range(50):
                    group.create_task(self.post(WEBHOOKS[0], b"{}"))

    async def idle(self, text: bytes) -> None:
        with suppress(OSError, TimeoutError):
            async with asyncio.timeout(5):
                _, writer = await asyncio.open_connection("127.0.0.1", self.port, ssl=trusting())
                self.counts["connection"] += 1
                try:
                    while True:
                        writer.write(text * 100)
                        await writer.drain()
                        await asyncio.sleep(0.5)
                finally:
                    writer.close()

    async def post(self, path: str, body: bytes) -> None:
        head = f"POST {path} HTTP/1.1\r\nHost: a\r\nContent-Length: {len(body)}\r\n"
        with suppress(OSError, TimeoutError, asyncio.IncompleteReadError):
            async with asyncio.timeout(10):
                reader, writer = await asyncio.open_connection(
                    "127.0.0.1", self.port, ssl=trusting()
                )
                try:
                    writer.write(f"{head}Connection: close\r\n\r\n".encode() + body)
                    await writer.drain()
                    status = await reader.readline()
                    self.counts[f"answer {status[9:12].decode()}"] += 1
                finally:
                    writer.close()


WEBHOOKS: Final = tuple(
    f"/{verb}-operator-lynq-sh-v1-{kind}"
    for verb, kind in (
        ("validate", "lynqform"),
        ("mutate", "lynqform"),
        ("validate", "lynqhub"),
        ("validate", "lynqnode"),
    )
)


def trusting() -> ssl.SSLContext:
    """Trust any server: the attacker does not care."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def labelled(text: str) -> Object:
    """Return a resource with the text in its labels, which the API server denies and quotes."""
    return config_map(
        id="labelled", nameTemplate="{{ .uid }}-labelled", labelsTemplate={"plan": text}
    )


def hostile_templates() -> dict[str, str]:
    """Return templates that take long to parse, to render, or to store."""
    return {
        "bomb": BOMB,
        "nested ranges": "{{ range until 1000 }}" * 20 + "x" + "{{ end }}" * 20,
        "nested parentheses": "{{ " + "(" * 5_000 + "1" + ")" * 5_000 + " }}",
        "recursion": '{{ define "a" }}{{ template "a" . }}{{ template "a" . }}{{ end }}'
        '{{ template "a" . }}',
        "many actions": "{{ .plan }}" * 20_000,
        "pattern": '{{ regexMatch "' + r"[\\p{L}" * 200 + '" .plan }}',
        "unclosed": "{{ " * 50_000,
        "memory": '{{ "x" | repeat 1000000 | repeat 1000000 }}',
    }


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


def deep_form(namespace: str, name: str) -> str:
    """Return a form as deep as the API server accepts it, and deeper than Python recurses.

    Built as text, because the JSON encoder has the same limit.
    """
    nested = '{"a":' * 1_300 + "1" + "}" * 1_300
    manifest = f'{{"apiVersion":"v1","kind":"ConfigMap","deep":{nested}}}'
    entry = f'{{"id":"deep","nameTemplate":"deep","spec":{manifest}}}'
    metadata = f'{{"name":"{name}","namespace":"{namespace}"}}'
    kind = '"apiVersion":"operator.lynq.sh/v1","kind":"LynqForm"'
    return f'{{{kind},"metadata":{metadata},"spec":{{"hubId":"hub","manifests":[{entry}]}}}}'
