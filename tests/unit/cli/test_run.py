"""`lynq run`: flags, logs and exit codes."""

import asyncio
import json
import logging
import re
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import click
import pytest
import structlog
from click.testing import CliRunner, Result

from lynq.api.denied_hosts import DeniedHosts
from lynq.cli import root
from lynq.cli.run import own_namespace, run
from lynq.controllers import manager
from lynq.controllers.manager import ProcessSettings
from lynq.controllers.options import Options, Shard
from lynq.kube import LeaseLost
from lynq.telemetry import Address, ListenError
from lynq.tls.context import CertificateFiles, ClientCA
from lynq.webhooks import Webhooks


@pytest.fixture(autouse=True)
def _as_it_was() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers, root.level
    yield
    root.handlers = handlers
    root.setLevel(level)
    logging.captureWarnings(capture=False)
    structlog.reset_defaults()


class Manager:
    """A fake manager: records its settings and ends with a configured error."""

    def __init__(self) -> None:
        self.settings: list[ProcessSettings] = []
        self.loop = ""
        self.error: Exception | None = None

    async def run(self, settings: ProcessSettings) -> None:
        self.settings.append(settings)
        self.loop = type(asyncio.get_running_loop()).__module__
        if self.error:
            raise self.error


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Manager:
    # A certificate in the default folder under the temporary directory would be used.
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    stand_in = Manager()
    monkeypatch.setattr(manager, "run", stand_in.run)
    return stand_in


def lynq(*args: str) -> Result:
    return CliRunner().invoke(root.lynq, ["run", *args])


def settings(stand_in: Manager, *args: str) -> ProcessSettings:
    result = lynq(*args)
    assert result.exit_code == 0, result.output
    return stand_in.settings[-1]


def test_defaults_are_those_of_the_go_operator(stand_in: Manager) -> None:
    assert settings(stand_in) == ProcessSettings(
        options=Options(),
        health_address=Address("", 8081),
        metrics_address=None,
        metrics_secure=True,
        leader_elect=False,
        leader_election_namespace="default",
        admission=Webhooks(),
    )


def test_every_flag_is_applied(stand_in: Manager, tmp_path: Path) -> None:
    kubeconfig = tmp_path / "config"
    kubeconfig.touch()
    parsed = settings(
        stand_in,
        *("-metrics-bind-address=:8443", "--metrics-secure=false", "--metrics-cert-path=/m"),
        *("--metrics-cert-name=a.crt", "--metrics-cert-key", "a.key"),
        *("--health-probe-bind-address", "127.0.0.1:9", "--webhook-cert-path=/w"),
        *("--webhook-port=9444", "--webhook-service-name=hooks", "--webhook-namespace=ops"),
        "--webhook-configuration-prefix=my-",
        *("--enable-pprof", "--hub-concurrency=1", "-form-concurrency", "2"),
        *("--node-concurrency=4", "--force-reapply-interval=1h30m"),
        *("--sqlite-dir", str(tmp_path), "--watch-namespaces=a, b,a,", "--shard=1/3"),
        *("--max-inflight=7", "--leader-elect", "--leader-election-namespace=lynq-system"),
        *("--kubeconfig", str(kubeconfig), "--context=prod"),
        *("--installation-key-secret=my-key", "--installation-key-namespace=ops"),
        "--scratch-dir=/tmp/lynq",
        *("--allow-standalone-nodes=false", "--require-service-account"),
        *("--allowed-cluster-kinds=Namespace,ClusterRole.rbac.authorization.k8s.io",),
        *("--denied-namespace-labels=pod-security.kubernetes.io/*, metrics",),
    )
    assert parsed == ProcessSettings(
        options=Options(
            hub_workers=1,
            form_workers=2,
            node_workers=4,
            force_reapply_interval=timedelta(minutes=90),
            sqlite_directory=tmp_path,
            namespaces=("a", "b"),
            allowed_cluster_kinds=("Namespace", "ClusterRole.rbac.authorization.k8s.io"),
            denied_namespace_labels=("pod-security.kubernetes.io/*", "metrics"),
            requires_service_account=True,
            allows_standalone_nodes=False,
            shard=Shard(1, 3),
            scratch_directory=Path("/tmp/lynq"),
        ),
        kubeconfig=kubeconfig,
        context="prod",
        max_in_flight=7,
        leader_elect=True,
        leader_election_namespace="lynq-system",
        health_address=Address("127.0.0.1", 9),
        metrics_address=Address("", 8443),
        metrics_secure=False,
        metrics_certificate=CertificateFiles(Path("/m/a.crt"), Path("/m/a.key")),
        admission=Webhooks(
            port=9444,
            certificate=CertificateFiles(Path("/w/tls.crt"), Path("/w/tls.key")),
            service="hooks",
            namespace="ops",
            configuration_prefix="my-",
        ),
        key_namespace="ops",
        key_secret="my-key",
        pprof=True,
    )


