"""The API server in memory: it answers the requests of a client without a connection.

The client on it is the product's own, with retries, fence, interceptors, slots, codecs and watches;
only `Session`, the HTTP below them, is replaced. Discovery, authorization and faults are here;
objects are in `registry`.

What it does not do: admission but that of Namespaces, conversion between versions, CEL rules,
most defaults and rules of built-in kinds, grace periods, quotas and pods. Users come from the
headers of impersonation.
"""

import asyncio
import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import parse_qsl

from msgspec.json import decode, encode

from lynq.kube import Client, ClientOptions, ClusterConfig, Request, Response
from lynq.kube.credentials import Credential
from lynq.kube.errors import KubeError
from lynq.kube.session import Session
from lynq.kube.transport import Transport
from memory import discovery
from memory.controller_manager import ControllerManager
from memory.kinds import Kinds, ServedKind
from memory.patches import json_patched, merge_patched
from memory.registry import DeleteOptions, Options, Registry, Target
from memory.selectors import Selector, selector
from memory.statuses import Refused, expired, forbidden, refused
from memory.store import Expired, Key, Store
from memory.watches import Watch, Watches

Body = dict[str, Any]

_MAX_BODY: Final = 3 * 1024 * 1024
_ADMIN: Final = "system:admin"
_MANAGER: Final = "lynq"
"""The field manager of a request without one: the name in the User-Agent of the client."""
_RETURNED_KINDS: Final = frozenset(
    {"PersistentVolume", "PersistentVolumeClaim", "Pod", "Service", "ServiceAccount"}
)
"""The kinds whose deletion is answered with the object, not with a Status."""
_JSON: Final = {"content-type": "application/json"}
_OPTIONS: Final = ClientOptions()
_CONFIG: Final = ClusterConfig("https://memory.invalid")
_REVIEWS: Final = ("subjectaccessreviews", "selfsubjectaccessreviews")


@dataclass(frozen=True, slots=True)
class Attributes:
    """A request as an authorizer sees it."""

    user: str
    groups: tuple[str, ...]
    verb: str
    group: str
    resource: str
    """The plural; of a subresource, `deployments/status`."""
    namespace: str
    name: str


Authorizer = Callable[[Attributes], bool]


@dataclass(slots=True, eq=False)
class Fault:
    """What happens to matching requests instead of an answer, or behind its back."""

    verb: str
    path: str
    times: float
    failure: Exception
    is_executed: bool
    """Whether the request is carried out, and only its answer lost."""
    hits: int = 0

    def matches(self, request: Request) -> bool:
        """Return whether the next request with this verb and path fails."""
        return (
            self.hits < self.times and self.verb in ("", request.verb) and self.path in request.path
        )


@dataclass(frozen=True, slots=True)
class _Call:
    """A request with its parsed path."""

    request: Request
    target: Target

    @property
    def query(self) -> Mapping[str, str]:
        return self.request.query

    @property
    def options(self) -> Options:
        return Options(
            self.query.get("fieldManager") or _MANAGER,
            dry_run=self.query.get("dryRun") == "All",
            force=self.query.get("force") == "true",
        )

    @property
    def body(self) -> Any:
        return decode(self.request.body or b"{}")

    @property
    def is_metadata_only(self) -> bool:
        return "as=PartialObjectMetadata" in self.request.headers.get("Accept", "")

    def shown(self, obj: Body) -> Body:
        """Return an object as the request accepts it."""
        if not self.is_metadata_only:
            return obj
        meta = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1"}
        return meta | {"metadata": obj["metadata"]}


class _Session(Session):
    """The connection of a client to the server in memory."""

    def __init__(self, server: "MemoryApiServer") -> None:
        super().__init__(_CONFIG, _OPTIONS)
        self._server = server

    async def send(self, request: Request, credential: Credential) -> Response:  # noqa: ARG002
        return await self._server.send(request)


