"""`lynq run`: the operator."""

import asyncio
import gc
import sys
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from tempfile import gettempdir
from typing import TYPE_CHECKING, Any, Final

import click
import structlog

from lynq.api.denied_hosts import FLAG, DeniedHosts
from lynq.cli.goflags import GoCommand
from lynq.cli.runflags import run_flags
from lynq.controllers.manager import ProcessSettings
from lynq.controllers.options import Options, Shard
from lynq.core.object_limits import group_kind_problem
from lynq.kube.config import SERVICE_ACCOUNT
from lynq.kube.errors import KubeError
from lynq.sources.settings import MIB
from lynq.telemetry.logs import configure
from lynq.tls.context import CertificateFiles, ClientCA

if TYPE_CHECKING:
    from lynq.webhooks import Webhooks


_EXPECTED_ERRORS: Final = (KubeError, OSError)
"""Errors of the environment: logged in one line, without a stack trace."""

_log = structlog.get_logger("setup")


@click.command(cls=GoCommand)
@run_flags
def run(**flags: Any) -> None:  # noqa: ANN401  click passes one argument per flag
    """Run the operator until SIGTERM or SIGINT.

    Flags have one dash or two, and the form --flag=value or --flag value.
    """
    settings = settings_from(flags)
    _configure_logs(flags)
    if flags["enable_http2"]:
        _log.warning("--enable-http2 has no effect: all servers use HTTP/1.1 only")
    sys.exit(_run(settings))


def settings_from(flags: Mapping[str, Any]) -> ProcessSettings:
    """Return the settings from flags; raises click.BadParameter."""
    options = _options(flags)
    return ProcessSettings(
        options=options,
        kubeconfig=flags["kubeconfig"],
        context=flags["context"],
        max_in_flight=flags["max_inflight"] or options.shard.max_in_flight,
        leader_elect=flags["leader_elect"],
        leader_election_namespace=flags["leader_election_namespace"] or own_namespace(),
        health_address=flags["health_probe_bind_address"],
        metrics_address=flags["metrics_bind_address"],
        metrics_secure=flags["metrics_secure"],
        metrics_per_node=flags["metrics_per_node"],
        metrics_certificate=_certificate(flags, "metrics"),
        key_namespace=flags["installation_key_namespace"] or own_namespace(),
        key_secret=flags["installation_key_secret"],
        admission=_admission(flags),
        pprof=flags["enable_pprof"],
    )


def _admission(flags: Mapping[str, Any]) -> "Webhooks | None":
    if not flags["enable_webhooks"]:
        return None
    # Imported lazily, like the manager.
    from lynq.webhooks import Webhooks  # noqa: PLC0415

    return Webhooks(
        port=flags["webhook_port"],
        certificate=_certificate(flags, "webhook") or _mounted_certificate(flags),
        service=flags["webhook_service_name"],
        secret=flags["webhook_secret_name"],
        namespace=flags["webhook_namespace"] or own_namespace(),
        configuration_prefix=flags["webhook_configuration_prefix"],
        client_ca=ClientCA(Path(path)) if (path := flags["webhook_client_ca_file"]) else None,
    )


def _mounted_certificate(flags: Mapping[str, Any]) -> CertificateFiles | None:
    """Return the certificate in the default directory of the Go operator, if it exists."""
    folder = Path(gettempdir(), "k8s-webhook-server", "serving-certs")
    files = _files_in(folder, flags, "webhook")
    return files if files.certificate.exists() else None


def own_namespace(account: Path = SERVICE_ACCOUNT) -> str:
    """Return the namespace of this pod, or `default`."""
    try:
        return (account / "namespace").read_text().strip() or "default"
    except OSError:
        return "default"


