"""`lynq dashboard`: the web pages of Lynq."""

import asyncio
import ipaddress
import re
import signal
from pathlib import Path
from typing import Any, Final

import click

from lynq.cli.connection import connection_options
from lynq.cli.exit_codes import CommandError
from lynq.cli.installation_key import key_option
from lynq.cli.output import print_line
from lynq.dashboard.options import AuthMode, DashboardOptions
from lynq.dashboard.server import check_options, running_dashboard
from lynq.kube import ClusterConfig, load_config
from lynq.telemetry import Address, ListenError, is_loopback
from lynq.tls.context import CertificateFiles

_WEB_ADDRESS: Final = re.compile(r"https?://[^\s/?#][^\s?#]*")
_FILE: Final = click.Path(exists=True, dir_okay=False, path_type=Path)


def _docs_url(_context: click.Context, _parameter: click.Parameter, value: str) -> str:
    if value and not _WEB_ADDRESS.fullmatch(value):
        raise click.BadParameter("must begin with https:// or http://")
    return value.rstrip("/")


@click.command()
@click.option(
    "--bind-address",
    default="127.0.0.1:8090",
    show_default=True,
    metavar="HOST:PORT",
    help="Address to listen on.",
)
@click.option(
    "--auth",
    type=click.Choice([mode.value for mode in AuthMode]),
    help="How viewers are authenticated: by a token of the cluster, by a proxy in front, or not at "
    "all with the rights of the kubeconfig. Default: kubeconfig on loopback, else token.",
)
@click.option(
    "--allow-actions",
    is_flag=True,
    help="Allow sync, pause, resume, reconcile and approve, with the rights of the viewer.",
)
@click.option(
    "--trusted-proxies",
    multiple=True,
    metavar="CIDR",
    help="Addresses whose headers name the viewer; with --auth proxy. Can be repeated.",
)
@click.option(
    "--user-header",
    default="X-Forwarded-User",
    show_default=True,
    help="Header of the proxy with the user.",
)
@click.option(
    "--groups-header",
    default="X-Forwarded-Groups",
    show_default=True,
    help="Header of the proxy with the groups.",
)
@click.option(
    "--groups-separator",
    default=",",
    show_default=True,
    metavar="TEXT",
    help="What separates the groups in their header; no group may contain it. Empty: each group "
    "has a header of its own.",
)
@click.option(
    "--docs-url",
    default="",
    metavar="URL",
    callback=_docs_url,
    help="Address of the documentation, as `make docs` builds it: the pages link to it.",
)
@click.option("--tls-cert", type=_FILE, metavar="FILE", help="Certificate to serve HTTPS with.")
@click.option("--tls-key", type=_FILE, metavar="FILE", help="Private key of --tls-cert.")
@key_option
@click.option(
    "-n", "--namespace", metavar="NAME", help="Only namespace to watch. Default: all namespaces."
)
@connection_options
def dashboard(
    kubeconfig: Path | None,
    context: str | None,
    bind_address: str,
    **flags: Any,  # noqa: ANN401
) -> None:
    """Serve the dashboard: every row, node and resource in the browser, problems first.

    On a loopback address, without --auth, the pages have the rights of the kubeconfig and need no
    login. Elsewhere viewers log in with a token of the cluster, and see what the token may see.
    With -n only one namespace is watched. Secret data is never shown.

    \b
    Examples:
      lynq dashboard
      lynq dashboard --allow-actions
      lynq dashboard --bind-address :8090 --tls-cert tls.crt --tls-key tls.key
      lynq dashboard --bind-address :8090 --auth proxy --trusted-proxies 10.0.0.0/8
    """
    config = load_config(kubeconfig=kubeconfig, context=context)
    options = _options(bind_address, context or config.address, flags)
    try:
        check_options(options)
    except ValueError as error:
        raise CommandError(f"{error}.") from None
    with asyncio.Runner() as runner:
        try:
            runner.run(_serve(config, options))
        except ListenError as error:
            raise CommandError(str(error)) from None


def _options(bind_address: str, context: str, flags: dict[str, Any]) -> DashboardOptions:
    address = _address(bind_address)
    auth = AuthMode(flags["auth"]) if flags["auth"] else _default_auth(address)
    return DashboardOptions(
        address=address,
        auth=auth,
        allow_actions=flags["allow_actions"],
        trusted_proxies=tuple(map(_network, flags["trusted_proxies"])),
        user_header=flags["user_header"],
        groups_header=flags["groups_header"],
        groups_separator=flags["groups_separator"],
        certificate=_certificate(flags["tls_cert"], flags["tls_key"]),
        namespace=flags["namespace"],
        context=context,
        docs_url=flags["docs_url"],
        operator_namespace=flags["operator_namespace"],
    )


def _address(text: str) -> Address:
    try:
        address = Address.parse(text)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--bind-address") from None
    if address is None:
        raise click.BadParameter("must be HOST:PORT", param_hint="--bind-address")
    return address


def _default_auth(address: Address) -> AuthMode:
    return AuthMode.KUBECONFIG if is_loopback(address.host) else AuthMode.TOKEN


def _network(text: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    try:
        return ipaddress.ip_network(text)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--trusted-proxies") from None


def _certificate(certificate: Path | None, key: Path | None) -> CertificateFiles | None:
    if (certificate is None) != (key is None):
        raise click.UsageError("--tls-cert and --tls-key belong together.")
    return CertificateFiles(certificate, key) if certificate and key else None


async def _serve(config: ClusterConfig, options: DashboardOptions) -> None:
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    async with running_dashboard(config, options) as address:
        scheme = "https" if options.certificate else "http"
        host = options.address.host or "localhost"
        print_line(f"The dashboard is at {scheme}://{Address(host, address.port)}")
        if options.auth is AuthMode.KUBECONFIG:
            print_line(f"It has no login, and the rights of {config.source or 'the kubeconfig'}.")
        await stopped.wait()
