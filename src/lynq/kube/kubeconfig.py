"""The kubeconfig format: files read, merged as kubectl merges them, one context chosen."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec
import yaml
from msgspec import Struct

from lynq.kube.errors import ConfigError

E = TypeVar("E")


class ClusterEntry(Struct, frozen=True, rename="kebab"):
    """Where an API server is and how to trust it."""

    server: str = ""
    certificate_authority: str = ""
    certificate_authority_data: str = ""
    insecure_skip_tls_verify: bool = False
    tls_server_name: str = ""
    proxy_url: str = ""
    extensions: list[dict[str, Any]] = msgspec.field(default_factory=list)

    def __repr__(self) -> str:
        """Leave the proxy's password out."""
        return f"Cluster(server={self.server!r})"


class EnvVar(Struct, frozen=True):
    """A variable for an exec plugin."""

    name: str
    value: str = ""

    def __repr__(self) -> str:
        """Leave the value out."""
        return f"EnvVar(name={self.name!r})"


class ExecSpec(Struct, frozen=True, rename="camel"):
    """How to run an exec plugin."""

    api_version: str = ""
    command: str = ""
    args: list[str] = msgspec.field(default_factory=list)
    env: list[EnvVar] = msgspec.field(default_factory=list)
    install_hint: str = ""
    provide_cluster_info: bool = False

    def __repr__(self) -> str:
        """Leave arguments and environment out."""
        return f"ExecSpec(command={self.command!r})"


class UserEntry(Struct, frozen=True, rename="kebab"):
    """Who sends the requests."""

    client_certificate: str = ""
    client_certificate_data: str = ""
    client_key: str = ""
    client_key_data: str = ""
    token: str = ""
    token_file: str = msgspec.field(default="", name="tokenFile")
    impersonate: str = msgspec.field(default="", name="as")
    as_uid: str = ""
    as_groups: list[str] = msgspec.field(default_factory=list)
    as_user_extra: dict[str, list[str]] = msgspec.field(default_factory=dict)
    username: str = ""
    password: str = ""
    auth_provider: dict[str, Any] = msgspec.field(default_factory=dict)
    exec: ExecSpec | None = None

    def __repr__(self) -> str:
        """Leave everything out: most of it is secret."""
        return "User(…)"


class ContextEntry(Struct, frozen=True, rename="kebab"):
    """A cluster, a user and a namespace under one name."""

    cluster: str = ""
    user: str = ""
    namespace: str = ""


class _NamedCluster(Struct, frozen=True):
    name: str
    cluster: ClusterEntry = ClusterEntry()


class _NamedUser(Struct, frozen=True):
    name: str
    user: UserEntry = UserEntry()


class _NamedContext(Struct, frozen=True):
    name: str
    context: ContextEntry = ContextEntry()


class _File(Struct, frozen=True, rename="kebab"):
    current_context: str = ""
    clusters: list[_NamedCluster] = msgspec.field(default_factory=list)
    users: list[_NamedUser] = msgspec.field(default_factory=list)
    contexts: list[_NamedContext] = msgspec.field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Located(Generic[E]):
    """An entry and the folder of its file, which relative paths in it start from."""

    entry: E
    folder: Path


@dataclass(frozen=True, slots=True)
class Choice:
    """The context to use, resolved."""

    source: str
    namespace: str
    cluster: Located[ClusterEntry]
    user: Located[UserEntry]


@dataclass(slots=True)
class Kubeconfig:
    """Several files seen as one: of each name, and of current-context, the first one counts."""

    files: list[Path] = field(default_factory=list)
    current: str = ""
    clusters: dict[str, Located[ClusterEntry]] = field(default_factory=dict)
    users: dict[str, Located[UserEntry]] = field(default_factory=dict)
    contexts: dict[str, ContextEntry] = field(default_factory=dict)

    @classmethod
    def read(cls, paths: Sequence[Path]) -> "Kubeconfig":
        """Read and merge files."""
        merged = cls()
        for path in paths:
            merged._add(path, _parse(path))
        return merged

    def _add(self, path: Path, found: _File) -> None:
        folder = path.absolute().parent
        self.files.append(path)
        self.current = self.current or found.current_context
        for cluster in found.clusters:
            self.clusters.setdefault(cluster.name, Located(cluster.cluster, folder))
        for user in found.users:
            self.users.setdefault(user.name, Located(user.user, folder))
        for context in found.contexts:
            self.contexts.setdefault(context.name, context.context)

    def choose(self, name: str | None) -> Choice:
        """Resolve this context, or the current one."""
        where = ", ".join(map(str, self.files))
        wanted = name or self.current
        if not wanted:
            raise ConfigError(
                f"{where}: no current-context; choose one with --context: {_names(self.contexts)}"
            )
        if (context := self.contexts.get(wanted)) is None:
            raise ConfigError(f"{where}: no context {wanted!r}; there are: {_names(self.contexts)}")
        source = f"{where}, context {wanted!r}"
        return Choice(
            source,
            context.namespace or "default",
            _entry(self.clusters, context.cluster, "cluster", source),
            _entry(self.users, context.user, "user", source),
        )


def _entry(entries: dict[str, Located[E]], name: str, what: str, source: str) -> Located[E]:
    try:
        return entries[name]
    except KeyError:
        raise ConfigError(
            f"{source}: its {what} {name!r} is not defined; there are: {_names(entries)}"
        ) from None


def _parse(path: Path) -> _File:
    try:
        content = yaml.safe_load(path.read_bytes())
        return msgspec.convert(_without_nulls(content or {}), _File)
    except OSError as error:
        raise ConfigError(f"the kubeconfig {path} cannot be read: {error.strerror}") from None
    except yaml.YAMLError as error:
        # The error's own text quotes the line, and with it perhaps a token.
        mark = getattr(error, "problem_mark", None)
        place = f", line {mark.line + 1}" if mark else ""
        raise ConfigError(f"the kubeconfig {path} is not YAML{place}") from None
    except msgspec.ValidationError as error:
        raise ConfigError(f"the kubeconfig {path} is malformed: {error}") from None
    except ValueError:
        # What looks like a date or a number to YAML and is none, such as 2026-13-45.
        raise ConfigError(f"the kubeconfig {path} is not YAML: quote its values") from None


def _without_nulls(value: Any) -> Any:  # noqa: ANN401 - YAML is anything
    """Drop nulls: tools write them for whatever is not set."""
    if isinstance(value, dict):
        return {key: _without_nulls(each) for key, each in value.items() if each is not None}
    if isinstance(value, list):
        return [_without_nulls(each) for each in value]
    return value


def _names(entries: Iterable[str]) -> str:
    return ", ".join(sorted(entries)) or "none"
