"""Decides which objects a node may write and delete.

The operator by its flags and each form by its spec limit the namespaces and the cluster-scoped
kinds of objects. An object needs the permission of all of them. Without limits, everything is
allowed that the service account, or else the operator, may write.

A limit of namespaces would be none if a ClusterRoleBinding could still be written. So where
namespaces are limited and no cluster-scoped kinds are listed, Namespaces with an allowed name are
the only cluster-scoped objects. A list of cluster-scoped kinds is complete: Namespace is a kind as
any other.

Labels of a Namespace can lift the Pod Security Standard of all pods in it, and open the network
policies that select namespaces. The operator's flags name those that no form may set.

A write is decided with the rendered object, and admission asks the same functions about the literal
parts of a form. A deletion is limited for Namespaces only, because it deletes the objects of
others, and by their name only: what was written before a limit can be deleted.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Final

from msgspec import Struct

from lynq.api import FormSpec, PatchStrategy

_Identity = tuple[str, str, str, str]
"""Group, kind, namespace and name of an object; the namespace of a cluster-scoped one is ""."""

_NAMESPACE: Final = "Namespace"
_GROUP_KIND: Final = re.compile(r"[A-Z][A-Za-z0-9]*(?:\.[a-z0-9][-a-z0-9]*)*")


class ObjectLimits(Struct, frozen=True, kw_only=True):
    """The objects that the operator or one form allows; by default all."""

    form: str = ""
    """The name of the form; "" for the operator."""
    namespaces: tuple[str, ...] = ()
    """Patterns of namespaces besides the node's own; empty: all."""
    cluster_kinds: tuple[str, ...] = ()
    """Cluster-scoped kinds, each as `Kind` or `Kind.group`; empty: all, or where namespaces are
    limited Namespace only."""
    denied_labels: tuple[str, ...] = ()
    """Patterns of keys of labels that Namespaces may not have."""

    @classmethod
    def of_form(cls, name: str, spec: FormSpec) -> "ObjectLimits":
        """Return the limits of a form."""
        return cls(
            form=name,
            namespaces=spec.allowed_namespaces,
            cluster_kinds=spec.allowed_cluster_kinds,
        )

    @property
    def _namespaces_field(self) -> str:
        return self._field("allowedNamespaces", "--allowed-namespaces")

    @property
    def _kinds_field(self) -> str:
        return self._field("allowedClusterKinds", "--allowed-cluster-kinds")

    def _field(self, name: str, flag: str) -> str:
        return f'spec.{name} of LynqForm "{self.form}"' if self.form else f"the operator's {flag}"

    def namespace_denial(self, namespace: str) -> str:
        """Return why objects in a namespace are denied; "" if they are allowed."""
        if not self.namespaces or _matches(namespace, self.namespaces):
            return ""
        return f'namespace "{namespace}" is not in {self._namespaces_field}'

    def cluster_kind_denial(self, group_kind: str) -> str:
        """Return why objects of a cluster-scoped kind are denied; "" if they are allowed."""
        if group_kind in self.cluster_kinds:
            return ""
        if self.cluster_kinds:
            return f"the cluster-scoped kind {group_kind} is not in {self._kinds_field}"
        if not self.namespaces or group_kind == _NAMESPACE:
            return ""
        return (
            f"the cluster-scoped kind {group_kind} is in no namespace, and "
            f"{self._namespaces_field} is set: add the kind to {self._kinds_field}"
        )

    def labels_denial(self, labels: Iterable[str]) -> str:
        """Return why a Namespace with these labels is denied; "" if it is allowed."""
        denied = sorted(label for label in labels if _matches(label, self.denied_labels))
        if not denied:
            return ""
        return (
            f'the label "{denied[0]}" of Namespaces is in the operator\'s '
            "--denied-namespace-labels: remove it from the LynqForm"
        )

    def replace_denial(self) -> str:
        """Return why a Namespace may not be replaced; "" if it may."""
        if not self.denied_labels:
            return ""
        return (
            "patchStrategy replace would remove the labels of the Namespace that are in the "
            "operator's --denied-namespace-labels: use apply or merge"
        )


NO_LIMITS: Final = ObjectLimits()
"""Everything is allowed."""


class ObjectWrite(Struct, frozen=True, kw_only=True):
    """An object that a node writes."""

    identity: _Identity
    labels: Collection[str] = ()
    """The keys of its labels."""
    patch_strategy: PatchStrategy = PatchStrategy.APPLY

    @classmethod
    def of(
        cls, identity: _Identity, obj: Mapping[str, object], strategy: PatchStrategy
    ) -> "ObjectWrite":
        """Return the write of a rendered object."""
        metadata = obj.get("metadata")
        labels = metadata.get("labels") if isinstance(metadata, Mapping) else None
        keys = tuple(map(str, labels)) if isinstance(labels, Mapping) else ()
        return cls(identity=identity, labels=keys, patch_strategy=strategy)


def write_denial(write: ObjectWrite, own_namespace: str, limits: Iterable[ObjectLimits]) -> str:
    """Return why a node in `own_namespace` may not write an object; "" if it may."""
    group, kind, namespace, _ = write.identity
    for limit in limits:
        if not namespace and (denial := limit.cluster_kind_denial(_group_kind(group, kind))):
            return denial
        if denial := _namespace_denial(write.identity, own_namespace, limit):
            return denial
        if _is_namespace(write.identity) and (denial := _manifest_denial(write, limit)):
            return denial
    return ""


def deletion_denial(identity: _Identity, own_namespace: str, limits: Iterable[ObjectLimits]) -> str:
    """Return why a node in `own_namespace` may not delete an object; "" if it may."""
    if not _is_namespace(identity):
        return ""
    denials = (_namespace_denial(identity, own_namespace, limit) for limit in limits)
    return next(filter(None, denials), "")


def group_kind_problem(text: str) -> str:
    """Return why a text is no `Kind` or `Kind.group`; "" if it is one."""
    if _GROUP_KIND.fullmatch(text):
        return ""
    return f'"{text}" is not a kind: use Namespace or ClusterRole.rbac.authorization.k8s.io'


def _group_kind(group: str, kind: str) -> str:
    """Return `Kind`, or `Kind.group` outside of the core group, as kubectl names it."""
    return f"{kind}.{group}" if group else kind


def _is_namespace(identity: _Identity) -> bool:
    return identity[:2] == ("", _NAMESPACE)


def _namespace_denial(identity: _Identity, own_namespace: str, limit: ObjectLimits) -> str:
    _, _, namespace, name = identity
    target = name if _is_namespace(identity) else namespace
    return "" if target in ("", own_namespace) else limit.namespace_denial(target)


def _manifest_denial(write: ObjectWrite, limit: ObjectLimits) -> str:
    if write.patch_strategy is PatchStrategy.REPLACE and (denial := limit.replace_denial()):
        return denial
    return limit.labels_denial(write.labels)


def _matches(text: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(text, pattern) for pattern in patterns)