class MemoryApiServer:
    """An API server whose objects are in memory."""

    def __init__(
        self,
        *,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        latency: float = 0.0,
    ) -> None:
        """Answer every request after `latency` seconds, and after a turn of the event loop."""
        self.clock = clock
        self.latency = latency
        self.authorizer: Authorizer = lambda _: True
        """Decides about every request; the administrator may do everything."""
        self.store = Store()
        self.kinds = Kinds()
        self.registry = Registry(self.store, self.kinds, clock)
        self.controllers = ControllerManager(self.registry)
        self.is_paused = False
        """Whether the controllers of the controller-manager wait for `step`."""
        self._watches = Watches(self.store)
        self._faults: list[Fault] = []
        self._is_scheduled = False
        for name in ("default", "kube-system"):
            self.create_namespace(name)

    def client(self, options: ClientOptions = _OPTIONS) -> Client:
        """Return a client of this server."""
        transport = Transport.to(_CONFIG, options)
        return Client(replace(transport, session=_Session(self)))

    # What tests do to the server

    def create_namespace(self, name: str) -> None:
        """Create a Namespace at once."""
        self._create("v1", "namespaces", {"metadata": {"name": name}})

    def install(self, definition: Body) -> None:
        """Create a CRD at once."""
        self._create("apiextensions.k8s.io/v1", "customresourcedefinitions", definition)

    def fail(
        self,
        verb: str = "",
        path: str = "",
        *,
        times: float = 1,
        status: int = 500,
        message: str = "failed by the test",
        error: KubeError | None = None,
        retry_after: int | None = None,
        executed: bool = False,
    ) -> Fault:
        """Fail the next requests with this verb of the client and this part of the path.

        They are answered with a status, or raise `error`. A request that is `executed` changes
        objects, and only its answer is lost.
        """
        failure = error or refused(status, message, retry_after=retry_after)
        fault = Fault(verb, path, times, failure, executed)
        self._faults.append(fault)
        return fault

    def compact(self) -> None:
        """Forget the changes before now: older watches and lists are answered with 410."""
        self.store.compact()

    def end_watches(self, plural: str = "", *, lost: bool = False) -> None:
        """End the open watches of a kind, or of all; `lost`: as a broken connection does."""
        for watch in self._watches.of(plural):
            if lost:
                watch.lose()
            else:
                watch.end()

    def step(self) -> bool:
        """Let the controllers look at one object; return whether there was one."""
        return self.controllers.step()

    def resume(self) -> None:
        """Let the controllers run by themselves again; call it in the event loop."""
        self.is_paused = False
        self._run_controllers_soon()

    # Requests

    async def send(self, request: Request) -> Response:
        """Answer a request."""
        await asyncio.sleep(self.latency)
        path, has_query, query = request.path.partition("?")
        if has_query:
            request = replace(request, path=path, query=dict(parse_qsl(query)))
        fault = next((each for each in self._faults if each.matches(request)), None)
        if fault is not None:
            fault.hits += 1
            if fault.is_executed:
                self._answer(request)
            if isinstance(fault.failure, Refused):
                return fault.failure.response
            raise fault.failure
        response = self._answer(request)
        self._run_controllers_soon()
        return response

    def _answer(self, request: Request) -> Response:
        try:
            return self._route(request)
        except Refused as error:
            return error.response

    def _route(self, request: Request) -> Response:
        if response := self._document(request):
            return response
        call = self._call(request)
        if call is None:
            return Response(404, {"content-type": "text/plain"}, b"404 page not found\n")
        self._authorize(call)
        if len(request.body or b"") > _MAX_BODY:
            raise refused(413, f"Request entity too large: limit is {_MAX_BODY}")
        return self._answer_call(call)

    def _answer_call(self, call: _Call) -> Response:
        request = call.request
        match request.method:
            case "GET" if request.stream:
                return self._watch(call)
            case "GET" if call.target.name:
                return _json(call.shown(self.registry.get(call.target)))
            case "GET":
                return _json(self._list(call))
            case "DELETE":
                return self._delete(call)
            case _:
                is_new = not call.target.name or self.store.get(call.target.key) is None
                obj = self._write(call)
                code = 201 if is_new else 200
                return _json(call.shown(obj), code)

    def _document(self, request: Request) -> Response | None:
        """Return what is no object: discovery, health, version, reviews of rights."""
        path = request.path
        if path in ("/api", "/apis"):
            return _json(discovery.document(self.kinds, core=path == "/api"))
        if path in ("/readyz", "/livez", "/healthz"):
            return Response(200, body=b"ok")
        if path == "/version":
            return _json({"major": "1", "minor": "35", "gitVersion": "v1.35.0"})
        parts = path.split("/")
        if parts[-1] in _REVIEWS:
            return self._review(request)
        if path == "/api/v1" or (parts[1] == "apis" and len(parts) == 4):
            document = discovery.resource_list(self.kinds, path.split("/", 2)[2])
            return _json(document) if document else None
        return None

    def _call(self, request: Request) -> _Call | None:
        parts = request.path.strip("/").split("/")
        api_version, rest = (
            (parts[1], parts[2:]) if parts[0] == "api" else ("/".join(parts[1:3]), parts[3:])
        )
        namespace = ""
        if len(rest) > 2 and rest[0] == "namespaces" and rest[2] not in ("status", "finalize"):
            namespace, rest = rest[1], rest[2:]
        plural, name, subresource = (*rest, "", "")[:3] if rest else ("", "", "")
        kind = self.kinds.of(api_version, plural)
        if kind is None or (subresource and not _has_subresource(kind, subresource)):
            return None
        return _Call(request, Target(kind, namespace, name, subresource))

    def _write(self, call: _Call) -> Body:
        target, options = call.target, call.options
        if call.request.method == "POST":
            return self.registry.create(target, call.body, options)
        if call.request.method == "PUT":
            return self.registry.replace(target, call.body, options)
        body = call.body
        match call.request.headers.get("Content-Type"):
            case "application/apply-patch+yaml":
                return self.registry.apply(target, body, options)
            case "application/json-patch+json":
                return self.registry.patch(target, lambda obj: json_patched(obj, body), options)
            case "application/merge-patch+json":
                return self.registry.patch(target, lambda obj: merge_patched(obj, body), options)
            case other:
                message = f"the body of the request was in an unknown format - {other}"
                raise refused(415, message)

    def _delete(self, call: _Call) -> Response:
        body = call.body
        preconditions = body.get("preconditions") or {}
        options = DeleteOptions(
            preconditions.get("uid") or "",
            preconditions.get("resourceVersion") or "",
            body.get("propagationPolicy") or "",
            dry_run=body.get("dryRun") == ["All"],
        )
        obj, is_removed = self.registry.delete(call.target, options)
        resource = call.target.kind.resource
        if not is_removed or resource.kind in _RETURNED_KINDS:
            return _json(obj)
        details = {"name": call.target.name, "kind": resource.plural, "uid": obj["metadata"]["uid"]}
        if resource.group:
            details["group"] = resource.group
        status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
        return _json(status | {"details": details})

    # Lists and watches

    def _list(self, call: _Call) -> Body:
        query, resource = call.query, call.target.kind.resource
        version, start = self.store.version, ""
        if token := query.get("continue"):
            try:
                position = json.loads(b64decode(token))
            except ValueError as error:
                raise refused(400, f"continue key is not valid: {error}") from None
            version, start = position["rv"], position["start"]
        try:
            objects = self.store.at(version, resource.name)
        except Expired:
            raise expired(version, self.store.oldest) from None
        selects = _selector(query)
        keys = [
            key
            for key in sorted(objects)
            if call.target.namespace in ("", key.namespace)
            and _position(key) > start
            and selects(objects[key])
        ]
        limit = int(query.get("limit") or 0)
        metadata: Body = {"resourceVersion": str(version)}
        if limit and len(keys) > limit:
            metadata["remainingItemCount"] = len(keys) - limit
            keys = keys[:limit]
            position = {"rv": version, "start": _position(keys[-1])}
            metadata["continue"] = b64encode(json.dumps(position).encode()).decode()
        items = [call.shown(_item(call.target.kind, objects[key])) for key in keys]
        if call.is_metadata_only:
            kind, api_version = "PartialObjectMetadataList", "meta.k8s.io/v1"
        else:
            kind, api_version = f"{resource.kind}List", resource.api_version
        return {"kind": kind, "apiVersion": api_version, "metadata": metadata, "items": items}

    def _watch(self, call: _Call) -> Response:
        query = call.query

        def shown(obj: Body) -> Body:
            api_version = call.target.kind.resource.api_version
            return call.shown({**obj, "apiVersion": api_version})

        watch = Watch(call.target.kind, call.target.namespace, _selector(query), shown, self.store)
        watch.start(
            query.get("resourceVersion", ""),
            initial_events=query.get("sendInitialEvents") == "true",
        )
        self._watches.open(watch)
        timeout = float(query.get("timeoutSeconds") or 1800)
        return Response(
            200, _JSON, chunks=watch.chunks(timeout), close=lambda: self._watches.close(watch)
        )

    # Rights

    def _authorize(self, call: _Call) -> None:
        attributes = _attributes(call)
        if attributes.user == _ADMIN or self.authorizer(attributes):
            return
        target = call.target
        raise forbidden(
            target.kind, attributes.verb, attributes.user, target.namespace, target.name
        )

    def _review(self, request: Request) -> Response:
        body = decode(request.body or b"{}")
        spec = body["spec"]
        wanted = spec.get("resourceAttributes") or {}
        user, groups = _user(request)
        resource = wanted.get("resource", "")
        if subresource := wanted.get("subresource"):
            resource = f"{resource}/{subresource}"
        attributes = Attributes(
            spec.get("user", user),
            tuple(spec.get("groups", groups)),
            wanted.get("verb", ""),
            wanted.get("group", ""),
            resource,
            wanted.get("namespace", ""),
            wanted.get("name", ""),
        )
        allowed = attributes.user == _ADMIN or self.authorizer(attributes)
        return _json({**body, "status": {"allowed": allowed}}, 201)

    # Controllers

    def _run_controllers_soon(self) -> None:
        if self._is_scheduled or self.is_paused:
            return
        loop = asyncio.get_running_loop()
        if self.controllers.has_work:
            self._is_scheduled = True
            loop.call_soon(self._run_controllers)
        for moment, key in self.controllers.take_due():
            delay = (moment - self.clock()).total_seconds()
            loop.call_later(max(delay, 0.0), self._run_later, key)

    def _run_later(self, key: Key) -> None:
        self.controllers.add(key)
        self._run_controllers_soon()

    def _run_controllers(self) -> None:
        self._is_scheduled = False
        if not self.is_paused:
            self.controllers.step()
            self._run_controllers_soon()

    def _create(self, api_version: str, plural: str, obj: Body) -> None:
        kind = self.kinds.of(api_version, plural)
        if kind is None:
            raise AssertionError(f"{api_version} {plural} is not served")
        try:
            self.registry.create(Target(kind, "", ""), obj, Options("kubectl-create"))
        except Refused as error:
            raise AssertionError(str(error)) from None


