"""No value of a row, an object or a server changes what a terminal shows beside it.

Every command runs twice on the API server in memory: with a harmless word in each text that is
free, and with a hostile value. A terminal emulator shows the same lines of both, with the value
escaped.
"""

import asyncio
import json
import re
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pyte
import pytest
import yaml
from click.testing import CliRunner, Result

from lynq.api import LynqForm, LynqHub, LynqNode
from lynq.api.crds import build as definitions
from lynq.api.text import one_line, printable, shown
from lynq.cli import connection
from lynq.cli.connection import Cluster, ClusterOptions
from lynq.cli.root import SUBCOMMANDS, lynq
from lynq.kube import Client, Request, Resource, Response, Send
from lynq.kube.resource import CONFIG_MAPS, EVENTS, resource_of
from memory.api_server import MemoryApiServer

HARMLESS = "harmless"
HOSTILE = (
    "x\r\x1b]0;pwn\x07\x1b[2K\x1b[1A  Nothing changes.\x1b[8m"  # escape sequences
    "\x9b2J\x9d0;p\x9c\x85"  # C1
    "a\nb\r\nc\x0bd\x0ce\u2028f\u2029g\x1c"  # line breaks
    "a\u202eb\u2066c\u2069\u200b"  # bidi marks and format characters
    "\x1b[31mr\x1b[0m\t\x08\x00\x7f[red]"  # colors, other controls and markup of rich
)
ONE_LINE = {HOSTILE: "".join(char for char in HOSTILE if char not in "\n\r\t")}
"""The value without what a file has, too: lines and tabs."""
NAMESPACE = "default"
HUBS, FORMS, NODES = (resource_of(kind.definition) for kind in (LynqHub, LynqForm, LynqNode))

CRDS = definitions()

CHANGING = re.compile(
    r"\b\d+(?:[dhms]\d*)*[dhms]\b|\b\d+ s\b|\d\d:\d\d:\d\d|[0-9a-f]{8}-[0-9a-f-]{27}"
    r"|\d+ characters|\^+"
)
GAP = re.compile(r"(?<=\S) {2,}| {2,}(?=\S)")


async def populate(server: MemoryApiServer, value: str) -> None:
    """Create a hub, a form, a node, its objects and events whose free texts are the value."""
    client = server.client()
    condition = {
        "type": "Ready",
        "status": "False",
        "reason": "NotReady",
        "message": value,
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    hub = {
        "metadata": {"name": "hub", "namespace": NAMESPACE},
        "spec": {
            "source": {
                "type": "sqlite",
                "sqlite": {"path": "rows.db", "table": "tenants"},
                "syncInterval": "1h",
            },
            "valueMappings": {"uid": "uid", "activate": "active"},
            "extraValueMappings": {"plan": "plan"},
        },
    }
    status = {
        "conditions": [condition],
        "desired": 1,
        "observedGeneration": 1,
        "rejectedRows": {"count": 1, "rows": [{"uid": value, "reason": value, "message": value}]},
    }
    await create(client, HUBS, hub, status)
    manifest = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"note": "{{ .plan }}"}}
    entry = {
        "id": "settings",
        "nameTemplate": "{{ .uid }}-settings",
        "conflictPolicy": "Force",
        "spec": manifest,
    }
    form = {
        "metadata": {"name": "web", "namespace": NAMESPACE},
        "spec": {"hubId": "hub", "configMaps": [entry]},
    }
    await create(client, FORMS, form, {"conditions": [condition], "desiredNodes": 1})
    node = {
        "metadata": {
            "name": "acme-web",
            "namespace": NAMESPACE,
            "labels": {"lynq.sh/hub": "hub", "lynq.sh/uid": "acme"},
            "annotations": {"lynq.sh/extra": json.dumps({"plan": value}), "lynq.sh/activate": "1"},
        },
        "spec": {
            "uid": "acme",
            "templateRef": "web",
            "configMaps": [{**entry, "nameTemplate": "acme-settings"}],
        },
    }
    resource = {
        "id": "settings",
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "namespace": NAMESPACE,
        "name": "acme-settings",
        "state": "Failed",
        "reason": "ApplyFailed",
        "message": value,
        "fieldsDigest": "abc",
    }
    status = {
        "observedGeneration": 1,
        "conditions": [condition],
        "desiredResources": 1,
        "failedResources": 1,
        "resources": [resource],
    }
    created = await create(client, NODES, node, status)
    marks = {"lynq.sh/node": "acme-web", "lynq.sh/node-namespace": NAMESPACE}
    await client.create(
        CONFIG_MAPS,
        {
            "metadata": {
                "name": "acme-settings",
                "namespace": NAMESPACE,
                "labels": marks,
                "annotations": {"example.com/note": value},
            },
            "data": {"note": f"live {value}", "other": value},
        },
    )
    retained = {
        "lynq.sh/orphaned-reason": value,
        "lynq.sh/orphaned-at": "2026-01-01T00:00:00Z",
    }
    await client.create(
        CONFIG_MAPS,
        {
            "metadata": {
                "name": "old",
                "namespace": NAMESPACE,
                "labels": {"lynq.sh/orphaned": "true"},
                "annotations": retained,
            }
        },
    )
    pods = Resource("", "v1", "Pod", "pods", namespaced=True)
    labels = {"app.kubernetes.io/name": "lynq"}
    await client.create(
        pods, {"metadata": {"name": "lynq-0", "namespace": NAMESPACE, "labels": labels}}
    )
    for name, kind in (("hub", "LynqHub"), ("acme-web", "LynqNode")):
        await client.create(
            EVENTS,
            {
                "metadata": {"name": f"{name}.1", "namespace": NAMESPACE},
                "involvedObject": {
                    "apiVersion": "operator.lynq.sh/v1",
                    "kind": kind,
                    "name": name,
                    "namespace": NAMESPACE,
                    "uid": created["metadata"]["uid"],
                },
                "type": "Warning",
                "reason": value,
                "message": value,
                "lastTimestamp": "2026-01-01T00:00:00Z",
            },
        )