@pytest.mark.parametrize(("shard", "limit"), [("0/1", 64), ("1/2", 32), ("0/4", 16), ("9/64", 16)])
def test_shards_share_the_requests_in_flight(stand_in: Manager, shard: str, limit: int) -> None:
    assert settings(stand_in, f"--shard={shard}").max_in_flight == limit
    assert settings(stand_in, f"--shard={shard}", "--max-inflight=100").max_in_flight == 100


def test_empty_certificate_path_is_none(stand_in: Manager) -> None:
    parsed = settings(stand_in, "--metrics-cert-path=", "--webhook-cert-path=")
    assert parsed.metrics_certificate is None
    assert parsed.admission == Webhooks()


def test_webhooks_can_be_disabled(stand_in: Manager) -> None:
    assert settings(stand_in, "--enable-webhooks=false").admission is None


def test_certificate_in_the_default_directory_is_used(stand_in: Manager, tmp_path: Path) -> None:
    folder = tmp_path / "k8s-webhook-server/serving-certs"
    folder.mkdir(parents=True)
    assert settings(stand_in).admission == Webhooks()
    (folder / "tls.crt").touch()
    files = CertificateFiles(folder / "tls.crt", folder / "tls.key")
    assert settings(stand_in).admission == Webhooks(certificate=files)


def test_webhooks_may_demand_client_certificates(stand_in: Manager) -> None:
    assert settings(stand_in, "--webhook-client-ca-file=").admission == Webhooks()
    parsed = settings(stand_in, "--webhook-client-ca-file=/ca.crt")
    assert parsed.admission == Webhooks(client_ca=ClientCA(Path("/ca.crt")))


def test_denied_hosts_are_parsed(stand_in: Manager) -> None:
    parsed = settings(stand_in, "--deny-source-hosts=10.0.0.0/8,*.internal")
    assert parsed.options.denied_hosts == DeniedHosts.parse("10.0.0.0/8,*.internal")


def test_every_flag_has_help() -> None:
    options = [param for param in run.params if isinstance(param, click.Option)]
    assert len(options) == 46
    assert [option.opts for option in options if not option.help] == []


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--shard=3/3",), "there is no shard 3/3"),
        (("--allowed-cluster-kinds=namespaces",), '"namespaces" is not a kind: use Namespace'),
        (("--metrics-bind-address=8443",), "is not an address"),
        (("--force-reapply-interval=10",), "is not a duration"),
        (("--force-reapply-interval=99999999h",), "longer than 3650 days"),
        (("--force-reapply-interval=10ms",), "1s or longer"),
        (("--node-concurrency=0",), "not in the range"),
        (("--sqlite-dir=/not/there",), "does not exist"),
        (("--kubeconfig=/not/there",), r"'--kubeconfig'.*does not exist"),
        (("--zap-encoder=xml",), "not one of"),
        (("--zap-log-level=loud",), "is not a log level"),
        (("--leader-elect", "false"), "unexpected extra argument"),
        (("--no-such-flag",), "No such option"),
    ],
)
def test_invalid_flag_is_reported_before_the_start(
    stand_in: Manager, args: tuple[str, ...], message: str
) -> None:
    result = lynq(*args)
    assert result.exit_code == 2
    assert re.search(message, result.output)
    assert stand_in.settings == []


