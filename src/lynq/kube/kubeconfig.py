"""Reads kubeconfig files, merges them like kubectl, and resolves a context."""

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
    """An entry of `clusters`: the API server and its CA."""

    server: str = ""
    certificate_authority: str = ""
    certificate_authority_data: str = ""
    insecure_skip_tls_verify: bool = False
    tls_server_name: str = ""
    proxy_url: str = ""
    extensions: list[dict[str, Any]] = msgspec.field(default_factory=list)

    def __repr__(self) -> str:
        """Omit the proxy, which can contain a password."""
        return f"Cluster(server={self.server!r})"


class EnvVar(Struct, frozen=True):
    """An environment variable of an exec plugin."""

    name: str
    value: str = ""

    def __repr__(self) -> str:
        """Omit the value."""
        return f"EnvVar(name={self.name!r})"


class ExecSpec(Struct, frozen=True, rename="camel"):
    """The exec plugin of a user."""

    api_version: str = ""
    command: str = ""
    args: list[str] = msgspec.field(default_factory=list)
    env: list[EnvVar] = msgspec.field(default_factory=list)
    install_hint: str = ""
    provide_cluster_info: bool = False

    def __repr__(self) -> str:
        """Omit arguments and environment."""
        return f"ExecSpec(command={self.command!r})"


class UserEntry(Struct, frozen=True, rename="kebab"):
    """An entry of `users`: the credentials."""

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
        """Omit all fields: most of them are secret."""
        return "User(…)"


class ContextEntry(Struct, frozen=True, rename="kebab"):
    """An entry of `contexts`: cluster, user and namespace."""

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
    """An entry and the folder of its file, the base of relative paths."""

    entry: E
    folder: Path


@dataclass(frozen=True, slots=True)
class Choice:
    """A resolved context."""

    source: str
    namespace: str
    cluster: Located[ClusterEntry]
    user: Located[UserEntry]


@dataclass(slots=True)
class Kubeconfig:
    """The merge of several files: of each name, and of current-context, the first one wins."""

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

    def _add(self, path: Path, file: _File) -> None:
        folder = path.absolute().parent
        self.files.append(path)
        self.current = self.current or file.current_context
        for cluster in file.clusters:
            self.clusters.setdefault(cluster.name, Located(cluster.cluster, folder))
        for user in file.users:
            self.users.setdefault(user.name, Located(user.user, folder))
        for context in file.contexts:
            self.contexts.setdefault(context.name, context.context)

    def choose(self, name: str | None) -> Choice:
        """Resolve this context, or the current one."""
        where = ", ".join(map(str, self.files))
        selected = name or self.current
        if not selected:
            raise ConfigError(
                f"{where}: no current-context; choose one with --context: {_names(self.contexts)}"
            )
        if (context := self.contexts.get(selected)) is None:
            raise ConfigError(
                f"{where}: no context {selected!r}; available: {_names(self.contexts)}"
            )
        source = f"{where}, context {selected!r}"
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
            f"{source}: its {what} {name!r} is not defined; available: {_names(entries)}"
        ) from None


def _parse(path: Path) -> _File:
    try:
        content = yaml.safe_load(path.read_bytes())
        return msgspec.convert(_without_nulls(content or {}), _File)
    except OSError as error:
        raise ConfigError(f"the kubeconfig {path} cannot be read: {error.strerror}") from None
    except yaml.YAMLError as error:
        # The text of the error quotes the line, which can contain a token.
        mark = getattr(error, "problem_mark", None)
        line = f", line {mark.line + 1}" if mark else ""
        raise ConfigError(f"the kubeconfig {path} is not YAML{line}") from None
    except msgspec.ValidationError as error:
        raise ConfigError(f"the kubeconfig {path} is malformed: {error}") from None
    except RecursionError:
        raise ConfigError(f"the kubeconfig {path} is nested too deeply") from None
    except ValueError:
        # A scalar that looks like a date or a number and is invalid, such as 2026-13-45.
        raise ConfigError(f"the kubeconfig {path} is not YAML: quote its values") from None


def _without_nulls(value: Any) -> Any:  # noqa: ANN401 - YAML is anything
    """Drop nulls, which tools write for unset fields."""
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_without_nulls(item) for item in value]
    return value


def _names(entries: Iterable[str]) -> str:
    return ", ".join(sorted(entries)) or "none"