async def create(client: Client, resource: Any, obj: dict[str, Any], status: Any) -> dict[str, Any]:
    created: dict[str, Any] = await client.create(resource, obj)
    name = obj["metadata"]["name"]
    await client.patch(resource, name, {"status": status}, NAMESPACE, subresource="status")
    return created


Lynq = Callable[[str, Sequence[str]], Result]


@pytest.fixture
def run_lynq(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lynq:
    """Run a command on a cluster and files that are full of a value."""

    def run(value: str, arguments: Sequence[str]) -> Result:
        server = MemoryApiServer()
        for definition in CRDS:
            server.install(definition)
        asyncio.run(populate(server, value))

        async def answer_logs(request: Request, send: Send) -> Response:
            if request.path.split("?")[0].endswith("/log"):
                return Response(200, {}, f"INFO\t{ONE_LINE.get(value, value)}\n".encode())
            return await send(request)

        @asynccontextmanager
        async def connect(options: ClusterOptions) -> AsyncIterator[Cluster]:
            client = server.client().intercepted(answer_logs)
            yield Cluster(client, NAMESPACE, options.all_namespaces)

        monkeypatch.setattr(connection.ClusterOptions, "connect", connect)
        write_files(tmp_path, value)
        monkeypatch.chdir(tmp_path)
        return CliRunner().invoke(lynq, list(arguments))

    return run


def write_files(folder: Path, value: str) -> None:
    """Write a database, forms, rows and cases with the value."""
    (folder / "rows.db").unlink(missing_ok=True)
    with closing(sqlite3.connect(folder / "rows.db")) as connection, connection:
        connection.execute("CREATE TABLE tenants (uid TEXT, active INTEGER, plan TEXT)")
        rows = [("acme", 1, f"new {value}"), (long_uid(value), 1, value)]
        connection.executemany("INSERT INTO tenants VALUES (?, ?, ?)", rows)
    container = {"name": value, "image": "a:latest"}
    manifest = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "spec": {"template": {"spec": {"containers": [container]}}},
    }
    entry = {"id": "web", "nameTemplate": "{{ .uid }}", "spec": manifest}
    form = {
        "apiVersion": "operator.lynq.sh/v1",
        "kind": "LynqForm",
        "metadata": {"name": "web"},
        "spec": {"hubId": "hub", "deployments": [entry]},
    }
    unknown = {**entry, "dependIds": [value]}
    invalid = {**form, "spec": {"hubId": "hub", "deployments": [unknown]}}
    (folder / "invalid.yaml").write_text(yaml.safe_dump(invalid))
    failing = {**entry, "labelsTemplate": {"a": "{{ fail `" + ONE_LINE.get(value, value) + "` }}"}}
    failing = {**form, "spec": {"hubId": "hub", "deployments": [failing]}}
    (folder / "failing.yaml").write_text(yaml.safe_dump(failing))
    (folder / "form.yaml").write_text(yaml.safe_dump(form))
    (folder / "cases" / "expected").mkdir(parents=True, exist_ok=True)
    case = {"form": "../form.yaml", "rows": [{"uid": "acme", "plan": value}]}
    (folder / "cases" / "web.yaml").write_text(yaml.safe_dump(case))
    (folder / "cases" / "expected" / "web.yaml").write_text(f"- {ONE_LINE.get(value, value)}")


def screen(text: str, value: str) -> list[str]:
    """Return the lines that a terminal shows of a text, with the harmless word for the value."""
    terminal = pyte.Screen(4000, 200)
    pyte.Stream(terminal).feed(text.replace("\n", "\r\n"))
    assert terminal.title == ""
    # As `terminal.display`, without the cells that nothing was written to.
    rows = (terminal.buffer[number] for number in range(terminal.lines))
    lines = "\n".join(_line(row).rstrip() for row in rows).rstrip()
    # A value in quotes, which is cut, a cell, a sentence, and a line of a file.
    for form in (
        printable(long_uid(value)),
        printable(value),
        shown(value),
        one_line(value, 2000),
        shown(ONE_LINE.get(value, value)),
    ):
        lines = lines.replace(form, HARMLESS)
    return GAP.sub("  ", CHANGING.sub("…", lines)).split("\n")


