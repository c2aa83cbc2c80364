"""The flags of `lynq run`: those of the Go operator with its defaults, and additional ones."""

from collections.abc import Callable
from functools import reduce
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from lynq.cli.connection import connection_options
from lynq.cli.goflags import address, boolean, duration, level
from lynq.telemetry.logs import ENCODINGS, STACKTRACE_LEVELS, TIME_ENCODINGS

Command = TypeVar("Command", bound=Callable[..., Any])
Decorator = Callable[[Any], Any]


def run_flags(command: Command) -> Command:
    """Add all flags."""
    flags = [flag for group in FLAG_GROUPS.values() for flag in group]
    return reduce(
        lambda decorated, flag: flag(decorated), reversed(flags), connection_options(command)
    )


def _boolean(name: str, text: str, *, default: bool = False) -> Decorator:
    value = str(default).lower()
    text = f"{text}  [default: {value}]"
    # Mostly used without a value, so the help has no placeholder for it.
    return click.option(name, type=boolean, default=value, metavar=" ", help=text)


def _workers(kind: str, default: int) -> Decorator:
    return click.option(
        f"--{kind}-concurrency",
        type=click.IntRange(min=1, max=1000),
        default=default,
        show_default=True,
        help=f"Number of Lynq{kind.capitalize()}s that are reconciled concurrently.",
    )


def _address(name: str, default: str, text: str) -> Decorator:
    return click.option(
        name,
        type=address,
        default=default,
        show_default=True,
        help=f"{text}, such as :8081 or 127.0.0.1:8081. Use 0 to disable it.",
    )


def _certificate(server: str, purpose: str) -> tuple[Decorator, ...]:
    return (
        click.option(
            f"--{server}-cert-path",
            type=click.Path(file_okay=False),
            default="",
            help=f"Directory of the certificate {purpose}",
        ),
        click.option(
            f"--{server}-cert-name",
            default="tls.crt",
            show_default=True,
            help="File name of the certificate.",
        ),
        click.option(
            f"--{server}-cert-key",
            default="tls.key",
            show_default=True,
            help="File name of the private key.",
        ),
    )


_SERVERS: Final = (
    _address("--metrics-bind-address", "0", "Address of /metrics"),
    _boolean(
        "--metrics-secure",
        "Serve /metrics over HTTPS, with authentication and authorization.",
        default=True,
    ),
    _boolean(
        "--metrics-per-node",
        "Expose metrics per LynqNode. Disable it in large installations to expose them per "
        "namespace.",
        default=True,
    ),
    *_certificate(
        "metrics",
        "of /metrics; reloaded when it changes. Without it, a self-signed certificate is created.",
    ),
    _address("--health-probe-bind-address", ":8081", "Address of /healthz and /readyz"),
    _boolean(
        "--enable-http2",
        "Accepted for compatibility. All servers use HTTP/1.1 only; a warning is logged if this is "
        "set.",
    ),
    _boolean("--enable-pprof", "Serve profiles on 127.0.0.1:6060/debug/pprof/."),
)

_WEBHOOKS: Final = (
    _boolean(
        "--enable-webhooks",
        "Serve the admission webhooks. Without them, invalid objects are stored, and reported in "
        "their status.",
        default=True,
    ),
    click.option(
        "--webhook-port",
        type=click.IntRange(min=0, max=65535),
        default=9443,
        show_default=True,
        help="Port of the webhooks on all interfaces. 0 selects a free port.",
    ),
    *_certificate(
        "webhook",
        "of the webhooks; reloaded when it changes. Without it, the certificate in "
        "/tmp/k8s-webhook-server/serving-certs is used. If there is none, the operator creates and "
        "rotates certificates of its own CA.",
    ),
    click.option(
        "--webhook-client-ca-file",
        type=click.Path(dir_okay=False),
        default="",
        metavar="PATH",
        help="File with the CA of client certificates. With it, the webhooks answer only clients "
        "with a certificate of this CA: configure one in the API server. Use a CA that issues "
        "nothing else.",
    ),
    click.option(
        "--webhook-service-name",
        default="lynq-webhook-service",
        show_default=True,
        metavar="NAME",
        help="Service of the webhooks, for which the operator's own certificate is issued.",
    ),
    click.option(
        "--webhook-secret-name",
        default="webhook-server-cert",
        show_default=True,
        metavar="NAME",
        help="Secret of that certificate.",
    ),
    click.option(
        "--webhook-namespace",
        default="",
        metavar="NAME",
        help="Namespace of that Service and Secret. Default: the namespace of the pod, or default.",
    ),
    click.option(
        "--webhook-configuration-prefix",
        default="lynq-",
        show_default=True,
        metavar="PREFIX",
        help="Prefix of the webhook configurations in which the caBundle is set: "
        "PREFIXmutating-webhook-configuration and PREFIXvalidating-webhook-configuration.",
    ),
)

