"""Recorded requests with the answers of the real API server, and their files.

What differs from run to run is replaced: uids and random names of Namespaces by placeholders, times
by `<time>`, addresses of Services by `<address>`, resource versions by their number among those of
the object. Entries of managedFields are sorted, because their order is that of their times.
"""

import gzip
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

FOLDER: Final = Path(__file__).with_name("recordings")

UID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_NAMESPACE: Final = re.compile(r"<(ns\d+)>")
_PLACEHOLDER: Final = re.compile(r"<(?:ns\d+|uid [^<>]*)>")
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
CURRENT: Final = "<current>"
"""Stands for the resource version that an object has when the request is sent."""
STALE: Final = "<stale>"
"""Stands for a resource version that the object no longer has."""


class Step(msgspec.Struct, omit_defaults=True, frozen=True):
    """A request and its answer, a watch and its events, or the state when all has settled."""

    method: str = ""
    path: str = ""
    query: dict[str, str] = {}
    headers: dict[str, str] = {}
    body: Any = None
    status: int = 0
    response: Any = None
    events: dict[str, list[str]] | None = None
    """The events of a watch by object."""
    state: dict[str, Any] | None = None
    """The objects by collection and name."""

    @property
    def is_watch(self) -> bool:
        """Whether the request is a watch."""
        return self.query.get("watch") == "true"

    def __str__(self) -> str:
        """Return method and path, or what is compared instead."""
        return "state" if self.state is not None else f"{self.method} {self.path}"


class Recording(msgspec.Struct, frozen=True):
    """The requests of one test, in their order."""

    test: str
    steps: list[Step]


def read(path: Path) -> Recording:
    """Read a recording."""
    return msgspec.json.decode(gzip.decompress(path.read_bytes()), type=Recording)


def write(recording: Recording, path: Path) -> None:
    """Write a recording; equal recordings are equal files."""
    path.write_bytes(gzip.compress(msgspec.json.encode(recording), 9, mtime=0))


class ObjectPath(NamedTuple):
    """The parts of a path of an object or collection."""

    root: str
    namespace: str
    plural: str
    name: str
    subresource: str

    @property
    def collection(self) -> str:
        """The path of the collection."""
        namespace = f"/namespaces/{self.namespace}" if self.namespace else ""
        return f"{self.root}{namespace}/{self.plural}"

    def key(self, metadata: dict[str, Any]) -> str:
        """Return what names an object of the collection."""
        return "/".join(
            part for part in (self.plural, metadata.get("namespace", ""), metadata["name"]) if part
        )


def split(path: str) -> ObjectPath:
    """Return the parts of a path."""
    parts = path.strip("/").split("/")
    size = 2 if parts[0] == "api" else 3
    root, rest = "/" + "/".join(parts[:size]), parts[size:]
    namespace = ""
    if len(rest) > 2 and rest[0] == "namespaces":
        namespace, rest = rest[1], rest[2:]
    plural, name, subresource = (*rest, "", "", "")[:3]
    return ObjectPath(root, namespace, plural, name, subresource)


class Placeholders:
    """Names the uids, namespaces and versions of one run."""

    def __init__(self) -> None:
        self._placeholders: dict[str, str] = {}
        self._actual: dict[str, str] = {}
        self._counts: dict[str, int] = {}
        self._versions: dict[str, list[str]] = {}

    @property
    def namespaces(self) -> dict[str, str]:
        """The namespaces of the run by their placeholders."""
        return {
            placeholder: actual
            for placeholder, actual in self._actual.items()
            if _NAMESPACE.fullmatch(placeholder)
        }

    def add_namespace(self, actual: str, placeholder: str = "") -> None:
        """Name a namespace, unless it has a name."""
        if actual in self._placeholders:
            return
        self._add(actual, placeholder or f"<ns{len(self.namespaces) + 1}>")

    def add_object(self, path: ObjectPath, metadata: dict[str, Any]) -> None:
        """Name the uid of an object: the first, second … with its name."""
        uid = metadata.get("uid")
        if uid and uid not in self._placeholders:
            key = _NAMESPACE.sub(r"\1", self.shown(path.key(metadata)))
            number = self._counts[key] = self._counts.get(key, 0) + 1
            self._add(uid, f"<uid {key} {number}>")

    def _add(self, actual: str, placeholder: str) -> None:
        self._placeholders[actual] = placeholder
        self._actual[placeholder] = actual

    def shown(self, text: str) -> str:
        """Return a text with placeholders."""
        for placeholder, actual in self.namespaces.items():
            text = text.replace(actual, placeholder)
        return UID.sub(lambda match: self._placeholders.get(match[0], match[0]), text)

    def actual(self, text: str) -> str:
        """Return a text with the names of this run; raises KeyError if one is unknown."""
        return _PLACEHOLDER.sub(lambda match: self._actual[match[0]], text)

    def new_namespaces(self, text: str) -> set[str]:
        """Return the placeholders of namespaces in a text that are not known yet."""
        return {match[0] for match in _NAMESPACE.finditer(text)} - self._actual.keys()

    def shown_value(self, value: Any) -> Any:
        """Return a JSON value with placeholders."""
        return msgspec.json.decode(self.shown(msgspec.json.encode(value).decode()))

    def actual_value(self, value: Any) -> Any:
        """Return a JSON value with the names of this run."""
        return msgspec.json.decode(self.actual(msgspec.json.encode(value).decode()))

    def version(self, path: ObjectPath, metadata: dict[str, Any]) -> str:
        """Return the number of an object's version among those that were answered."""
        versions = self._versions.setdefault(f"{path.key(metadata)} {metadata.get('uid')}", [])
        if metadata["resourceVersion"] not in versions:
            versions.append(metadata["resourceVersion"])
        return f"<version {versions.index(metadata['resourceVersion']) + 1}>"


