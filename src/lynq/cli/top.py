"""`lynq top`: rows, nodes, and the load of the operator."""

import asyncio
import os
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from functools import partial
from typing import Any, Final

import click

from lynq.api import LynqHub
from lynq.cli.connection import Cluster, listing_command
from lynq.cli.exit_codes import CommandError
from lynq.cli.lookup import HUBS, list_allowed
from lynq.cli.operator_pods import MetricsService, metrics_service
from lynq.cli.output import (
    REPORT_FORMATS,
    Column,
    OutputFormat,
    format_age,
    output_option,
    print_data,
    print_line,
    print_note,
    print_rows,
    print_table,
)
from lynq.core.explain.usage import OperatorUsage, Sample, operator_usage
from lynq.kube.errors import KubeError, Unauthorized
from lynq.tls.context import loopback_client_context

_TIMEOUT: Final = 10.0
_LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")

_COLUMNS: Final[tuple[Column[LynqHub], ...]] = (
    Column("NAMESPACE", lambda hub: hub.metadata.namespace),
    Column("HUB", lambda hub: hub.metadata.name),
    Column("NODES", lambda hub: str(hub.status.desired)),
    Column("READY", lambda hub: str(hub.status.ready)),
    Column("FAILED", lambda hub: str(hub.status.failed)),
    Column("REJECTED", lambda hub: str(_rejected(hub))),
    Column("READ", lambda hub: format_age(hub.status.last_sync_time)),
)


@click.command()
@click.option(
    "--metrics-url", metavar="URL", help="Metrics of the operator. Default: its service, by proxy."
)
@click.option(
    "--operator-namespace", metavar="NAME", help="Namespace of the operator. Default: any."
)
@click.option(
    "--interval", default=1.0, show_default=True, metavar="SECONDS", help="Time of the rates."
)
@output_option(REPORT_FORMATS)
@listing_command
async def top(
    cluster: Cluster,
    *,
    metrics_url: str | None,
    operator_namespace: str | None,
    interval: float,
    output: OutputFormat,
) -> None:
    """Show rows, nodes and the load of the operator.

    Nodes come from the status of the hubs. Queue, latency and requests come from the metrics of the
    operator, through the API server's proxy or from --metrics-url; without them, the rest is shown.
    Metrics that need a token get $LYNQ_METRICS_TOKEN from --metrics-url; the proxy passes none on.

    \b
    Examples:
      lynq top -A
      lynq top --metrics-url http://127.0.0.1:8080/metrics
    """
    listed = await list_allowed(cluster, HUBS, LynqHub, cluster.listed_namespace)
    hubs = listed or []
    usage, problem = None, ""
    try:
        usage = await _usage(cluster, metrics_url, operator_namespace, interval)
    except (CommandError, KubeError) as error:
        problem = str(error)
    if not output.is_table:
        data = {"hubs": [_data(hub) for hub in hubs], "operator": asdict(usage) if usage else None}
        print_data(data, output)
        return
    if hubs:
        print_table(_COLUMNS, sorted(hubs, key=lambda hub: hub.metadata.key))
    elif listed is not None:
        print_note("No hubs found.")
    if usage:
        print_line()
        print_rows(_rows(usage))
    else:
        print_note(f"The load of the operator is unknown: {problem}")


async def _usage(
    cluster: Cluster, url: str | None, namespace: str | None, interval: float
) -> OperatorUsage:
    read = await _reader(cluster, url, namespace)
    before = _samples(await read())
    await asyncio.sleep(interval)
    return operator_usage(before, _samples(await read()), interval)


async def _reader(
    cluster: Cluster, url: str | None, namespace: str | None
) -> Callable[[], Awaitable[str]]:
    """Return a function that reads the metrics."""
    if url:
        return partial(asyncio.to_thread, _fetch, url)
    return partial(_fetch_by_proxy, cluster, await metrics_service(cluster, namespace))


async def _fetch_by_proxy(cluster: Cluster, service: MetricsService) -> str:
    try:
        return (await cluster.client.raw(service.proxy_path)).decode()
    except Unauthorized:
        raise CommandError(
            "The metrics need a token, which the API server's proxy does not pass on. Forward "
            f"the port: {service.forwarding}"
        ) from None


def _fetch(url: str) -> str:
    if not url.startswith(("http://", "https://")):
        raise CommandError(f'"{url}" is not an http:// or https:// URL.')
    token = os.environ.get("LYNQ_METRICS_TOKEN")
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    try:
        request = urllib.request.Request(url, headers=headers)  # noqa: S310 - checked
        # The certificate of a pod does not name this machine, to which its port is forwarded.
        is_local = urllib.parse.urlsplit(url).hostname in _LOOPBACK
        context = loopback_client_context() if is_local else None
        with urllib.request.urlopen(  # noqa: S310 - checked
            request, timeout=_TIMEOUT, context=context
        ) as response:
            text: str = response.read().decode()
            return text
    except (urllib.error.URLError, OSError, ValueError) as error:
        raise CommandError(f"{url} cannot be read: {error}.") from None


def _samples(text: str) -> list[Sample]:
    from prometheus_client.parser import (  # noqa: PLC0415 - slow to import
        text_string_to_metric_families,
    )

    try:
        families = list(text_string_to_metric_families(text))
    except ValueError:
        raise CommandError("The endpoint does not answer with metrics.") from None
    return [
        (sample.name, sample.labels, sample.value)
        for family in families
        for sample in family.samples
    ]


def _rows(usage: OperatorUsage) -> list[tuple[str, str]]:
    p50, p99 = _seconds(usage.row_to_ready_p50), _seconds(usage.row_to_ready_p99)
    pace = f"{usage.reconciles_per_second:.1f}/s, p99 {_seconds(usage.reconcile_p99)}"
    return [
        ("queue", f"{usage.queued} keys wait, {usage.active} reconciles in progress"),
        ("row to ready", f"p50 {p50}, p99 {p99}"),
        ("reconciles", f"{pace}, {usage.errors} failed since the start"),
        ("requests", f"{usage.requests_per_second:.1f}/s to the API server"),
    ]


def _seconds(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value * 1000:.0f} ms" if value < 1 else f"{value:.1f} s"


def _rejected(hub: LynqHub) -> int:
    return hub.status.rejected_rows.count if hub.status.rejected_rows else 0


def _data(hub: LynqHub) -> dict[str, Any]:
    status = hub.status
    return {
        "namespace": hub.metadata.namespace,
        "name": hub.metadata.name,
        "desired": status.desired,
        "ready": status.ready,
        "failed": status.failed,
        "rejected": _rejected(hub),
    }