def _options(flags: Mapping[str, Any]) -> Options:
    interval = flags["force_reapply_interval"]
    if interval.total_seconds() < 1:
        raise _invalid("--force-reapply-interval", "must be 1s or longer")
    return Options(
        hub_workers=flags["hub_concurrency"],
        form_workers=flags["form_concurrency"],
        node_workers=flags["node_concurrency"],
        force_reapply_interval=interval,
        sqlite_directory=flags["sqlite_dir"],
        max_read_bytes=flags["max_read_mib"] * MIB,
        denied_hosts=_denied_hosts(flags["deny_source_hosts"]),
        namespaces=_names(flags["watch_namespaces"]),
        allowed_namespaces=_names(flags["allowed_namespaces"]),
        allowed_cluster_kinds=_cluster_kinds(flags["allowed_cluster_kinds"]),
        denied_namespace_labels=_names(flags["denied_namespace_labels"]),
        allows_standalone_nodes=flags["allow_standalone_nodes"],
        requires_service_account=flags["require_service_account"],
        shard=_shard(flags["shard"]),
        scratch_directory=Path(flags["scratch_dir"]) if flags["scratch_dir"] else None,
    )


def _names(text: str) -> tuple[str, ...]:
    # Without duplicates: a namespace that is watched twice would count its nodes twice.
    return tuple(dict.fromkeys(name for part in text.split(",") if (name := part.strip())))


def _cluster_kinds(text: str) -> tuple[str, ...]:
    kinds = _names(text)
    if problem := next(filter(None, map(group_kind_problem, kinds)), ""):
        raise _invalid("--allowed-cluster-kinds", problem)
    return kinds


def _denied_hosts(text: str) -> DeniedHosts:
    try:
        return DeniedHosts.parse(text)
    except ValueError as error:
        raise _invalid(FLAG, str(error)) from error


def _shard(text: str) -> Shard:
    try:
        return Shard.parse(text)
    except ValueError as error:
        raise _invalid("--shard", str(error)) from error


def _certificate(flags: Mapping[str, Any], server: str) -> CertificateFiles | None:
    folder = flags[f"{server}_cert_path"]
    return _files_in(Path(folder), flags, server) if folder else None


def _files_in(folder: Path, flags: Mapping[str, Any], server: str) -> CertificateFiles:
    return CertificateFiles(
        folder / flags[f"{server}_cert_name"], folder / flags[f"{server}_cert_key"]
    )


def _invalid(flag: str, reason: str) -> click.BadParameter:
    return click.BadParameter(reason, param_hint=f"'{flag}'")


def _configure_logs(flags: Mapping[str, Any]) -> None:
    is_development = flags["zap_devel"]
    configure(
        encoding=flags["zap_encoder"] or ("console" if is_development else "json"),
        level=flags["zap_log_level"] or ("debug" if is_development else "info"),
        development=is_development,
        time_encoding=flags["zap_time_encoding"],
        stacktrace_level=flags["zap_stacktrace_level"] or ("warn" if is_development else "error"),
    )


def _run(settings: ProcessSettings) -> int:
    """Run the manager and return the exit code."""
    _configure_garbage_collector()
    try:
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            runner.run(_manage(settings))
    except Exception as error:  # noqa: BLE001 - a traceback could print values; the log does not
        return _failed(error)
    return 0


def _configure_garbage_collector() -> None:
    """Search for cyclic garbage less often, and not among the modules: that saves a tenth of CPU.

    Caches hold many objects that live on, and reconciles leave few cycles.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 5, 10)


def _failed(error: Exception) -> int:
    leaves = list(_leaves(error))
    if all(isinstance(leaf, _EXPECTED_ERRORS) for leaf in leaves):
        texts = dict.fromkeys(str(leaf) or type(leaf).__name__ for leaf in leaves)
        _log.error("problem running manager", error="; ".join(texts))
    else:
        for leaf in leaves:
            _log.error("problem running manager", exc_info=leaf)
    return 1


def _leaves(error: BaseException) -> Iterator[BaseException]:
    """Yield the errors inside of exception groups."""
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _leaves(inner)
    else:
        yield error


async def _manage(settings: ProcessSettings) -> None:
    # Imported lazily: the other commands start without the controllers.
    from lynq.controllers import manager  # noqa: PLC0415

    await manager.run(settings)


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    if sys.platform != "linux":
        return None
    factory: Callable[[], asyncio.AbstractEventLoop] = import_module("uvloop").new_event_loop
    return factory