def objects_in(path: ObjectPath, response: Any) -> Iterator[tuple[ObjectPath, dict[str, Any]]]:
    """Yield the objects of a response."""
    if not isinstance(response, dict) or response.get("kind") == "Status":
        return
    if str(response.get("kind", "")).endswith("List"):
        for item in response.get("items") or ():
            yield path, item
    elif "metadata" in response:
        yield path, response


def comparable(
    placeholders: Placeholders, path: ObjectPath, response: Any, *, with_version: bool = True
) -> Any:
    """Return a response in the form in which recordings have it."""
    if not isinstance(response, dict):
        return response
    if response.get("kind") == "Status":
        return _comparable_status(placeholders.shown_value(response))
    for _, obj in objects_in(path, response):
        placeholders.add_object(path, obj["metadata"])
    if str(response.get("kind", "")).endswith("List"):
        items = [
            _comparable_object(placeholders, path, item, with_version=with_version)
            for item in response.get("items") or ()
            if is_of_test(placeholders, item)
        ]
        return {"kind": response["kind"], "items": sorted(items, key=_position)}
    return _comparable_object(placeholders, path, response, with_version=with_version)


def is_of_test(placeholders: Placeholders, obj: dict[str, Any]) -> bool:
    """Return whether an object belongs to the test, not to other tests or to the cluster."""
    metadata = obj["metadata"]
    if metadata["name"] == "kube-root-ca.crt":
        return False  # The controller-manager publishes it in each namespace.
    return metadata.get("namespace", metadata["name"]) in placeholders.namespaces.values()


def _comparable_object(
    placeholders: Placeholders, path: ObjectPath, obj: dict[str, Any], *, with_version: bool
) -> Any:
    metadata = obj["metadata"]
    version = {}
    if with_version and "resourceVersion" in metadata:
        version = {"resourceVersion": placeholders.version(path, metadata)}
    metadata = {key: value for key, value in metadata.items() if key != "resourceVersion"}
    shown = placeholders.shown_value(obj | {"metadata": metadata | version})
    metadata = shown["metadata"]
    for key in ("creationTimestamp", "deletionTimestamp"):
        if key in metadata:
            metadata[key] = "<time>"
    entries = metadata.get("managedFields", [])
    for entry in entries:
        if "time" in entry:
            entry["time"] = "<time>"
    entries.sort(key=_entry_position)
    if path.plural == "services" and "clusterIP" in shown["spec"]:
        shown["spec"] |= {"clusterIP": "<address>", "clusterIPs": ["<address>"]}
    if "lynq.sh" not in path.root and "status" in shown:
        status = msgspec.json.encode(shown["status"]).decode()
        shown["status"] = msgspec.json.decode(_TIME.sub("<time>", status))
    return shown


def _comparable_status(status: dict[str, Any]) -> Any:
    """Return a Status without what `lynq.kube.errors` does not read.

    The message of an invalid object is prose; its causes have fields and reasons, some of them
    twice.
    """
    details = status.get("details", {})
    causes = {
        (cause.get("field", ""), cause.get("reason", ""), _conflict(cause))
        for cause in details.get("causes") or ()
    }
    is_prose = status.get("code") in {400, 403, 422, 500}
    return {
        "code": status.get("code", 200),
        "reason": status.get("reason", ""),
        "message": "" if is_prose else status.get("message", ""),
        "kind": details.get("kind", ""),
        "group": details.get("group", ""),
        "name": details.get("name", ""),
        "causes": sorted([list(cause) for cause in causes]),
    }


def _conflict(cause: dict[str, Any]) -> str:
    is_conflict = cause.get("reason") == "FieldManagerConflict"
    return str(cause["message"]) if is_conflict else ""


def _position(obj: dict[str, Any]) -> tuple[str, str]:
    metadata = obj["metadata"]
    return metadata.get("namespace", ""), metadata["name"]


def _entry_position(entry: dict[str, Any]) -> tuple[str, ...]:
    names = ("operation", "manager", "subresource", "apiVersion")
    return tuple(entry.get(name, "") for name in names)