def _json(obj: Body, code: int = 200) -> Response:
    return Response(code, _JSON, encode(obj))


def _has_subresource(kind: ServedKind, subresource: str) -> bool:
    if subresource == "status":
        return kind.has_status
    return subresource == "finalize" and kind.resource.kind == "Namespace"


def _selector(query: Mapping[str, str]) -> Selector:
    try:
        return selector(query.get("labelSelector", ""), query.get("fieldSelector", ""))
    except ValueError as error:
        raise refused(400, str(error)) from None


def _position(key: Key) -> str:
    return f"{key.namespace}/{key.name}"


def _item(kind: ServedKind, obj: Body) -> Body:
    """Return an object as a list has it: those of built-in kinds without their type."""
    if kind.is_custom:
        return {**obj, "apiVersion": kind.resource.api_version}
    return {key: value for key, value in obj.items() if key not in ("apiVersion", "kind")}


def _user(request: Request) -> tuple[str, tuple[str, ...]]:
    headers = request.headers
    user = headers.get("Impersonate-User") or _ADMIN
    groups = headers.getall("Impersonate-Group", []) if hasattr(headers, "getall") else []
    return user, tuple(groups)


def _attributes(call: _Call) -> Attributes:
    request, target = call.request, call.target
    verb = {"GET": "get", "POST": "create", "PUT": "update", "PATCH": "patch"}.get(
        request.method, "delete"
    )
    if verb == "get" and not target.name:
        verb = "watch" if request.stream else "list"
    resource = target.kind.resource
    plural = f"{resource.plural}/{target.subresource}" if target.subresource else resource.plural
    return Attributes(*_user(request), verb, resource.group, plural, target.namespace, target.name)
