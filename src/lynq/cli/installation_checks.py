"""Gathers the facts that `lynq doctor` judges, with the viewer's own rights.

A denied read is a warning that names the missing verb, and ends only its own check.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

from lynq.api import LynqForm, LynqHub, LynqNode
from lynq.api.crds import build as definitions
from lynq.api.names import LEASE
from lynq.cli.connection import Cluster
from lynq.cli.lookup import FORMS, HUBS, NODES
from lynq.cli.source_check import connection_result
from lynq.controllers.installation_key import KEY_SECRET, read_key, uses_key
from lynq.core.health.checks import (
    CheckResult,
    KindInUse,
    LeaseFacts,
    Severity,
    check_clock,
    check_crd,
    check_deployments,
    check_form,
    check_hub,
    check_key,
    check_leases,
    check_scale,
    failure,
    key_secret_of,
    kinds_in_use,
    ok,
    warning,
)
from lynq.kube import Discovery, Request, Resource, Response, Send
from lynq.kube.access_review import Subject, may_get_object, may_use, service_account
from lynq.kube.errors import Forbidden, KubeError, NotFound, UnknownKind
from lynq.kube.lease import Lease
from lynq.kube.resource import CUSTOM_RESOURCE_DEFINITIONS, LEASES, SECRETS

T = TypeVar("T")

_DEPLOYMENTS: Final = Resource("apps", "v1", "Deployment", "deployments", namespaced=True)
_OPERATOR: Final = "app.kubernetes.io/name=lynq"
_READ_VERBS: Final = ("list", "watch")
_WRITE_VERBS: Final = ("get", "create", "patch", "delete")
_DOCTOR: Final = "lynq-doctor"


@dataclass(frozen=True, slots=True)
class Inspection:
    """The options of `lynq doctor`."""

    connect: bool = False
    account: str = ""
    """`NAMESPACE/NAME` of the operator's account; empty: that of its Deployment."""
    sqlite_directory: Path | None = None


@dataclass(frozen=True, slots=True)
class _Installation:
    """The objects that the viewer may list."""

    hubs: list[LynqHub]
    forms: list[LynqForm]
    nodes: list[LynqNode]


async def inspect(cluster: Cluster, inspection: Inspection) -> AsyncIterator[CheckResult]:
    """Run all checks in their order; raises KubeError only if the API server is away."""
    server_time = await _server_time(cluster)
    yield check_clock(server_time, datetime.now(UTC).replace(microsecond=0))
    installed = True
    for expected in definitions():
        name = f"crd {expected['spec']['names']['plural']}"
        result = await _guarded(name, _crd, cluster, expected)
        installed = installed and result.severity is not Severity.FAILURE
        yield result
    deployments: list[dict[str, Any]] = []
    async for result in _operator(cluster, deployments, server_time):
        yield result
    if not installed:
        return
    yield await _guarded("webhooks", _webhooks, cluster)
    async for result in _objects(cluster, inspection, deployments):
        yield result


async def _operator(
    cluster: Cluster, deployments: list[dict[str, Any]], now: datetime
) -> AsyncIterator[CheckResult]:
    """Check the operator and its Lease; its Deployments are added to `deployments`."""
    try:
        deployments += (await cluster.client.list(_DEPLOYMENTS, labels=_OPERATOR)).items
    except KubeError as error:
        yield warning("operator", f"not checked: {error}")
    else:
        for result in check_deployments(deployments):
            yield result
    async for result in _leases(cluster, now):
        yield result


async def _objects(
    cluster: Cluster, inspection: Inspection, deployments: list[dict[str, Any]]
) -> AsyncIterator[CheckResult]:
    """Check hubs, forms and nodes, and the rights that they need."""
    listed, denied = await _list_objects(cluster)
    for result in denied:
        yield result
    operator = _operator_account(inspection.account, deployments)
    async for result in _rights(cluster, listed.forms, operator):
        yield result
    if operator:
        yield await _guarded("installation key", _key, cluster, deployments, operator, listed.nodes)
    for hub in listed.hubs:
        yield check_hub(hub)
        if inspection.connect:
            yield await connection_result(cluster, hub, inspection.sqlite_directory)
    for form in listed.forms:
        if problem := check_form(form):
            yield problem
    for result in check_scale(listed.nodes, len(deployments)):
        yield result


async def _guarded(
    name: str, check: Callable[..., Awaitable[CheckResult]], *arguments: object
) -> CheckResult:
    try:
        return await check(*arguments)
    except Forbidden as error:
        return warning(name, f"not checked: {error}")
    except KubeError as error:
        return failure(name, str(error))


async def _server_time(cluster: Cluster) -> datetime:
    """Return the time of the API server by the header Date."""
    times: list[datetime] = []

    async def record(request: Request, send: Send) -> Response:
        response = await send(request)
        headers = {name.lower(): value for name, value in response.headers.items()}
        if date := headers.get("date"):
            times.append(parsedate_to_datetime(date))
        return response

    await cluster.client.intercepted(record).raw("/version")
    return times[-1] if times else datetime.now(UTC)


async def _crd(cluster: Cluster, expected: dict[str, Any]) -> CheckResult:
    name = expected["metadata"]["name"]
    try:
        live = await cluster.client.get(CUSTOM_RESOURCE_DEFINITIONS, name)
    except NotFound:
        live = None
    return check_crd(expected, live)