@pytest.mark.parametrize(
    "error",
    [
        LeaseLost("lease x: acquired by y"),
        ListenError("the health server cannot listen on :8081: address already in use"),
        ExceptionGroup("tasks", [ExceptionGroup("more", [LeaseLost("lease x: acquired by y")])]),
    ],
)
def test_expected_error_is_logged_in_one_line(stand_in: Manager, error: Exception) -> None:
    stand_in.error = error
    result = lynq()
    assert result.exit_code == 1
    (line,) = result.stderr.splitlines()
    line_fields = json.loads(line)
    assert (line_fields["level"], line_fields["msg"]) == ("error", "problem running manager")
    assert "lease x" in line_fields["error"] or ":8081" in line_fields["error"]
    assert "stacktrace" not in line_fields


def test_error_without_a_message_is_logged_by_type(stand_in: Manager) -> None:
    stand_in.error = TimeoutError()
    assert json.loads(lynq().stderr)["error"] == "TimeoutError"


def test_unexpected_error_is_logged_without_values(stand_in: Manager) -> None:
    stand_in.error = ValueError("hunter2")
    result = lynq()
    assert result.exit_code == 1
    (line,) = result.stderr.splitlines()
    assert json.loads(line)["error"] == "ValueError"
    assert "stacktrace" in json.loads(line)
    assert "hunter2" not in result.output


def test_enable_http2_logs_a_warning(stand_in: Manager) -> None:
    assert "HTTP/1.1 only" in lynq("--enable-http2").stderr
    assert lynq("--enable-http2=false").stderr == ""
    assert len(stand_in.settings) == 2


def test_zap_flags_configure_the_log(stand_in: Manager) -> None:
    stand_in.error = LeaseLost("gone")
    line = lynq("--zap-encoder=console", "--zap-time-encoding=rfc3339").stderr
    assert re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\tERROR\tsetup\t", line)
    assert lynq("--zap-devel").stderr.split("\t")[1] == "ERROR"
    assert json.loads(lynq("--zap-devel", "--zap-encoder=json").stderr)["logger"] == "setup"
    assert lynq("--zap-log-level=panic").stderr == ""


def test_flag_values_are_case_insensitive(stand_in: Manager) -> None:
    stand_in.error = LeaseLost("gone")
    flags = ("--zap-encoder=JSON", "--zap-stacktrace-level=ERROR", "--zap-log-level=INFO")
    line_fields = json.loads(lynq(*flags, "--zap-time-encoding=RFC3339").stderr)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", line_fields["ts"])
    for spelled in ("nano", "nanos"):
        line_fields = json.loads(lynq(f"--zap-time-encoding={spelled}").stderr)
        assert line_fields["ts"] > 10**18


def test_empty_kubeconfig_is_none(stand_in: Manager) -> None:
    assert settings(stand_in, "--kubeconfig=").kubeconfig is None
    assert settings(stand_in, "--kubeconfig", "").kubeconfig is None


@pytest.mark.skipif(sys.platform != "linux", reason="uvloop is installed on Linux only")
def test_operator_runs_on_uvloop_on_linux(stand_in: Manager) -> None:
    settings(stand_in)
    assert stand_in.loop == "uvloop"


def test_lease_is_in_the_namespace_of_the_pod(tmp_path: Path) -> None:
    assert own_namespace(tmp_path) == "default"
    (tmp_path / "namespace").write_text("lynq-system")
    assert own_namespace(tmp_path) == "lynq-system"
