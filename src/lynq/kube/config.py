"""The configuration of a client: from kubeconfig files, or from the pod's service account."""

import os
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import structlog

from lynq.kube.credentials import (
    API_VERSIONS,
    ClientCertificate,
    Credential,
    Credentials,
    ExecCredentials,
    ExecPlugin,
    StaticCredentials,
    TokenFileCredentials,
)
from lynq.kube.errors import ConfigError
from lynq.kube.kubeconfig import Choice, ClusterEntry, Kubeconfig, Located, UserEntry
from lynq.kube.proxy import environment_proxy, validated_proxy

SERVICE_ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")

_EXEC_EXTENSION = "client.authentication.k8s.io/exec"

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Impersonation:
    """The user that requests impersonate."""

    user: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class ClusterConfig:
    """An API server and the credentials for it. Its repr contains no secret."""

    server: str = field(repr=False)
    """The URL of the server, which can contain a login; `address` is the one to show."""
    source: str = ""
    """The origin of this configuration, for messages."""
    certificate_authority: bytes | None = field(default=None, repr=False)
    """PEM; None: the CAs of the system."""
    certificate_authority_file: Path | None = None
    """The file of `certificate_authority`; it is read again when it no longer fits the server."""
    tls_server_name: str | None = None
    insecure: bool = False
    proxy: str | None = field(default=None, repr=False)
    """The URL of the proxy, which can contain a password."""
    namespace: str = "default"
    credentials: Credentials = field(default_factory=StaticCredentials, repr=False)
    impersonate: Impersonation | None = None

    @property
    def address(self) -> str:
        """The server as it is shown: without a login that its URL has."""
        return shown_url(self.server)


def shown_url(url: str) -> str:
    """Return a URL without its login."""
    scheme, separator, rest = url.partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}{separator}{host.rpartition('@')[2]}{slash}{path}"


def load_config(kubeconfig: Path | None = None, context: str | None = None) -> ClusterConfig:
    """Load the given kubeconfig, $KUBECONFIG, the pod's service account, or ~/.kube/config.

    A context is an entry of a kubeconfig, so with a context the pod is skipped.
    """
    if kubeconfig is not None:
        return _from_files([kubeconfig], context)
    if listed := os.environ.get("KUBECONFIG"):
        paths = [Path(path) for path in listed.split(os.pathsep) if path]
        # Like kubectl, ignore missing files.
        if present := [path for path in paths if path.exists()]:
            return _from_files(present, context)
        raise _not_configured(f"$KUBECONFIG is {listed}, which does not exist")
    if context is None and os.environ.get("KUBERNETES_SERVICE_HOST"):
        return in_cluster()
    home = Path.home() / ".kube" / "config"
    if home.exists():
        return _from_files([home], context)
    raise _not_configured(f"$KUBECONFIG is not set, this is not a pod, and {home} does not exist")


def _from_files(paths: list[Path], context: str | None) -> ClusterConfig:
    return from_kubeconfig(Kubeconfig.read(paths).choose(context))


def _not_configured(reason: str) -> ConfigError:
    return ConfigError(
        f"no cluster configured: no kubeconfig was given, {reason}."
        " Use --kubeconfig, or set KUBECONFIG to an existing file"
    )


def in_cluster(
    folder: Path = SERVICE_ACCOUNT, environment: Mapping[str, str] = os.environ
) -> ClusterConfig:
    """Return the configuration of a pod with a service account."""
    host, port = environment["KUBERNETES_SERVICE_HOST"], environment.get("KUBERNETES_SERVICE_PORT")
    token, authority = folder / "token", folder / "ca.crt"
    for file in (token, authority):
        if not file.exists():
            raise ConfigError(
                f"this pod has no {file}: set automountServiceAccountToken: true, or use"
                " --kubeconfig"
            )
    namespace = folder / "namespace"
    server = f"https://{f'[{host}]' if ':' in host else host}:{port or 443}"
    return ClusterConfig(
        server,
        source="the pod's service account",
        certificate_authority=authority.read_bytes(),
        certificate_authority_file=authority,
        proxy=environment_proxy(server, environment),
        namespace=namespace.read_text().strip() if namespace.exists() else "default",
        credentials=TokenFileCredentials(token),
    )


