"""Reads and writes of objects: preconditions, generations, finalizers, dry runs.

Every write is decided completely before it is stored, so a dry run is a write that is not stored.
A status is written through its subresource only. All objects have a grace period of 0.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final

from memory.kinds import Kinds, ServedKind
from memory.managed_fields import Writer, applied, differs, updated
from memory.objects import (
    check_applied,
    check_types,
    completed,
    initialized,
    new_metadata,
    validate,
    validate_update,
)
from memory.statuses import (
    MODIFIED,
    already_exists,
    conflict,
    invalid,
    not_found,
    refused,
    terminating,
    wrong_uid,
)
from memory.store import Key, Store

Body = dict[str, Any]

FOREGROUND: Final = "foregroundDeletion"
ORPHAN: Final = "orphan"
_FIXED: Final = (
    "uid",
    "name",
    "namespace",
    "creationTimestamp",
    "generation",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
)
"""Metadata that a write cannot change."""


@dataclass(frozen=True, slots=True)
class Target:
    """An object, or the place of one, in one version of its kind."""

    kind: ServedKind
    namespace: str
    name: str
    subresource: str = ""

    @property
    def key(self) -> Key:
        """The place in the store."""
        return Key(self.kind.resource.name, self.namespace, self.name)


@dataclass(frozen=True, slots=True)
class Options:
    """The query of a write."""

    manager: str = "unknown"
    dry_run: bool = False
    force: bool = False


@dataclass(frozen=True, slots=True)
class DeleteOptions:
    """The body of a delete."""

    uid: str = ""
    resource_version: str = ""
    propagation: str = ""
    dry_run: bool = False


class Registry:
    """The objects of an API server, written by its rules."""

    def __init__(self, store: Store, kinds: Kinds, clock: Callable[[], datetime]) -> None:
        self.store = store
        self.kinds = kinds
        self.clock = clock

    @property
    def now(self) -> str:
        """The time as objects hold it."""
        return self.clock().astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    def get(self, target: Target) -> Body:
        """Return an object in the version of the target; raises Refused with 404."""
        return self._shown(target.kind, self._live(target))

    def create(self, target: Target, manifest: Body, options: Options) -> Body:
        """Create an object from a manifest."""
        manifest = self._checked(target, manifest)
        target = self._named(target, manifest)
        check_types(target.kind, manifest)
        if self.store.get(target.key) is not None:
            raise already_exists(target.kind, target.name)
        self._check_namespace(target)
        body = {**manifest, "metadata": manifest.get("metadata") or {}}
        if target.kind.has_status:
            body.pop("status", None)
        body = self._prepared(target, body)
        body = updated(target.kind, None, body, self._writer(target, options))
        return self._created(target, body, options)

    def replace(self, target: Target, manifest: Body, options: Options) -> Body:
        """Replace an object, or one of its subresources."""
        manifest = self._checked(target, manifest)
        live = self._live(target)
        if (uid := manifest["metadata"].get("uid")) and uid != live["metadata"]["uid"]:
            raise wrong_uid(target.kind, target.name, uid, live["metadata"]["uid"])
        if not _version(manifest) and not target.kind.allows_unconditional_update:
            message = "Invalid value: 0: must be specified for an update"
            problem = ("metadata.resourceVersion", "FieldValueInvalid", message)
            raise invalid(target.kind, target.name, [problem])
        return self._update(target, live, manifest, options)

    def patch(self, target: Target, change: Callable[[Body], Body], options: Options) -> Body:
        """Patch an object, or one of its subresources."""
        live = self._live(target)
        shown = self._shown(target.kind, live)
        try:
            patched = change(shown)
        except (ValueError, KeyError, TypeError) as error:
            message = f"the server rejected our request due to an error in our request: {error}"
            raise refused(422, message) from None
        if _version(patched) == _version(shown):
            # Not a precondition: the patch does not have it.
            metadata = dict(patched["metadata"])
            metadata.pop("resourceVersion", None)
            patched = {**patched, "metadata": metadata}
        patched = self._checked(target, patched)
        return self._update(target, live, patched, options)

    def apply(self, target: Target, manifest: Body, options: Options) -> Body:
        """Apply a manifest: create the object, or change the fields of the manager."""
        manifest = self._checked(target, manifest)
        metadata = manifest.get("metadata") or {}
        if metadata.get("managedFields"):
            raise refused(400, "metadata.managedFields must be nil")
        manifest = {**manifest, "metadata": metadata}
        check_applied(target.kind, manifest)
        live = self.store.get(target.key)
        writer = self._writer(target, options)
        if live is not None:
            shown = self._shown(target.kind, live)
            body = applied(
                target.kind, shown, self._applicable(target, manifest), writer, force=options.force
            )
            # After the conflicts of fields, which are reported first.
            self._check_preconditions(target, live, manifest)
            return self._stored(target, live, body, options)
        if target.subresource:
            raise not_found(target.kind, target.name)
        if uid := metadata.get("uid"):
            problem = (
                f"uid mismatch: the provided object specified uid {uid}, and no existing object "
                "was found"
            )
            raise conflict(target.kind, target.name, problem)
        self._check_namespace(target)
        body = applied(
            target.kind, None, self._applicable(target, manifest), writer, force=options.force
        )
        return self._created(target, self._prepared(target, body), options)

    def delete(self, target: Target, options: DeleteOptions) -> tuple[Body, bool]:
        """Delete an object; return its last state, and whether it is removed."""
        live = self._live(target)
        metadata = live["metadata"]
        if options.uid and options.uid != metadata["uid"]:
            raise wrong_uid(target.kind, target.name, options.uid, metadata["uid"])
        if options.resource_version and options.resource_version != metadata["resourceVersion"]:
            problem = (
                f"Precondition failed: ResourceVersion in precondition: "
                f"{options.resource_version}, ResourceVersion in object meta: "
                f"{metadata['resourceVersion']}"
            )
            raise conflict(target.kind, target.name, problem)
        is_job = target.key.resource == "jobs.batch"
        # The policy of clients that know no garbage collection is kept for them.
        propagation = options.propagation or ("Orphan" if is_job else "")
        finalizers = _finalizers_for(metadata.get("finalizers") or [], propagation)
        if not finalizers and not _holds_namespace(live):
            if not options.dry_run:
                self._remove(target, live)
                # The last state has the version of the removal.
                version = str(self.store.version)
                live = {**live, "metadata": {**metadata, "resourceVersion": version}}
            return self._shown(target.kind, live), True
        deleting = self._deleting(live, finalizers)
        if deleting != live and not options.dry_run:
            deleting = self._put(target.key, deleting)
        return self._shown(target.kind, deleting), False

    # Parts of a write

    def _live(self, target: Target) -> Body:
        live = self.store.get(target.key)
        if live is None:
            raise not_found(target.kind, target.name)
        return live

    def _shown(self, kind: ServedKind, obj: Body) -> Body:
        """Return an object in the version of a kind; nothing but its name differs."""
        api_version = kind.resource.api_version
        if obj["apiVersion"] == api_version:
            return obj
        return {**obj, "apiVersion": api_version}

    def _checked(self, target: Target, manifest: Body) -> Body:
        """Return a manifest with its type; raises Refused if it is of another one."""
        resource = target.kind.resource
        expected = {"apiVersion": resource.api_version, "kind": resource.kind}
        for key, value in expected.items():
            if manifest.get(key, value) != value:
                message = (
                    f"the object provided is unrecognized (must be of type {resource.kind}): "
                    f"{key} is {manifest[key]}"
                )
                raise refused(400, message)
        metadata = manifest.get("metadata") or {}
        for key, value in (("name", target.name), ("namespace", target.namespace)):
            if value and metadata.get(key, value) not in ("", value):
                message = (
                    f"the {key} of the object ({metadata[key]}) does not match the {key} on the "
                    f"URL ({value})"
                )
                raise refused(400, message)
        named = {"name": target.name} if target.name else {}
        placed = {"namespace": target.namespace} if target.namespace else {}
        return {**expected, **manifest, "metadata": {**metadata, **named, **placed}}

    def _named(self, target: Target, manifest: Body) -> Target:
        metadata = manifest["metadata"]
        if not metadata.get("name") and metadata.get("generateName"):
            metadata["name"] = f"{metadata['generateName']}{self.store.version:05x}"
        return replace(target, name=metadata.get("name", ""))

    def _check_namespace(self, target: Target) -> None:
        if not target.namespace:
            return
        namespace = self.store.get(Key("namespaces", "", target.namespace))
        if namespace is None:
            kind = self.kinds.of("v1", "namespaces")
            if kind is not None:
                raise not_found(kind, target.namespace)
        elif namespace["metadata"].get("deletionTimestamp"):
            raise terminating(target.kind, target.name, target.namespace)

    def _check_preconditions(self, target: Target, live: Body, body: Body) -> None:
        metadata, actual = body["metadata"], live["metadata"]
        if (version := _version(body)) and version != actual["resourceVersion"]:
            raise conflict(target.kind, target.name, MODIFIED)
        if (uid := metadata.get("uid")) and uid != actual["uid"]:
            message = f'Invalid value: "{uid}": field is immutable'
            problem = ("metadata.uid", "FieldValueInvalid", message)
            raise invalid(target.kind, target.name, [problem])

    def _applicable(self, target: Target, manifest: Body) -> Body:
        """Return the part of an applied manifest that its subresource accepts."""
        if target.subresource or not target.kind.has_status:
            return manifest
        return {key: value for key, value in manifest.items() if key != "status"}

    def _writer(self, target: Target, options: Options) -> Writer:
        return Writer(
            options.manager, target.kind.resource.api_version, self.now, target.subresource
        )

    def _prepared(self, target: Target, body: Body) -> Body:
        """Return a new object with metadata and defaults."""
        metadata = new_metadata(
            body["metadata"],
            namespace=target.namespace,
            now=self.now,
            has_generation=target.kind.has_generation,
        )
        return completed(target.kind, {**body, "metadata": metadata})

    def _created(self, target: Target, body: Body, options: Options) -> Body:
        body = initialized(target.kind, body)
        validate(target.kind, body)
        return body if options.dry_run else self._put(target.key, body)

    def _update(self, target: Target, live: Body, body: Body, options: Options) -> Body:
        self._check_preconditions(target, live, body)
        shown = self._shown(target.kind, live)
        body = _with_subresource(target, shown, body)
        body = {**body, "metadata": {**body["metadata"], **_fixed(live)}}
        managed = body["metadata"].get("managedFields")
        body = completed(target.kind, body)
        if managed is not None:
            body = {**body, "metadata": {**body["metadata"], "managedFields": managed}}
        body = updated(target.kind, shown, body, self._writer(target, options))
        return self._stored(target, live, body, options)

    def _stored(self, target: Target, live: Body, body: Body, options: Options) -> Body:
        """Validate and store the new state of an object, unless nothing changes."""
        kind = target.kind
        shown = self._shown(kind, live)
        body = completed(kind, {**body, "metadata": {**body["metadata"], **_fixed(live)}})
        if target.subresource != "status" and kind.has_generation and _content_differs(shown, body):
            generation = int(live["metadata"].get("generation", 0)) + 1
            body = {**body, "metadata": {**body["metadata"], "generation": generation}}
        validate(kind, body)
        validate_update(kind, shown, body)
        if not differs(shown, body):
            return shown
        is_done = live["metadata"].get("deletionTimestamp") and not (
            body["metadata"].get("finalizers") or _holds_namespace(body)
        )
        if is_done:
            if not options.dry_run:
                self._remove(target, live)
            # The response has the version of before.
            metadata = {**body["metadata"], "resourceVersion": _version(live)}
            return {**body, "metadata": metadata}
        return body if options.dry_run else self._shown(kind, self._put(target.key, body))

    def _deleting(self, live: Body, finalizers: list[str]) -> Body:
        metadata = dict(live["metadata"])
        metadata.pop("finalizers", None)
        if finalizers:
            metadata["finalizers"] = finalizers
        if not metadata.get("deletionTimestamp"):
            metadata["deletionTimestamp"] = self.now
            if live["kind"] != "Namespace":
                metadata["deletionGracePeriodSeconds"] = 0
            if generation := metadata.get("generation"):
                metadata["generation"] = generation + 1
        deleting = {**live, "metadata": metadata}
        if live["kind"] == "Namespace":
            deleting["status"] = {**live.get("status", {}), "phase": "Terminating"}
        return deleting

    def _put(self, key: Key, body: Body) -> Body:
        stored = self.store.put(key, body)
        if key.resource == _DEFINITIONS:
            self.kinds.define(stored)
        return stored

    def _remove(self, target: Target, live: Body) -> None:
        self.store.remove(target.key)
        if target.key.resource == _DEFINITIONS:
            self._remove_objects(live)
            self.kinds.remove(target.name)

    def _remove_objects(self, definition: Body) -> None:
        """Remove the objects of a CRD that is removed, whatever their finalizers."""
        spec = definition["spec"]
        name = f"{spec['names']['plural']}.{spec['group']}"
        for key in self.store.keys(name):
            self.store.remove(key)


_DEFINITIONS: Final = "customresourcedefinitions.apiextensions.k8s.io"


def _version(obj: Body) -> str:
    return str(obj["metadata"].get("resourceVersion") or "")


def _fixed(live: Body) -> Body:
    """Return the metadata of the live object that no write changes."""
    metadata = live["metadata"]
    return {key: metadata[key] for key in (*_FIXED, "resourceVersion") if key in metadata}


def _with_subresource(target: Target, live: Body, body: Body) -> Body:
    """Return the object with the part that the request may write."""
    if target.subresource == "status":
        return {
            **live,
            "metadata": {**live["metadata"], "managedFields": None},
            **({"status": body["status"]} if "status" in body else {}),
        }
    if target.subresource == "finalize":
        return {**live, "spec": body.get("spec") or {}}
    if not target.kind.has_status:
        return body
    body = {key: value for key, value in body.items() if key != "status"}
    return {**body, **({"status": live["status"]} if "status" in live else {})}


def _content_differs(old: Body, new: Body) -> bool:
    ignored = {"metadata", "status", "apiVersion"}
    return any(old.get(key) != new.get(key) for key in (old.keys() | new.keys()) - ignored)


def _finalizers_for(finalizers: list[str], propagation: str) -> list[str]:
    """Return the finalizers of an object that is deleted with a policy."""
    if not propagation:
        return finalizers
    wanted = {"Foreground": FOREGROUND, "Orphan": ORPHAN}.get(propagation)
    kept = [each for each in finalizers if each not in {FOREGROUND, ORPHAN}]
    return [*kept, wanted] if wanted else kept


def _holds_namespace(obj: Body) -> bool:
    """Return whether a Namespace has content to delete first."""
    return obj["kind"] == "Namespace" and bool((obj.get("spec") or {}).get("finalizers"))
