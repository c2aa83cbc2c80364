"""Where the cluster is and who we are: from kubeconfig files, or from the pod we run in."""

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
from lynq.kube.proxy import checked_proxy, environment_proxy

SERVICE_ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")

_EXEC_EXTENSION = "client.authentication.k8s.io/exec"

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Impersonation:
    """Whom the requests act as, in place of the one who sends them."""

    user: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class ClusterConfig:
    """One cluster as one user sees it. Its repr holds no secret."""

    server: str
    source: str = ""
    """Where this was read from, for messages."""
    certificate_authority: bytes | None = field(default=None, repr=False)
    """PEM; None: the system's."""
    tls_server_name: str | None = None
    insecure: bool = False
    proxy: str | None = field(default=None, repr=False)
    """The proxy's URL, which can hold a password; None: none."""
    namespace: str = "default"
    credentials: Credentials = field(default_factory=StaticCredentials, repr=False)
    impersonate: Impersonation | None = None


def load_config(kubeconfig: Path | None = None, context: str | None = None) -> ClusterConfig:
    """Find the cluster: the file given, $KUBECONFIG, the pod we run in, ~/.kube/config.

    A context that is given names an entry of a kubeconfig, so the pod is then passed over.
    """
    if kubeconfig is not None:
        return _from_files([kubeconfig], context)
    if listed := os.environ.get("KUBECONFIG"):
        paths = [Path(each) for each in listed.split(os.pathsep) if each]
        # Like kubectl, bear that some of them are not there.
        if present := [path for path in paths if path.exists()]:
            return _from_files(present, context)
        raise _nowhere(f"$KUBECONFIG names {listed}, which is not there")
    if context is None and os.environ.get("KUBERNETES_SERVICE_HOST"):
        return in_cluster()
    home = Path.home() / ".kube" / "config"
    if home.exists():
        return _from_files([home], context)
    raise _nowhere(f"$KUBECONFIG is not set, this is no pod, and {home} is not there")


def _from_files(paths: list[Path], context: str | None) -> ClusterConfig:
    return from_kubeconfig(Kubeconfig.read(paths).choose(context))


def _nowhere(looked: str) -> ConfigError:
    return ConfigError(
        f"no cluster to talk to: no kubeconfig was given, {looked}."
        " Give --kubeconfig, or set KUBECONFIG to a file that exists"
    )


def in_cluster(
    folder: Path = SERVICE_ACCOUNT, environment: Mapping[str, str] = os.environ
) -> ClusterConfig:
    """Return what a pod is told about its cluster."""
    host, port = environment["KUBERNETES_SERVICE_HOST"], environment.get("KUBERNETES_SERVICE_PORT")
    token, authority = folder / "token", folder / "ca.crt"
    for needed in (token, authority):
        if not needed.exists():
            raise ConfigError(
                f"this pod has no {needed}: set automountServiceAccountToken: true, or give"
                " --kubeconfig"
            )
    namespace = folder / "namespace"
    server = f"https://{f'[{host}]' if ':' in host else host}:{port or 443}"
    return ClusterConfig(
        server,
        source="the pod's service account",
        certificate_authority=authority.read_bytes(),
        proxy=environment_proxy(server, environment),
        namespace=namespace.read_text().strip() if namespace.exists() else "default",
        credentials=TokenFileCredentials(token),
    )


def from_kubeconfig(choice: Choice) -> ClusterConfig:
    """Return what a context of a kubeconfig says."""
    cluster, source = choice.cluster.entry, choice.source
    if not cluster.server.startswith(("https://", "http://")):
        raise ConfigError(f"{source}: its cluster's server is no https:// address")
    if cluster.insecure_skip_tls_verify:
        _log.warning(
            "the API server's certificate is not verified: insecure-skip-tls-verify is set",
            server=cluster.server,
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
        cluster.tls_server_name or None,
        cluster.insecure_skip_tls_verify,
        _proxy(cluster, source),
        choice.namespace,
        _credentials(choice, authority),
        _impersonation(choice.user.entry),
    )


def _proxy(cluster: ClusterEntry, source: str) -> str | None:
    if cluster.proxy_url:
        return checked_proxy(cluster.proxy_url, f"{source}: proxy-url")
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
            f"{choice.source}: its user has a password or an auth-provider, which Kubernetes gave"
            " up; use a token, a client certificate or an exec plugin"
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
    shown = _content(entry.client_certificate_data, entry.client_certificate, folder, source)
    key = _content(entry.client_key_data, entry.client_key, folder, source)
    if shown and key:
        return ClientCertificate(shown, key)
    if shown or key:
        raise ConfigError(f"{source}: its user has a certificate without its key, or the reverse")
    return None


def _plugin(choice: Choice, authority: bytes | None) -> ExecPlugin:
    spec = choice.user.entry.exec
    if spec is None or not spec.command:
        raise ConfigError(f"{choice.source}: its user's exec plugin has no command")
    if spec.api_version not in API_VERSIONS:
        raise ConfigError(
            f"{choice.source}: its user's exec plugin speaks {spec.api_version or 'no apiVersion'};"
            f" supported are {' and '.join(API_VERSIONS)}"
        )
    return ExecPlugin(
        spec.command,
        spec.api_version,
        tuple(spec.args),
        tuple((each.name, each.value) for each in spec.env),
        spec.install_hint,
        choice.user.folder,
        _cluster_info(choice.cluster.entry, authority) if spec.provide_cluster_info else None,
    )


def _cluster_info(cluster: ClusterEntry, authority: bytes | None) -> dict[str, Any]:
    own = [
        each.get("extension") for each in cluster.extensions if each.get("name") == _EXEC_EXTENSION
    ]
    return {
        "server": cluster.server,
        "tls-server-name": cluster.tls_server_name,
        "insecure-skip-tls-verify": cluster.insecure_skip_tls_verify,
        "certificate-authority-data": b64encode(authority or b"").decode(),
        "proxy-url": cluster.proxy_url,
        "config": own[0] if own else None,
    }


def _content(inline: str, name: str, folder: Path, source: str) -> bytes | None:
    """Return a certificate or key: inline wins over a file, as for kubectl."""
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