def from_kubeconfig(choice: Choice) -> ClusterConfig:
    """Return the configuration of a context of a kubeconfig."""
    cluster, source = choice.cluster.entry, choice.source
    if not cluster.server.startswith(("https://", "http://")):
        raise ConfigError(f"{source}: the server of its cluster is not an https:// address")
    if cluster.insecure_skip_tls_verify:
        _log.warning(
            "the API server's certificate is not verified: insecure-skip-tls-verify is set",
            server=shown_url(cluster.server),
            source=source,
        )
    authority = _content(
        cluster.certificate_authority_data,
        cluster.certificate_authority,
        choice.cluster.folder,
        source,
    )
    return ClusterConfig(
        cluster.server,
        source,
        authority,
        _authority_file(choice.cluster),
        cluster.tls_server_name or None,
        cluster.insecure_skip_tls_verify,
        _proxy(cluster, source),
        choice.namespace,
        _credentials(choice, authority),
        _impersonation(choice.user.entry),
    )


def _authority_file(cluster: Located[ClusterEntry]) -> Path | None:
    entry = cluster.entry
    if entry.certificate_authority_data or not entry.certificate_authority:
        return None
    return cluster.folder / entry.certificate_authority


def _proxy(cluster: ClusterEntry, source: str) -> str | None:
    if cluster.proxy_url:
        return validated_proxy(cluster.proxy_url, f"{source}: proxy-url")
    return environment_proxy(cluster.server, os.environ)


def _impersonation(user: UserEntry) -> Impersonation | None:
    if not user.impersonate:
        return None
    extra = tuple((key, value) for key, values in user.as_user_extra.items() for value in values)
    return Impersonation(user.impersonate, user.as_uid, tuple(user.as_groups), extra)


def _credentials(choice: Choice, authority: bytes | None) -> Credentials:
    user, folder = choice.user.entry, choice.user.folder
    if user.username or user.password or user.auth_provider:
        raise ConfigError(
            f"{choice.source}: its user has a password or an auth-provider, which Kubernetes no"
            " longer supports; use a token, a client certificate or an exec plugin"
        )
    certificate = _certificate(choice.user, choice.source)
    if user.token_file:
        return TokenFileCredentials(folder / user.token_file, certificate)
    if user.token or certificate or user.exec is None:
        return StaticCredentials(Credential(user.token or None, certificate))
    return ExecCredentials(_plugin(choice, authority))


def _certificate(user: Located[UserEntry], source: str) -> ClientCertificate | None:
    entry = user.entry
    folder = user.folder
    certificate = _content(entry.client_certificate_data, entry.client_certificate, folder, source)
    key = _content(entry.client_key_data, entry.client_key, folder, source)
    if certificate and key:
        return ClientCertificate(certificate, key)
    if certificate or key:
        raise ConfigError(f"{source}: its user has a certificate without its key, or the reverse")
    return None


def _plugin(choice: Choice, authority: bytes | None) -> ExecPlugin:
    spec = choice.user.entry.exec
    if spec is None or not spec.command:
        raise ConfigError(f"{choice.source}: its user's exec plugin has no command")
    if spec.api_version not in API_VERSIONS:
        raise ConfigError(
            f"{choice.source}: its user's exec plugin has {spec.api_version or 'no apiVersion'};"
            f" supported are {' and '.join(API_VERSIONS)}"
        )
    return ExecPlugin(
        spec.command,
        spec.api_version,
        tuple(spec.args),
        tuple((variable.name, variable.value) for variable in spec.env),
        spec.install_hint,
        choice.user.folder,
        _cluster_info(choice.cluster.entry, authority) if spec.provide_cluster_info else None,
    )


def _cluster_info(cluster: ClusterEntry, authority: bytes | None) -> dict[str, Any]:
    config = [
        extension.get("extension")
        for extension in cluster.extensions
        if extension.get("name") == _EXEC_EXTENSION
    ]
    return {
        "server": cluster.server,
        "tls-server-name": cluster.tls_server_name,
        "insecure-skip-tls-verify": cluster.insecure_skip_tls_verify,
        "certificate-authority-data": b64encode(authority or b"").decode(),
        "proxy-url": cluster.proxy_url,
        "config": config[0] if config else None,
    }


def _content(inline: str, name: str, folder: Path, source: str) -> bytes | None:
    """Return a certificate or key; like in kubectl, inline data wins over a file."""
    if inline:
        try:
            return b64decode(inline, validate=True)
        except ValueError:
            raise ConfigError(f"{source}: a certificate or key is not valid base64") from None
    if not name:
        return None
    try:
        return (folder / name).read_bytes()
    except OSError as error:
        raise ConfigError(f"{source}: {folder / name} cannot be read: {error.strerror}") from None
