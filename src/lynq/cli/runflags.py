"""The flags of `lynq run`: those of the Go operator with its defaults, and ours."""

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
    groups = (_SERVERS, _WEBHOOKS, _WORK, _LEADING, _LOGS)
    flags = [flag for group in groups for flag in group]
    return reduce(
        lambda decorated, flag: flag(decorated), reversed(flags), connection_options(command)
    )


def _boolean(name: str, text: str, *, default: bool = False) -> Decorator:
    given = str(default).lower()
    shown = f"{text}  [default: {given}]"
    # Mostly written without a value, so none is shown.
    return click.option(name, type=boolean, default=given, metavar=" ", help=shown)


def _workers(kind: str, default: int) -> Decorator:
    return click.option(
        f"--{kind}-concurrency",
        type=click.IntRange(min=1, max=1000),
        default=default,
        show_default=True,
        help=f"How many {kind}s are worked on at once.",
    )


def _address(name: str, default: str, text: str) -> Decorator:
    return click.option(
        name,
        type=address,
        default=default,
        show_default=True,
        help=f"{text}, as :8081 or 127.0.0.1:8081; 0 is off.",
    )


def _certificate(server: str, purpose: str) -> tuple[Decorator, ...]:
    return (
        click.option(
            f"--{server}-cert-path",
            type=click.Path(file_okay=False),
            default="",
            help=f"Directory with the certificate {purpose}",
        ),
        click.option(
            f"--{server}-cert-name",
            default="tls.crt",
            show_default=True,
            help="The certificate's file in it.",
        ),
        click.option(
            f"--{server}-cert-key",
            default="tls.key",
            show_default=True,
            help="The key's file in it.",
        ),
    )


_SERVERS: Final = (
    _address("--metrics-bind-address", "0", "Where /metrics is served"),
    _boolean(
        "--metrics-secure",
        "Serve /metrics by HTTPS, and only to those whose token may get it.",
        default=True,
    ),
    _boolean(
        "--metrics-per-node",
        "Give every node series of its own; else those of a namespace share them, for big fleets.",
        default=True,
    ),
    *_certificate(
        "metrics", "for /metrics, read again when it changes; else a self-signed one is made."
    ),
    _address("--health-probe-bind-address", ":8081", "Where /healthz and /readyz are served"),
    _boolean(
        "--enable-http2",
        "Known for the sake of old manifests: our servers speak HTTP/1.1 only, and a warning says "
        "so when this is on.",
    ),
    _boolean("--enable-pprof", "Serve profiles of this process on 127.0.0.1:6060/debug/pprof/."),
)

_WEBHOOKS: Final = (
    _boolean(
        "--enable-webhooks",
        "Serve the admission webhooks; without them the operator still refuses what is wrong, "
        "but only once it is stored.",
        default=True,
    ),
    click.option(
        "--webhook-port",
        type=click.IntRange(min=0, max=65535),
        default=9443,
        show_default=True,
        help="Where the webhooks are served, on every interface; 0 is any port that is free.",
    ),
    *_certificate(
        "webhook",
        "for the webhooks, read again when it changes; else one is taken from "
        "/tmp/k8s-webhook-server/serving-certs if it is there, else made, renewed and trusted by "
        "ourselves.",
    ),
    click.option(
        "--webhook-service-name",
        default="lynq-webhook-service",
        show_default=True,
        metavar="NAME",
        help="The Service that leads to the webhooks: a certificate of our own is made for it.",
    ),
    click.option(
        "--webhook-secret-name",
        default="webhook-server-cert",
        show_default=True,
        metavar="NAME",
        help="The Secret in which that certificate is kept.",
    ),
    click.option(
        "--webhook-namespace",
        default="",
        metavar="NAME",
        help="Where that Service and Secret are; else in the pod's namespace, and outside of pods "
        "in default.",
    ),
    click.option(
        "--webhook-configuration-prefix",
        default="lynq-",
        show_default=True,
        metavar="PREFIX",
        help="The names of the configurations that are told to trust our own certificate are "
        "PREFIXmutating-webhook-configuration and PREFIXvalidating-webhook-configuration.",
    ),
)

_WORK: Final = (
    _workers("hub", 3),
    _workers("form", 5),
    _workers("node", 10),
    click.option(
        "--force-reapply-interval",
        type=duration,
        default="10m",
        show_default=True,
        help="How often every resource is written again although nothing has changed.",
    ),
    click.option(
        "--sqlite-dir",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        help="Where SQLite databases may lie; without it hubs of that type are refused.",
    ),
    click.option(
        "--watch-namespaces",
        default="",
        metavar="NAME,NAME",
        help="Work on hubs, forms and nodes in these namespaces only; else in all.",
    ),
    click.option(
        "--allowed-namespaces",
        default="",
        metavar="NAME,PREFIX-*",
        help="Where targetNamespace may lead besides the form's own namespace; else anywhere.",
    ),
    _boolean(
        "--require-service-account",
        "Write nothing for forms that name no serviceAccountName.",
    ),
    click.option(
        "--shard",
        default="0/1",
        show_default=True,
        metavar="N/M",
        help="Work on share N of M, counted from 0; the others run in processes of their own.",
    ),
    click.option(
        "--max-inflight",
        type=click.IntRange(min=1, max=10_000),
        default=64,
        show_default=True,
        help="How many requests to the API server may be under way at once.",
    ),
)

_LEADING: Final = (
    _boolean("--leader-elect", "Of several replicas let one work: the one that holds the Lease."),
    click.option(
        "--leader-election-namespace",
        default="",
        metavar="NAME",
        help="Where the Lease is; else in the pod's namespace, and outside of pods in default.",
    ),
)

_LOGS: Final = (
    _boolean(
        "--zap-devel",
        "For development: by default console and debug, nothing is left out, and unexpected "
        "exceptions show their texts, which can hold values.",
    ),
    click.option(
        "--zap-encoder",
        type=click.Choice(ENCODINGS, case_sensitive=False),
        help="How log lines are written.  [default: json]",
    ),
    click.option(
        "--zap-log-level",
        type=level,
        help="From where on: debug, info, warn, error, panic, or a number above 0, which is debug."
        "  [default: info]",
    ),
    click.option(
        "--zap-stacktrace-level",
        type=click.Choice(STACKTRACE_LEVELS, case_sensitive=False),
        help="From where on an exception is written with the places it came through."
        "  [default: error]",
    ),
    click.option(
        "--zap-time-encoding",
        type=click.Choice(TIME_ENCODINGS, case_sensitive=False),
        default="epoch",
        show_default=True,
        help="How moments are written.",
    ),
)