def _line(row: Mapping[int, Any]) -> str:
    return "".join(row[column].data for column in range(max(row, default=-1) + 1))


def long_uid(value: str) -> str:
    """Return a uid that is rejected for its length."""
    return f"{value}{'x' * 80}"


COMMANDS: dict[str, list[str]] = {
    "diff": ["diff", "acme-web"],
    "doctor": ["doctor"],
    "events": ["events"],
    "explain": ["explain", "acme"],
    "get": ["get", "-o", "wide"],
    "import": ["import", "--dry-run", "--hub", "hub"],
    "lint": ["lint", "-f", "form.yaml"],
    "logs": ["logs"],
    "orphans": ["orphans"],
    "plan": ["plan", "--hub", "hub", "--sqlite-dir", "."],
    "rejected": ["rejected", "hub"],
    "render": ["render", "-f", "failing.yaml", "--row", "uid=acme", "-o", "table"],
    "source": ["source", "check", "hub", "--show-values", "--sqlite-dir", "."],
    "top": ["top"],
    "trace": ["trace", "configmap/acme-settings"],
    "tree": ["tree", "hub"],
    "validate": ["validate", "-f", "invalid.yaml"],
    "wait": ["wait", "node/acme-web", "--timeout", "1s"],
}
WITHOUT_VALUES = {
    "approve": "prints the name of the hub",
    "cluster": "prints names and paths of this machine",
    "completion": "prints a script",
    "dashboard": "prints its address",
    "demo": "prints its own table",
    "export": "prints names of files",
    "install": "prints names of CRDs",
    "pause": "prints the name of the object",
    "reconcile": "prints the name of the node",
    "resume": "prints the name of the object",
    "run": "logs",
    "schema": "prints a schema",
    "sync": "prints the name of the hub",
    "test": "prints a diff of YAML: test_diff_has_the_lines_of_files",
}


def test_every_command_is_tried_or_prints_no_value() -> None:
    assert COMMANDS.keys() | WITHOUT_VALUES.keys() == SUBCOMMANDS.keys()


@pytest.mark.parametrize("name", COMMANDS)
def test_screen_has_the_lines_of_harmless_values(run_lynq: Lynq, name: str) -> None:
    harmless = run_lynq(HARMLESS, COMMANDS[name])
    hostile = run_lynq(HOSTILE, COMMANDS[name])
    if name not in {"import", "top", "trace"}:
        assert HARMLESS in harmless.output
    for stream in ("stdout", "stderr"):
        text = getattr(hostile, stream)
        assert text.replace("\n", "").isprintable()
        assert screen(text, HOSTILE) == screen(getattr(harmless, stream), HARMLESS)


def test_planned_nodes_have_no_value_of_their_rows(run_lynq: Lynq) -> None:
    plan = json.loads(run_lynq("hunter2", [*COMMANDS["plan"], "-o", "json"]).stdout)
    nodes = [change for change in plan["changes"] if change["kind"] == "LynqNode"]
    objects = [change for change in plan["changes"] if change["kind"] == "ConfigMap"]
    assert nodes
    assert "hunter2" not in json.dumps(nodes)
    assert "hunter2" in json.dumps(objects)


def test_comment_has_no_value_of_a_row(run_lynq: Lynq) -> None:
    arguments = [*COMMANDS["plan"], "-o", "markdown"]
    assert "+   data.note: (not shown)" in run_lynq("hunter2", arguments).stdout
    assert "new hunter2" in run_lynq("hunter2", [*arguments, "--show-values"]).stdout


def test_diff_has_the_lines_of_files(run_lynq: Lynq) -> None:
    result = run_lynq("\x9b2J\x1b[1A\u2028\x85\u202e", ["test", "cases"])
    first, *lines = result.stdout.removesuffix("\n").split("\n")
    assert first.startswith("FAIL")
    assert len(lines) == len(run_lynq(HARMLESS, ["test", "cases"]).stdout.split("\n")) - 2
    assert all(line.isprintable() for line in lines)


@pytest.mark.parametrize("name", ["diff", "events", "get", "orphans"])
def test_encoders_escape_in_their_own_way(run_lynq: Lynq, name: str) -> None:
    arguments = [each for each in COMMANDS[name] if each not in {"-o", "wide"}]
    outputs = [run_lynq(HOSTILE, [*arguments, "-o", each]).stdout for each in ("json", "yaml")]
    for text in outputs:
        assert text.replace("\n", "").isprintable()
        assert "\\u202e" in text
        assert any(HOSTILE in leaf for leaf in leaves(yaml.safe_load(text)))


def leaves(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from leaves(item)
    else:
        yield str(value)