async def _leases(cluster: Cluster, now: datetime) -> AsyncIterator[CheckResult]:
    try:
        listed = (await cluster.client.list(LEASES, into=Lease)).items
    except KubeError as error:
        yield warning("lease", f"not checked: {error}")
        return
    facts = [
        LeaseFacts(
            lease.metadata.name,
            lease.metadata.namespace,
            lease.holder,
            lease.spec.renew_time,
            timedelta(seconds=lease.spec.lease_duration_seconds or 15),
        )
        for lease in listed
        if lease.metadata.name == LEASE or lease.metadata.name.startswith(f"{LEASE}-shard-")
    ]
    for result in check_leases(facts, now):
        yield result


async def _webhooks(cluster: Cluster) -> CheckResult:
    """Try an invalid and a valid form by dry runs."""
    refusal = await _dry_run(cluster, "{{ .uid")
    if refusal is None:
        return warning(
            "webhooks",
            "an invalid form is accepted: they are not installed, or do not cover the namespace "
            f"{cluster.namespace}; the condition Valid of a form still reports its problems",
        )
    if not isinstance(refusal, Forbidden):
        return failure("webhooks", str(refusal))
    if refusal := await _dry_run(cluster, "{{ .uid }}"):
        return failure("webhooks", f"a valid form is refused: {refusal}")
    return ok("webhooks", "an invalid form is refused, a valid one passes")


async def _dry_run(cluster: Cluster, name_template: str) -> KubeError | None:
    """Return why a form with this nameTemplate is refused; None if it is accepted.

    Raises Forbidden if the viewer may not create forms.
    """
    body = {"apiVersion": "v1", "kind": "ConfigMap", "data": {}}
    entry = {"id": "settings", "nameTemplate": name_template, "spec": body}
    form = {
        "metadata": {"name": _DOCTOR, "namespace": cluster.namespace},
        "spec": {"hubId": _DOCTOR, "configMaps": [entry]},
    }
    try:
        await cluster.client.create(FORMS, form, dry_run=True)
    except KubeError as error:
        if isinstance(error, Forbidden) and error.missing_right:
            raise
        return error
    return None


async def _list_objects(cluster: Cluster) -> tuple[_Installation, list[CheckResult]]:
    denied: list[CheckResult] = []

    async def items(resource: Resource, into: type[T]) -> list[T]:
        for namespace in (None, cluster.namespace):
            try:
                return (await cluster.client.list(resource, namespace, into=into)).items
            except Forbidden as error:
                problem = warning(resource.plural, f"not checked: {error}")
            except KubeError as error:
                problem = failure(resource.plural, str(error))
        denied.append(problem)
        return []

    listed = _Installation(
        await items(HUBS, LynqHub), await items(FORMS, LynqForm), await items(NODES, LynqNode)
    )
    return listed, denied


async def _key(
    cluster: Cluster, deployments: list[dict[str, Any]], operator: Subject, nodes: list[LynqNode]
) -> CheckResult:
    """Check that the operator may read the installation key, and that there is one."""
    # The username of an account: system:serviceaccount:NAMESPACE:NAME.
    own_namespace = operator.username.split(":")[2]
    namespace, secret = key_secret_of(deployments, own_namespace, KEY_SECRET)
    may_get = await may_get_object(cluster.client, operator, SECRETS, namespace, secret)
    judge = partial(
        check_key,
        f"Secret {namespace}/{secret}",
        denied="" if may_get else operator.username,
        was_used=uses_key(nodes),
    )
    try:
        return judge(await read_key(cluster.client, namespace, secret) if may_get else None)
    except NotFound:
        return judge(None)


async def _rights(
    cluster: Cluster, forms: list[LynqForm], operator: Subject | None
) -> AsyncIterator[CheckResult]:
    """Ask for the rights of the operator, and of forms' accounts, on each kind in use."""
    if operator is None:
        yield warning("rights", "not checked: the operator's account is unknown, --service-account")
        return
    discovery, missing = Discovery(cluster.client), 0
    kinds = kinds_in_use(forms)
    try:
        for kind in kinds:
            for result in await _missing_rights(cluster, discovery, kind, operator):
                missing += 1
                yield result
    except Forbidden as error:
        yield warning("rights", f"not checked: {error}")
        return
    if not missing:
        names = {kind.kind for kind in kinds}
        yield ok("rights", f"the operator may manage the {len(names)} kinds that forms use")


def _operator_account(account: str, deployments: list[dict[str, Any]]) -> Subject | None:
    if account:
        namespace, _, name = account.partition("/")
        return service_account(namespace, name)
    for deployment in deployments:
        pod = deployment["spec"]["template"]["spec"]
        return service_account(
            deployment["metadata"]["namespace"], pod.get("serviceAccountName", "default")
        )
    return None


async def _missing_rights(
    cluster: Cluster, discovery: Discovery, kind: KindInUse, operator: Subject
) -> list[CheckResult]:
    name = f"rights {kind.kind}"
    try:
        resource = await discovery.resource(kind.api_version, kind.kind)
    except UnknownKind as error:
        return [failure(name, str(error))]
    namespace = kind.namespace if resource.namespaced else ""
    writer = service_account(kind.namespace, kind.account) if kind.account else operator
    asked = [(operator, verb) for verb in _READ_VERBS] + [(writer, verb) for verb in _WRITE_VERBS]
    allowed = await asyncio.gather(
        *(may_use(cluster.client, subject, verb, resource, namespace) for subject, verb in asked)
    )
    denied: dict[str, list[str]] = {}
    for (subject, verb), is_allowed in zip(asked, allowed, strict=True):
        if not is_allowed:
            denied.setdefault(subject.username, []).append(verb)
    where = f" in {namespace}" if namespace else ""
    return [
        failure(name, f"{username} may not {', '.join(verbs)} {resource.plural}{where}")
        for username, verbs in denied.items()
    ]
