"""A form and rows that try to stop the operator, until they are cancelled."""

import asyncio
import itertools
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from lynq.kube.errors import ApiError
from operated.environment import FORMS, Environment, Object, config_map

_FORMS: Final = 16
"""Changes of forms while each attack is tried."""
BOMB: Final = '{{ range until 100000 }}{{ $x := sha256sum (printf "%d-%s" . $.plan) }}{{ end }}'
DERIVED: Final = '{{ range until 3 }}{{ derivePassword 1 "long" "p" "u" "s" }}{{ end }}'

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
    folder: Path
    seconds: float
    """Seconds in which each attack has been tried."""
    counts: Counter[str] = field(default_factory=Counter)

    async def run(self) -> None:
        """Attack until canceled."""
        await self.env.create_hub(sync_interval="1s", deletionGuard={"disabled": True})
        for name, text in SINKS.items():
            await self.env.create_form(name, configMaps=[config_map(text), labelled("{{ .plan }}")])
        async with asyncio.TaskGroup() as group:
            for attack in (self.rows(), self.forms()):
                group.create_task(attack)

    async def rows(self) -> None:
        """Give a row each of the values: each is used by all forms."""
        for name, value in itertools.cycle(VALUES.items()):
            self.env.set_rows(("evil", 1, value))
            self.counts[f"row {name}"] += 1
            await asyncio.sleep(self.seconds / len(VALUES))

    async def forms(self) -> None:
        """Change a form again and again: bombs, long texts, and names that take long."""
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
            await asyncio.sleep(self.seconds / _FORMS)


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
