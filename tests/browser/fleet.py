"""A fleet to look at: three hubs, four forms, tenants that run and tenants that do not."""

import re
import sqlite3
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass

from cluster.cli.tenants import web_deployment, web_service
from operated.environment import Environment, Object
from operated.running_operator import running_operator
from waiting import eventually

MARKUP = "<img src=x onerror=window.injected=1>"
"""A value that runs code in a page that takes it for markup."""
LONG_NAME = "the-tenant-with-a-name-that-fits-in-no-column"
BROKEN_IMAGE = "nonexistent"
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the table `tenants`."""

    uid: str
    plan: str = "app"
    """Part of the image; BROKEN_IMAGE cannot be pulled."""
    label: str = "standard"
    """A label of the ConfigMap; MARKUP is refused by the API server."""
    note: str = ""


def write_rows(env: Environment, rows: Iterable[Row], file: str = "rows.db") -> None:
    """Replace all rows of a SQLite file."""
    values = [(row.uid, row.plan, row.label, row.note) for row in rows]
    with closing(sqlite3.connect(env.directory / file)) as connection, connection:
        connection.execute(f"PRAGMA journal_mode={env.journal_mode}")
        connection.execute("CREATE TABLE IF NOT EXISTS tenants (uid, active, plan, label, note)")
        connection.execute("DELETE FROM tenants")
        connection.executemany("INSERT INTO tenants VALUES (?, 1, ?, ?, ?)", values)


ROWS = (
    *map(Row, ("acme", "globex", "hooli", "initech", "stark", "umbrella", "wayne", LONG_NAME)),
    Row("cyberdyne", plan=BROKEN_IMAGE),
    Row("tyrell", plan=BROKEN_IMAGE),
    Row("wonka", plan=BROKEN_IMAGE),
    # Every field that a row can reach has markup in it.
    Row("vandelay", label=MARKUP, note=MARKUP),
    Row("piedpiper", note=MARKUP),
    Row(MARKUP),
)
PARTNERS = tuple(Row(f"partner-{number}") for number in range(1, 5))


def _settings(**parts: object) -> Object:
    manifest = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"labels": {"tier": "{{ .label }}"}, "annotations": {"note": "{{ .note }}"}},
        "data": {"note": "{{ .note }}", "plan": "{{ .plan }}"},
    }
    return {"id": "settings", "nameTemplate": "{{ .uid }}-settings", "spec": manifest} | parts


def _labels(**parts: object) -> Object:
    manifest = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"note": "{{ .note }}"}}
    return {"id": "profile", "nameTemplate": "{{ .uid }}-profile", "spec": manifest} | parts


_COLUMNS = {"plan": "plan", "label": "label", "note": "note"}


@asynccontextmanager
async def running_fleet(
    env: Environment, rows: Iterable[Row] = ROWS, partners: Iterable[Row] = PARTNERS
) -> AsyncIterator[None]:
    """Run the operator until the fleet has settled: ready, or failed for good."""
    rows = tuple(rows)
    write_rows(env, rows)
    write_rows(env, partners, "partners.db")
    mapped: Object = {"extraValueMappings": _COLUMNS}
    await env.create_hub("customers", **mapped)
    partners_file = {"sqlite": {"path": "partners.db", "table": "tenants"}}
    guard = {"maxCount": 1, "maxPercent": 10, "confirmAfter": "0s"}
    await env.create_hub("partners", source=partners_file, deletionGuard=guard, **mapped)
    missing = {"sqlite": {"path": "previews.db", "table": "tenants"}}
    await env.create_hub("previews", source=missing, **mapped)
    workload = {"deployments": [web_deployment()], "services": [web_service()]}
    await env.create_form("web", "customers", configMaps=[_settings()], **workload)
    await env.create_form("profile", "customers", configMaps=[_labels()])
    await env.create_form("portal", "partners", configMaps=[_labels()])
    async with running_operator(env):
        await eventually(lambda: _settled(env, rows), within=60, every=0.25)
        yield


async def hold_deletions(env: Environment) -> None:
    """Remove the rows of most partners: the guard of their hub holds the deletions."""
    write_rows(env, PARTNERS[:1], "partners.db")
    await env.force_sync("partners")
    await env.wait_for_condition("DeletionHeld", "True", "partners")


async def _settled(env: Environment, rows: tuple[Row, ...]) -> bool:
    nodes = await env.nodes()
    for row in rows:
        if not _LABEL.fullmatch(row.uid):
            # The hub rejects the row.
            continue
        node = nodes.get(f"{row.uid}-web", {})
        conditions = {
            condition["type"]: condition["status"]
            for condition in node.get("status", {}).get("conditions", [])
        }
        is_broken = row.plan == BROKEN_IMAGE or not _LABEL.fullmatch(row.label)
        assert conditions.get("Ready") == ("False" if is_broken else "True"), (row.uid, conditions)
    return True
