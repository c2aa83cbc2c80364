"""Compares rendering a form of 40 strings (Deployment, Service, Ingress) with Go.

Both sides render the same strings from the same 1,000 rows with parsed templates, alternating on
one thread. The digests of their outputs must be equal. The CPU time of the fastest round counts.
Needs Go. Target: no slower than Go.
"""

import hashlib
import json
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from lynq.template import Environment, compile_template, render, render_object

# ruff: noqa: T201 - a bench prints its results


HERE = Path(__file__).parent / "template"
ROWS = 1_000
ROUNDS = 5
PLANS = ("free", "pro", "enterprise", "")


def test_template_speed() -> None:
    form = yaml.safe_load((HERE / "form.yaml").read_text())
    strings = list(_strings(form))
    rows = [_row(number) for number in range(ROWS)]
    program = _build()
    go, digest = [], ""
    ours: list[float] = []
    objects: list[float] = []
    for _ in range(ROUNDS):
        result = _run_go(program, strings, rows)
        go.append(result["nanoseconds"] / 1e9)
        digest = result["digest"]
        ours.append(_time_strings(strings, rows, digest))
        objects.append(_time_objects(form, rows))
    count = len(strings) * ROWS
    print(f"\n{len(strings)} strings x {ROWS} rows, best of {ROUNDS}, CPU time of one thread")
    print(f"Go text/template      {min(go) / count * 1e6:6.2f} µs per string")
    print(f"lynq.template         {min(ours) / count * 1e6:6.2f} µs per string")
    print(f"  as whole manifests  {min(objects) / count * 1e6:6.2f} µs per string")
    print(f"lynq.template is {min(go) / min(ours):.2f} times as fast as Go")
    print(f"compiling costs       {_time_compiling(strings) * 1e6:6.0f} µs per string, once")


def _strings(value: object) -> Iterator[str]:
    """Yield every templated string of a form in order."""
    if isinstance(value, str) and "{{" in value:
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)


def _row(number: int) -> dict[str, str]:
    """Return a row of text columns as a database source yields it."""
    uid = f"tenant-{number:05d}"
    return {
        "uid": uid,
        "activate": str(number % 2),
        "namespace": f"ns-{number % 50}",
        "planId": PLANS[number % len(PLANS)],
        "region": ("EU-West-1", "US-East-2")[number % 2],
        "owner": f"Owner of {uid}",
        "email": f"admin@{uid}.example.com",
        "config": f"key=value-{number}\nother=thing",
        "replicas": str(1 + number % 5),
        "version": f"1.{number % 9}.{number % 7}",
        "registry": "registry.example.com/team",
        "image": "api-server",
        "port": str(8000 + number % 100),
        "dbUser": f"user{number}",
        "dbPassword": hashlib.sha256(uid.encode()).hexdigest()[:24],
        "dbHost": f"db-{number % 10}.internal",
        "logLevel": ("", "debug", "warn")[number % 3],
        "host": f"{uid}.example.com",
        "path": "/",
        "featureA": "search",
        "featureB": "billing",
        "banner": ("", "  welcome to the service ")[number % 2],
        "cpu": f"{100 + number % 4 * 50}m",
        "memory": str(128 * (1 + number % 4)),
    }


def _build() -> Path:
    program = Path(tempfile.mkdtemp()) / "gorender"
    subprocess.run(["go", "build", "-o", program, "."], cwd=HERE / "gorender", check=True)
    return program


def _run_go(program: Path, strings: list[str], rows: list[dict[str, str]]) -> Any:
    request = json.dumps({"strings": strings, "rows": rows, "rounds": 2})
    result = subprocess.run([program], input=request, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(result.stdout)


def _time_strings(strings: list[str], rows: list[dict[str, str]], digest: str) -> float:
    started = time.process_time()
    rendered = [render(source, row) for row in rows for source in strings]
    took = time.process_time() - started
    ours = hashlib.sha256("".join(f"{text}\0" for text in rendered).encode()).hexdigest()
    assert ours == digest, "Go and lynq.template do not render the same"
    return took


def _time_objects(form: list[dict[str, object]], rows: list[dict[str, str]]) -> float:
    environment = Environment()
    started = time.process_time()
    for row in rows:
        for manifest in form:
            render_object(manifest, row, environment)
    return time.process_time() - started


def _time_compiling(strings: list[str]) -> float:
    different = sorted(set(strings))
    started = time.process_time()
    for source in different:
        compile_template(source + "{{/**/}}")
    return (time.process_time() - started) / len(different)