_CONTROLLERS: Final = (
    _workers("hub", 3),
    _workers("form", 5),
    _workers("node", 10),
    click.option(
        "--force-reapply-interval",
        type=duration,
        default="10m",
        show_default=True,
        help="Interval after which every resource is applied again, even without a change.",
    ),
    click.option(
        "--sqlite-dir",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        help="Directory of SQLite databases. Without it, hubs of this type are rejected.",
    ),
    click.option(
        "--max-read-mib",
        type=click.IntRange(min=1),
        default=64,
        show_default=True,
        help="MiB that the mapped values of a hub's active rows may have. A larger read fails. "
        "Raise the memory limit of the operator by four times as much.",
    ),
    click.option(
        "--deny-source-hosts",
        default="",
        metavar="CIDR,HOST,*.SUFFIX",
        help="Networks, addresses and host names of databases that hubs may not connect to. "
        "Link-local addresses and metadata services are always denied, loopback is not.",
    ),
    click.option(
        "--watch-namespaces",
        default="",
        metavar="NAME,NAME",
        help="Namespaces of the hubs, forms and nodes to reconcile. Default: all.",
    ),
    click.option(
        "--allowed-namespaces",
        default="",
        metavar="NAME,PREFIX-*",
        help="Namespaces allowed as targetNamespace besides that of the form. Default: all.",
    ),
    click.option(
        "--allowed-cluster-kinds",
        default="",
        metavar="KIND,KIND.GROUP",
        help="Cluster-scoped kinds allowed in forms, such as Namespace or "
        "PriorityClass.scheduling.k8s.io. Default: all, or with --allowed-namespaces only "
        "Namespace.",
    ),
    click.option(
        "--denied-namespace-labels",
        default="",
        metavar="KEY,PREFIX/*",
        help="Labels that Namespaces of forms may not have, such as "
        "pod-security.kubernetes.io/*. Default: none.",
    ),
    _boolean(
        "--require-service-account",
        "Apply no resources of forms without a serviceAccountName.",
    ),
    _boolean(
        "--allow-standalone-nodes",
        "Carry out LynqNodes that users create without a LynqHub.",
        default=True,
    ),
    click.option(
        "--installation-key-secret",
        default="lynq-installation-key",
        show_default=True,
        metavar="NAME",
        help="Secret with the key that signs nodes and seeds random values. The operator creates "
        "it once. Back it up: without it, hubs and their nodes wait.",
    ),
    click.option(
        "--installation-key-namespace",
        default="",
        metavar="NAME",
        help="Namespace of that Secret. Default: the namespace of the pod, or default.",
    ),
    click.option(
        "--shard",
        default="0/1",
        show_default=True,
        metavar="N/M",
        help="Reconcile the nodes of shard N of M, counted from 0, and with 0 all hubs and forms. "
        "Each shard is a separate process.",
    ),
    click.option(
        "--scratch-dir",
        default="",
        metavar="PATH",
        help="Directory of this process alone, created if missing, that survives a restart of the "
        "container. The operator records there which renders are under way, and skips one during "
        "which it was killed twice in a row. Without it, such a render is repeated.",
    ),
    click.option(
        "--max-inflight",
        type=click.IntRange(min=1, max=10_000),
        help="Maximum number of concurrent requests to the API server. Default: 64, divided by the "
        "number of shards, and at least 16.",
    ),
)

_LEADER_ELECTION: Final = (
    _boolean(
        "--leader-elect", "Enable leader election, so that only one of several replicas is active."
    ),
    click.option(
        "--leader-election-namespace",
        default="",
        metavar="NAME",
        help="Namespace of the Lease. Default: the namespace of the pod, or default.",
    ),
)

_LOGS: Final = (
    _boolean(
        "--zap-devel",
        "Development defaults: console encoder, level debug, stack traces from warn on, no "
        "sampling. Messages of unexpected exceptions are logged, which can contain values.",
    ),
    click.option(
        "--zap-encoder",
        type=click.Choice(ENCODINGS, case_sensitive=False),
        help="Log encoding.  [default: json]",
    ),
    click.option(
        "--zap-log-level",
        type=level,
        help="Log level: debug, info, warn, error, panic, or a number above 0, which is debug."
        "  [default: info]",
    ),
    click.option(
        "--zap-stacktrace-level",
        type=click.Choice(STACKTRACE_LEVELS, case_sensitive=False),
        help="Level from which stack traces are logged.  [default: error]",
    ),
    click.option(
        "--zap-time-encoding",
        type=click.Choice(TIME_ENCODINGS, case_sensitive=False),
        default="epoch",
        show_default=True,
        help="Encoding of timestamps.",
    ),
)

FLAG_GROUPS: Final = {
    "Metrics, health and profiles": _SERVERS,
    "Webhooks": _WEBHOOKS,
    "Controllers": _CONTROLLERS,
    "Leader election": _LEADER_ELECTION,
    "Logs": _LOGS,
}
"""The flags by the section of the reference that lists them."""
