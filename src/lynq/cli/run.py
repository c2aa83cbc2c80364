"""`lynq run`: the operator itself."""

import asyncio
import sys
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from tempfile import gettempdir
from typing import TYPE_CHECKING, Any, Final

import click
import structlog

from lynq.cli.goflags import GoCommand
from lynq.cli.runflags import run_flags
from lynq.controllers.manager import ProcessSettings
from lynq.controllers.options import Options, Shard
from lynq.kube.config import SERVICE_ACCOUNT
from lynq.kube.errors import KubeError
from lynq.telemetry.logs import configure
from lynq.tls.context import CertificateFiles

if TYPE_CHECKING:
    from lynq.webhooks import Webhooks


_EXPECTED: Final = (KubeError, OSError)
"""What happens to operators without a fault of theirs: told in one line."""

_log = structlog.get_logger("setup")


@click.command(cls=GoCommand)
@run_flags
def run(**given: Any) -> None:  # noqa: ANN401  click passes one argument per flag
    """Run the operator until it is told to stop.

    Flags may be written with one dash or two, as --flag=value or --flag value.
    """
    settings = settings_from(given)
    _set_up_logs(given)
    if given["enable_http2"]:
        _log.warning("--enable-http2 changes nothing: our servers speak HTTP/1.1 only")
    sys.exit(_run(settings))


def settings_from(given: Mapping[str, Any]) -> ProcessSettings:
    """Return what the flags say; raises click.BadParameter."""
    return ProcessSettings(
        options=_options(given),
        kubeconfig=given["kubeconfig"],
        context=given["context"],
        max_in_flight=given["max_inflight"],
        leader_elect=given["leader_elect"],
        leader_election_namespace=given["leader_election_namespace"] or own_namespace(),
        health_address=given["health_probe_bind_address"],
        metrics_address=given["metrics_bind_address"],
        metrics_secure=given["metrics_secure"],
        metrics_per_node=given["metrics_per_node"],
        metrics_certificate=_certificate(given, "metrics"),
        admission=_admission(given),
        pprof=given["enable_pprof"],
    )


def _admission(given: Mapping[str, Any]) -> "Webhooks | None":
    if not given["enable_webhooks"]:
        return None
    # Loaded only by those who run it, like the manager.
    from lynq.webhooks import Webhooks  # noqa: PLC0415

    return Webhooks(
        port=given["webhook_port"],
        certificate=_certificate(given, "webhook") or _mounted_certificate(given),
        service=given["webhook_service_name"],
        secret=given["webhook_secret_name"],
        namespace=given["webhook_namespace"] or own_namespace(),
        configuration_prefix=given["webhook_configuration_prefix"],
    )


def _mounted_certificate(given: Mapping[str, Any]) -> CertificateFiles | None:
    """Return the certificate where the Go operator looked for it, if there is one."""
    folder = Path(gettempdir(), "k8s-webhook-server", "serving-certs")
    files = _files_in(folder, given, "webhook")
    return files if files.certificate.exists() else None


def own_namespace(account: Path = SERVICE_ACCOUNT) -> str:
    """Return the namespace of the pod that we run in, or else `default`."""
    try:
        return (account / "namespace").read_text().strip() or "default"
    except OSError:
        return "default"


def _options(given: Mapping[str, Any]) -> Options:
    interval = given["force_reapply_interval"]
    if interval.total_seconds() < 1:
        raise _wrong("--force-reapply-interval", "it must be 1s or longer")
    return Options(
        hub_workers=given["hub_concurrency"],
        form_workers=given["form_concurrency"],
        node_workers=given["node_concurrency"],
        force_reapply_interval=interval,
        sqlite_directory=given["sqlite_dir"],
        namespaces=_namespaces(given["watch_namespaces"]),
        allowed_namespaces=_namespaces(given["allowed_namespaces"]),
        requires_service_account=given["require_service_account"],
        shard=_shard(given["shard"]),
    )


def _namespaces(text: str) -> tuple[str, ...]:
    # Each once: a namespace that is watched twice would count its nodes twice.
    return tuple(dict.fromkeys(name for part in text.split(",") if (name := part.strip())))


def _shard(text: str) -> Shard:
    try:
        return Shard.parse(text)
    except ValueError as error:
        raise _wrong("--shard", str(error)) from error


def _certificate(given: Mapping[str, Any], server: str) -> CertificateFiles | None:
    folder = given[f"{server}_cert_path"]
    return _files_in(Path(folder), given, server) if folder else None


def _files_in(folder: Path, given: Mapping[str, Any], server: str) -> CertificateFiles:
    return CertificateFiles(
        folder / given[f"{server}_cert_name"], folder / given[f"{server}_cert_key"]
    )


def _wrong(flag: str, why: str) -> click.BadParameter:
    return click.BadParameter(why, param_hint=f"'{flag}'")


def _set_up_logs(given: Mapping[str, Any]) -> None:
    is_development = given["zap_devel"]
    configure(
        encoding=given["zap_encoder"] or ("console" if is_development else "json"),
        level=given["zap_log_level"] or ("debug" if is_development else "info"),
        development=is_development,
        time_encoding=given["zap_time_encoding"],
        stacktrace_level=given["zap_stacktrace_level"] or ("warn" if is_development else "error"),
    )


def _run(settings: ProcessSettings) -> int:
    """Run until the end, and return the exit code."""
    try:
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            runner.run(_manage(settings))
    except Exception as error:  # noqa: BLE001 - a traceback would print values; the log does not
        return _failed(error)
    return 0


def _failed(error: Exception) -> int:
    ends = list(_ends(error))
    if all(isinstance(each, _EXPECTED) for each in ends):
        texts = dict.fromkeys(str(each) or type(each).__name__ for each in ends)
        _log.error("problem running manager", error="; ".join(texts))
    else:
        for each in ends:
            _log.error("problem running manager", exc_info=each)
    return 1


def _ends(error: BaseException) -> Iterator[BaseException]:
    """Yield the errors inside of groups of them."""
    if isinstance(error, BaseExceptionGroup):
        for each in error.exceptions:
            yield from _ends(each)
    else:
        yield error


async def _manage(settings: ProcessSettings) -> None:
    # Loaded only by those who run it: the other commands start without the controllers.
    from lynq.controllers import manager  # noqa: PLC0415

    await manager.run(settings)


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    if sys.platform != "linux":
        return None
    factory: Callable[[], asyncio.AbstractEventLoop] = import_module("uvloop").new_event_loop
    return factory
