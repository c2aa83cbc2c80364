from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest
import structlog.testing
import yaml

from lynq.kube import ClusterConfig, Impersonation, in_cluster, load_config
from lynq.kube.credentials import (
    ClientCertificate,
    Credential,
    ExecCredentials,
    TokenFileCredentials,
)
from lynq.kube.errors import ConfigError


@pytest.fixture(autouse=True)
def _home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Hide the configuration of the machine."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "HTTPS_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


def write(path: Path, **parts: Any) -> Path:
    """Write a kubeconfig: clusters, users and contexts by name."""
    singular = {"clusters": "cluster", "users": "user", "contexts": "context"}
    content: dict[str, Any] = {"apiVersion": "v1", "kind": "Config"}
    for key, value in parts.items():
        if key in singular:
            content[key] = [{"name": name, singular[key]: entry} for name, entry in value.items()]
        else:
            content[key.replace("_", "-")] = value
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(content))
    return path


def simple(
    path: Path,
    user: dict[str, Any] | None = None,
    cluster: dict[str, Any] | None = None,
    context: dict[str, Any] | None = None,
) -> Path:
    return write(
        path,
        clusters={"c": {"server": "https://k8s:6443", **(cluster or {})}},
        users={"u": user or {}},
        contexts={"x": {"cluster": "c", "user": "u", **(context or {})}},
        current_context="x",
    )


def load(tmp_path: Path, **parts: Any) -> ClusterConfig:
    return load_config(simple(tmp_path / "config", **parts))


async def shown(config: ClusterConfig) -> Credential:
    return await config.credentials.current()


async def test_context_with_a_token(tmp_path: Path) -> None:
    config = load(tmp_path, user={"token": "hunter2"}, context={"namespace": "shop"})
    assert config.server == "https://k8s:6443"
    assert config.namespace == "shop"
    assert config.source == f"{tmp_path}/config, context 'x'"
    assert await shown(config) == Credential("hunter2")
    assert "hunter2" not in f"{config!r} {config}"


async def test_inline_certificates(tmp_path: Path) -> None:
    config = load(
        tmp_path,
        cluster={"certificate-authority-data": b64encode(b"CA").decode()},
        user={
            "client-certificate-data": b64encode(b"CERT").decode(),
            "client-key-data": b64encode(b"KEY").decode(),
        },
    )
    assert config.certificate_authority == b"CA"
    assert await shown(config) == Credential(None, ClientCertificate(b"CERT", b"KEY"))


