"""Rules about policies, dependencies and templates of forms, and about the columns of hubs."""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from lynq.api import CreationPolicy, DeletionPolicy, FormSpec, HubSpec, MySQL
from lynq.api.problems import at_key
from lynq.core.form.templates import placed_resources, templates_of
from lynq.core.form.validation import check_autoscalers
from lynq.core.graph.build import entries_of
from lynq.core.graph.model import Edges, edges_between
from lynq.core.lint.model import Finding, FormRule, FormToLint, kind_of
from lynq.template import (
    Needs,
    TemplateError,
    called_functions,
    compile_template,
    referenced_variables,
)

_WHOLE_ROW: Final = re.compile(r"(?<![\w.)\]\"`])\.(?![\w.])|\$(?![\w.])")
"""All variables at once, as in `toJson .`."""
_FALLBACKS: Final = frozenset({"default", "coalesce", "ternary", "empty", "hasKey", "fail", "dig"})
_CONDITION: Final = re.compile(r"\{\{-?\s*(if|with|range)\b")
_TYPED: Final = re.compile(r"\|\s*(int|int64|float64|float|atoi|bool)\s*-?\}\}\s*$")
_BUILT_IN: Final = frozenset({"uid", "activate", "hubId", "templateRef"})


def _random_values(form: FormToLint) -> Iterator[tuple[str, str]]:
    for placed in form.resources:
        if placed.resource.creation_policy is CreationPolicy.ONCE:
            continue
        for text in templates_of(placed):
            if names := called_functions(text.source, Needs.RANDOM):
                yield text.path, f"{', '.join(names)} without creationPolicy: Once"


def _deleted_volumes(form: FormToLint) -> Iterator[tuple[str, str]]:
    for placed in form.resources:
        resource = placed.resource
        is_claim = kind_of(placed) == "PersistentVolumeClaim"
        if is_claim and resource.deletion_policy is DeletionPolicy.DELETE:
            message = (
                f'the volume of "{resource.id}" is deleted with its row: deletionPolicy: Retain'
            )
            yield placed.path, f"{message} keeps it"


def _scaled_replicas(form: FormToLint) -> Iterator[tuple[str, str]]:
    for problem in check_autoscalers(form.resources):
        yield problem.path, problem.message


def _repeated_jobs(form: FormToLint) -> Iterator[tuple[str, str]]:
    for placed in form.resources:
        if kind_of(placed) == "Job" and placed.resource.creation_policy is not CreationPolicy.ONCE:
            yield placed.path, f'the Job "{placed.resource.id}" has no creationPolicy: Once'


def _early_resources(form: FormToLint) -> Iterator[tuple[str, str]]:
    namespaces = {
        placed.name: placed.resource.id
        for placed in form.resources
        if kind_of(placed) == "Namespace"
    }
    edges = edges_between(entries_of(form.spec))
    for placed in form.resources:
        namespace = namespaces.get(placed.resource.target_namespace)
        if namespace is not None and namespace not in _dependencies(placed.resource.id, edges):
            message = f'is created by "{namespace}", which is not among the dependIds'
            yield f"{placed.path}.targetNamespace", message


def _dependencies(resource_id: str, edges: Edges) -> set[str]:
    found: set[str] = set()
    waiting = [resource_id]
    while waiting:
        new = [name for name in edges.get(waiting.pop(), ()) if name not in found]
        found.update(new)
        waiting += new
    return found


def _variables_without_default(form: FormToLint) -> Iterator[tuple[str, str]]:
    for placed in form.resources:
        for text in templates_of(placed):
            # An empty label or annotation is valid.
            is_name = text.path.endswith((".nameTemplate", ".targetNamespace"))
            is_used_as_value = is_name or _TYPED.search(text.source)
            if not is_used_as_value or _has_fallback(text.source):
                continue
            for name in _variables(text.source):
                if name not in _BUILT_IN:
                    yield text.path, f".{name} has no default, and is empty if the column is NULL"


def _has_fallback(source: str) -> bool:
    if _CONDITION.search(source):
        return True
    try:
        return not _FALLBACKS.isdisjoint(compile_template(source).functions)
    except TemplateError:
        return True


def _variables(source: str) -> list[str]:
    try:
        return referenced_variables(source)
    except TemplateError:
        return []


FORM_RULES: Final = (
    FormRule(
        "random-without-once",
        "A node that is created again gets another value, and so replaces a password in use; with "
        "creationPolicy: Once the object keeps the first one.",
        _random_values,
    ),
    FormRule(
        "deletes-volume",
        "The data of a tenant is gone as soon as its row is deactivated or deleted.",
        _deleted_volumes,
    ),
    FormRule(
        "replicas-with-autoscaler",
        "The operator reverts the number of replicas that the autoscaler has chosen.",
        _scaled_replicas,
    ),
    FormRule(
        "job-without-once",
        "The pod template of a Job is immutable: a changed row or form cannot be applied.",
        _repeated_jobs,
    ),
    FormRule(
        "namespace-without-dependency",
        "The resource fails until its Namespace exists, and is deleted in the wrong order.",
        _early_resources,
    ),
    FormRule(
        "variable-without-default",
        "A NULL in the table gives an invalid name, namespace or number, and the resource fails.",
        _variables_without_default,
    ),
)

UNUSED_COLUMN: Final = "unused-column"
UNUSED_COLUMN_REASON: Final = (
    "The column is read in every sync, and each change of it writes a node for nothing."
)


def unused_columns(hub: HubSpec, forms: Iterable[FormSpec]) -> Iterator[Finding]:
    """Yield the mapped columns that no form of the hub uses."""
    used: set[str] = set()
    for form in forms:
        for text in (text for placed in placed_resources(form) for text in templates_of(placed)):
            if any(_WHOLE_ROW.search(action) for action in _actions(text.source)):
                return
            used.update(_variables(text.source))
    for variable in sorted(hub.extra_value_mappings.keys() - used):
        path = at_key("spec.extraValueMappings", variable)
        yield Finding(UNUSED_COLUMN, path, f"no form of the files uses .{variable}")


UNVERIFIED_SERVER: Final = "unverified-server"
UNVERIFIED_SERVER_REASON: Final = (
    "A server that is not verified gets no password, and a MySQL 8 account with "
    "caching_sha2_password has to send it after each restart of its server."
)


def unverified_servers(hub: HubSpec) -> Iterator[Finding]:
    """Yield the connection to a MySQL server that some accounts cannot log in to."""
    block = hub.source.block
    if isinstance(block, MySQL) and block.logs_in_by_challenge_only:
        message = (
            "the server is not verified: set tls.mode to verify-full, or tls.serverPublicKeyRef, "
            "unless the account logs in by challenge and response, as with MariaDB"
        )
        path = "spec.source.mysql.tls" if block.tls else "spec.source.mysql"
        yield Finding(UNVERIFIED_SERVER, path, message)


def _actions(source: str) -> Iterator[str]:
    """Yield the text between each pair of braces."""
    start = source.find("{{")
    while start >= 0 and (end := source.find("}}", start)) >= 0:
        yield source[start:end]
        start = source.find("{{", end)
