"""The node that a row and a form want: complete for one create, or written over one that exists.

Renders what the hub renders of a form for one row: names, labels and annotations.

Each of these texts is rendered here and never again: in a node they are finished, and the node's
own core takes them as they are, also if a row's value in them looks like a template. The body and
targetNamespace stay templates, for the node to render.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from msgspec.structs import fields, replace

from lynq.api import (
    LynqForm,
    LynqHub,
    LynqNode,
    Metadata,
    NodeSpec,
    OwnerReference,
    ResourceLists,
    TResource,
)
from lynq.api.digests import spec_digest
from lynq.api.names import (
    ANNOTATION_HUB_ID,
    ANNOTATION_ROLLOUT_UPDATE_START,
    ANNOTATION_SERVICE_ACCOUNT,
    ANNOTATION_SPEC_DIGEST,
    ANNOTATION_TEMPLATE_GENERATION,
    FINALIZER_NODE,
    LABEL_HUB,
    LABEL_UID,
)
from lynq.api.naming import NodePair, node_name
from lynq.api.node_metadata import stamp
from lynq.api.resource import all_resources
from lynq.core.hub.row_values import RowValues, failed, nameless, row_variables
from lynq.template import Environment, Needs, SeededRandom, TemplateError, compile_template

_LISTS: Final = tuple(field.name for field in fields(ResourceLists))
_1970: Final = datetime(1970, 1, 1, tzinfo=UTC)


def render_spec(
    hub: LynqHub,
    form: LynqForm,
    values: RowValues,
    *,
    now: datetime,
    previous: NodeSpec | None = None,
) -> NodeSpec:
    """Return the spec of the row's node; raises RenderError.

    `now` is the time of the last change of row or form, and chance is keyed by hub, form and row:
    the same row and form give the same texts. What cannot be repeated is taken from the node's
    `previous` spec.
    """
    pair = NodePair(values.uid, form.metadata.name)
    row = _Row(
        pair=pair,
        variables=row_variables(values, hub=hub.metadata.name, form=pair.form),
        environment=_environment(hub, pair, now),
        previous={each.id: each for each in all_resources(previous)} if previous else {},
    )
    lists: dict[str, Any] = {
        name: tuple(row.resource(each) for each in getattr(form.spec, name)) for name in _LISTS
    }
    return NodeSpec(uid=pair.uid, template_ref=pair.form, **lists)


def _environment(hub: LynqHub, pair: NodePair, now: datetime) -> Environment:
    # A node has no uid of its own before it is made; hub and name together are as stable.
    seed = f"{hub.metadata.uid}/{node_name(pair)}"
    nanoseconds = (now - _1970) // timedelta(microseconds=1) * 1000
    return Environment(now=nanoseconds, chance=SeededRandom(seed.encode()))


@dataclass(frozen=True, slots=True)
class _Row:
    """One row on its way through a form."""

    pair: NodePair
    variables: dict[str, object]
    environment: Environment
    previous: Mapping[str, TResource]

    def resource(self, given: TResource) -> TResource:
        before = self.previous.get(given.id)
        return replace(
            given,
            name_template=self._name(given, before),
            labels_template=self._texts(
                given.id,
                "labelsTemplate",
                given.labels_template,
                before.labels_template if before else {},
            ),
            annotations_template=self._texts(
                given.id,
                "annotationsTemplate",
                given.annotations_template,
                before.annotations_template if before else {},
            ),
        )

    def _name(self, given: TResource, before: TResource | None) -> str:
        known = before.name_template if before else None
        name = self._text(given.id, ("nameTemplate",), given.name_template, known)
        # Without a template the manifest's own name counts; with one, an empty name is a fault.
        if given.name_template and not name:
            raise nameless(self.pair, given.id)
        return name

    def _texts(
        self, resource: str, field: str, given: Mapping[str, str], before: Mapping[str, str]
    ) -> dict[str, str]:
        return {
            key: self._text(resource, (field, key), source, before.get(key))
            for key, source in given.items()
        }

    def _text(
        self, resource: str, position: tuple[str, ...], source: str, before: str | None
    ) -> str:
        if "{{" not in source:
            return source
        try:
            template = compile_template(source)
            if before and template.needs & Needs.ENTROPY:
                return before
            environment = self.environment
            if template.draws:
                environment = environment.at(resource, *position)
            return template.render(self.variables, environment)
        except TemplateError as error:
            field, *key = position
            place = field + "".join(f"[{each}]" for each in key)
            raise failed(self.pair, resource, place, source, error) from None


@dataclass(frozen=True, slots=True)
class DesiredNode:
    """A row and a form of a hub: all that decides about one node."""

    hub: LynqHub
    form: LynqForm
    values: RowValues

    @property
    def pair(self) -> NodePair:
        """Which node it is."""
        return NodePair(self.values.uid, self.form.metadata.name)

    @property
    def labels(self) -> dict[str, str]:
        """What the node is found by."""
        return {LABEL_HUB: self.hub.metadata.name, LABEL_UID: self.values.uid}

    @property
    def owner(self) -> OwnerReference:
        """How the node belongs to its hub."""
        return OwnerReference(
            api_version=self.hub.api_version,
            kind=self.hub.kind,
            name=self.hub.metadata.name,
            uid=self.hub.metadata.uid,
            controller=True,
            block_owner_deletion=True,
        )

    def annotations(self, spec: NodeSpec, written: datetime) -> dict[str, str]:
        """Return what the node is rendered with, and when it was last given something new."""
        account = self.form.spec.service_account_name
        row = self.values.annotations | {ANNOTATION_HUB_ID: self.hub.metadata.name}
        return (
            row
            | {
                ANNOTATION_TEMPLATE_GENERATION: str(self.form.metadata.generation),
                ANNOTATION_ROLLOUT_UPDATE_START: stamp(written),
                ANNOTATION_SPEC_DIGEST: spec_digest(spec, row),
            }
            | ({ANNOTATION_SERVICE_ACCOUNT: account} if account else {})
        )

    def spec(self, written: datetime, previous: NodeSpec | None = None) -> NodeSpec:
        """Return the node's spec; raises RenderError."""
        return render_spec(self.hub, self.form, self.values, now=written, previous=previous)

    def new(self, now: datetime) -> LynqNode:
        """Return a new node, with everything it ever needs from the hub; raises RenderError."""
        spec = self.spec(now)
        return LynqNode(
            metadata=Metadata(
                name=node_name(self.pair),
                namespace=self.hub.metadata.namespace,
                labels=self.labels,
                annotations=self.annotations(spec, now),
                owner_references=[self.owner],
                finalizers=[FINALIZER_NODE],
            ),
            spec=spec,
        )

    def over(self, node: LynqNode, written: datetime) -> LynqNode:
        """Return the node as it should be; what others put on it stays. Raises RenderError."""
        known, spec = node.metadata, self.spec(written, node.spec)
        others = [each for each in known.owner_references if not self._replaces(each)]
        # A form that names no account any more takes the annotation back.
        kept = {k: v for k, v in known.annotations.items() if k != ANNOTATION_SERVICE_ACCOUNT}
        metadata = replace(
            known,
            labels=known.labels | self.labels,
            annotations=kept | self.annotations(spec, written),
            owner_references=[*others, self.owner],
            finalizers=list(dict.fromkeys([*known.finalizers, FINALIZER_NODE])),
        )
        return replace(node, metadata=metadata, spec=spec)

    def _replaces(self, reference: OwnerReference) -> bool:
        # An object has one controller at most: a hub made anew takes the place of its namesake.
        return reference.controller or reference.uid == self.hub.metadata.uid