async def test_relative_files_are_resolved_from_the_kubeconfig(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "kube"
    simple(
        folder / "config",
        cluster={"certificate-authority": "pki/ca.crt"},
        user={"client-certificate": "pki/c.crt", "client-key": str(folder / "pki/c.key")},
    )
    (folder / "pki").mkdir()
    for name in ("ca.crt", "c.crt", "c.key"):
        (folder / "pki" / name).write_text(name)
    monkeypatch.chdir(tmp_path)
    config = load_config(Path("kube/config"))
    assert config.certificate_authority == b"ca.crt"
    assert (await shown(config)).certificate == ClientCertificate(b"c.crt", b"c.key")


async def test_token_file_wins_over_token(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("from-file")
    config = load(tmp_path, user={"token": "inline", "tokenFile": "token"})
    assert isinstance(config.credentials, TokenFileCredentials)
    assert (await shown(config)).token == "from-file"


async def test_exec_plugin(tmp_path: Path) -> None:
    config = load(
        tmp_path,
        user={
            "exec": {
                "apiVersion": "client.authentication.k8s.io/v1beta1",
                "command": "sh",
                "args": ["-c", 'printf %s "$ANSWER"'],
                "env": [
                    {
                        "name": "ANSWER",
                        "value": '{"apiVersion": "client.authentication.k8s.io/v1beta1",'
                        ' "kind": "ExecCredential", "status": {"token": "granted"}}',
                    }
                ],
                "interactiveMode": "IfAvailable",
                "provideClusterInfo": True,
            }
        },
    )
    assert isinstance(config.credentials, ExecCredentials)
    assert (await shown(config)).token == "granted"


def test_exec_plugin_receives_cluster_info_on_request(tmp_path: Path) -> None:
    spec = {"apiVersion": "client.authentication.k8s.io/v1", "command": "login", "args": None}
    extension = {"name": "client.authentication.k8s.io/exec", "extension": {"audience": "a"}}
    cluster = {
        "certificate-authority-data": b64encode(b"CA").decode(),
        "extensions": [{"name": "other", "extension": 1}, extension],
    }
    config = load(tmp_path, user={"exec": spec | {"provideClusterInfo": True}}, cluster=cluster)
    assert isinstance(config.credentials, ExecCredentials)
    cluster_info = config.credentials._plugin.cluster
    assert cluster_info is not None
    assert (cluster_info["server"], cluster_info["config"]) == (
        "https://k8s:6443",
        {"audience": "a"},
    )
    assert cluster_info["certificate-authority-data"] == b64encode(b"CA").decode()
    silent = load(tmp_path, user={"exec": spec}, cluster=cluster)
    assert isinstance(silent.credentials, ExecCredentials)
    assert silent.credentials._plugin.cluster is None


def test_all_other_fields_of_a_kubeconfig(tmp_path: Path) -> None:
    config = load(
        tmp_path,
        cluster={"tls-server-name": "kubernetes", "proxy-url": "http://me:hunter2@proxy:3128"},
        user={
            "as": "jane",
            "as-uid": "1",
            "as-groups": ["dev"],
            "as-user-extra": {"scopes": ["a", "b"]},
        },
    )
    assert config.tls_server_name == "kubernetes"
    assert config.proxy == "http://me:hunter2@proxy:3128"
    assert config.impersonate == Impersonation(
        "jane", "1", ("dev",), (("scopes", "a"), ("scopes", "b"))
    )
    assert "hunter2" not in repr(config)


def test_environment_proxy_is_the_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy:3128")
    assert load(tmp_path).proxy == "http://proxy:3128"
    monkeypatch.setenv("NO_PROXY", "k8s")
    assert load(tmp_path).proxy is None


def test_insecure_skip_tls_verify_logs_a_warning(tmp_path: Path) -> None:
    with structlog.testing.capture_logs() as logs:
        config = load(tmp_path, cluster={"insecure-skip-tls-verify": True})
    assert config.insecure
    assert [(entry["log_level"], entry["server"]) for entry in logs] == [
        ("warning", "https://k8s:6443")
    ]


def test_login_in_the_address_of_the_server_is_not_shown(tmp_path: Path) -> None:
    server = "https://me:hunter2@k8s:6443/path@1"
    with structlog.testing.capture_logs() as logs:
        config = load(tmp_path, cluster={"server": server, "insecure-skip-tls-verify": True})
    assert logs[0]["server"] == config.address == "https://k8s:6443/path@1"
    assert config.server == server
    assert "hunter2" not in repr(config)


def test_null_fields_are_unset(tmp_path: Path) -> None:
    path = simple(tmp_path / "config", user={"token": None, "as-groups": None})
    assert load_config(path).server == "https://k8s:6443"


@pytest.mark.parametrize(
    ("user", "cluster", "problem"),
    [
        ({"username": "me", "password": "hunter2"}, {}, "has a password or an auth-provider"),
        ({"auth-provider": {"name": "gcp"}}, {}, "has a password or an auth-provider"),
        ({"client-key-data": "aHVudGVyMg=="}, {}, "a certificate without its key"),
        ({"client-key-data": "hunter2!"}, {}, "not valid base64"),
        ({"client-key": "gone.key"}, {}, "gone.key cannot be read: No such file"),
        ({"exec": {"command": "x", "apiVersion": "v1alpha1"}}, {}, "exec plugin has v1alpha1"),
        ({"exec": {"apiVersion": "client.authentication.k8s.io/v1"}}, {}, "has no command"),
        ({}, {"server": "k8s:6443"}, "cluster is not an https:// address"),
        ({}, {"proxy-url": "socks5://proxy"}, "proxy-url: only http:// and https://"),
        ({"token": ["hunter2"]}, {}, "is malformed"),
    ],
)
def test_unusable_configuration_is_rejected(
    tmp_path: Path, user: dict[str, Any], cluster: dict[str, Any], problem: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, user=user, cluster=cluster)
    assert problem in str(caught.value)
    assert "hunter2" not in str(caught.value)


def test_invalid_yaml_is_reported_without_its_content(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text("a: 1\nusers: [{token: hunter2")
    with pytest.raises(ConfigError, match="is not YAML, line 2") as caught:
        load_config(path)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("value", ["2026-13-45", "0x_"])
def test_invalid_yaml_scalar_is_rejected(tmp_path: Path, value: str) -> None:
    path = tmp_path / "config"
    path.write_text(f"users: [{{name: a, user: {{token: {value}}}}}]")
    with pytest.raises(ConfigError, match="is not YAML") as caught:
        load_config(path)
    assert value not in str(caught.value)


def test_context_must_exist_and_be_complete(tmp_path: Path) -> None:
    path = write(
        tmp_path / "config",
        clusters={"c": {"server": "https://k8s"}},
        contexts={"b": {"cluster": "c", "user": "ghost"}, "a": {"cluster": "ghost"}},
    )
    for context, problem in {
        None: "no current-context; choose one with --context: a, b",
        "z": "no context 'z'; available: a, b",
        "a": "its cluster 'ghost' is not defined; available: c",
        "b": "its user 'ghost' is not defined; available: none",
    }.items():
        with pytest.raises(ConfigError) as caught:
            load_config(path, context)
        assert problem in str(caught.value)


def test_first_of_several_files_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = write(
        tmp_path / "one" / "config",
        clusters={"c": {"server": "https://first"}},
        contexts={"x": {"cluster": "c", "user": "u"}},
    )
    second = write(
        tmp_path / "two" / "config",
        clusters={"c": {"server": "https://second"}, "d": {"server": "https://d"}},
        users={"u": {"tokenFile": "token"}},
        contexts={"y": {"cluster": "d", "user": "u", "namespace": "other"}},
        current_context="x",
    )
    monkeypatch.setenv("KUBECONFIG", f"{first}:{tmp_path}/missing::{second}")
    assert load_config().server == "https://first"
    other = load_config(context="y")
    assert (other.server, other.namespace) == ("https://d", "other")
    assert isinstance(other.credentials, TokenFileCredentials)
    assert other.credentials._path == tmp_path / "two" / "token"


SERVICE_ACCOUNT = {"token": "t", "ca.crt": "CA", "namespace": "lynq-system\n"}


def pod(tmp_path: Path, **files: str) -> Path:
    for name, content in (SERVICE_ACCOUNT | files).items():
        if content:
            (tmp_path / name).write_text(content)
    return tmp_path


async def test_in_cluster_config(tmp_path: Path) -> None:
    config = in_cluster(
        pod(tmp_path),
        {"KUBERNETES_SERVICE_HOST": "10.96.0.1", "KUBERNETES_SERVICE_PORT": "6443"},
    )
    assert (config.server, config.namespace) == ("https://10.96.0.1:6443", "lynq-system")
    assert config.certificate_authority == b"CA"
    assert (await shown(config)).token == "t"


def test_in_cluster_config_of_an_ipv6_cluster(tmp_path: Path) -> None:
    config = in_cluster(pod(tmp_path, namespace=""), {"KUBERNETES_SERVICE_HOST": "fd00::1"})
    assert (config.server, config.namespace) == ("https://[fd00::1]:443", "default")


def test_pod_without_a_token_is_an_error_with_a_hint(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="automountServiceAccountToken: true"):
        in_cluster(pod(tmp_path, token=""), {"KUBERNETES_SERVICE_HOST": "10.96.0.1"})


def test_order_of_configuration_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def at(name: str, server: str) -> Path:
        return simple(tmp_path / name, cluster={"server": server})

    explicit, listed = at("explicit", "https://explicit"), at("listed", "https://listed")
    at("home/.kube/config", "https://home")
    assert load_config().server == "https://home"
    monkeypatch.setattr("lynq.kube.config.in_cluster", lambda: ClusterConfig("https://pod"))
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.96.0.1")
    assert load_config().server == "https://pod"
    assert load_config(context="x").server == "https://home", "a context is a kubeconfig's"
    monkeypatch.setenv("KUBECONFIG", str(listed))
    assert load_config().server == "https://listed"
    assert load_config(explicit).server == "https://explicit"


def test_missing_configuration_names_the_sources(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config()
    assert "$KUBECONFIG is not set" in str(caught.value)
    assert "home/.kube/config does not exist" in str(caught.value)
    monkeypatch.setenv("KUBECONFIG", f"{tmp_path}/gone")
    with pytest.raises(ConfigError, match=r"is .*gone, which does not exist"):
        load_config()
    with pytest.raises(ConfigError, match=r"gone cannot be read: No such file"):
        load_config(tmp_path / "gone")
