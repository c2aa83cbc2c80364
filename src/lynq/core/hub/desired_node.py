"""The desired LynqNode of a row and a form, for a create or an update.

The hub renders nameTemplate, labelsTemplate and annotationsTemplate. The node uses the results
verbatim, also if a row value in them looks like a template. The manifest and targetNamespace remain
templates, which the node renders.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from msgspec.structs import replace

from lynq.api import LynqForm, LynqHub, LynqNode, Metadata, NodeSpec, OwnerReference, TResource
from lynq.api.digests import signed, spec_digest
from lynq.api.installation_key import NO_KEY, KeyState
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
from lynq.api.resource import RESOURCE_LISTS, all_resources
from lynq.api.wire import unix_nanoseconds
from lynq.core.hub.row_values import RowValues, empty_name, render_failed, row_variables
from lynq.core.randomness import hub_random
from lynq.template import Environment, Needs, TemplateError, compile_template


def render_spec(
    hub: LynqHub,
    form: LynqForm,
    values: RowValues,
    *,
    now: datetime,
    previous: LynqNode | None = None,
    key: KeyState = NO_KEY,
) -> NodeSpec:
    """Return the spec of the node; raises RowRenderError.

    `now` is the time of the last change of row or form, and random functions are seeded by the key,
    hub, form and row: the same row and form give the same texts. Values of cryptographic functions
    are taken from the spec of the `previous` node.
    """
    pair = NodePair(values.uid, form.metadata.name)
    previous_resources = all_resources(previous.spec) if previous else ()
    random = hub_random(hub.metadata.uid, node_name(pair), previous, key)
    renderer = _RowRenderer(
        pair=pair,
        variables=row_variables(values, hub=hub.metadata.name, form=pair.form),
        environment=Environment(now=unix_nanoseconds(now), random=random),
        previous={resource.id: resource for resource in previous_resources},
    )
    lists: dict[str, Any] = {
        name: tuple(renderer.render(resource) for resource in getattr(form.spec, name))
        for name, _ in RESOURCE_LISTS
    }
    return NodeSpec(uid=pair.uid, template_ref=pair.form, **lists)


@dataclass(frozen=True, slots=True)
class _RowRenderer:
    """Renders the resources of a form for one row."""

    pair: NodePair
    variables: dict[str, object]
    environment: Environment
    previous: Mapping[str, TResource]

    def render(self, resource: TResource) -> TResource:
        previous = self.previous.get(resource.id)
        return replace(
            resource,
            name_template=self._name(resource, previous),
            labels_template=self._texts(
                resource.id,
                "labelsTemplate",
                resource.labels_template,
                previous.labels_template if previous else {},
            ),
            annotations_template=self._texts(
                resource.id,
                "annotationsTemplate",
                resource.annotations_template,
                previous.annotations_template if previous else {},
            ),
        )

    def _name(self, resource: TResource, previous: TResource | None) -> str:
        previous_name = previous.name_template if previous else None
        name = self._text(resource.id, ("nameTemplate",), resource.name_template, previous_name)
        # Without a template, metadata.name of the manifest counts; a template must give a name.
        if resource.name_template and not name:
            raise empty_name(self.pair, resource.id)
        return name

    def _texts(
        self,
        resource_id: str,
        field: str,
        templates: Mapping[str, str],
        previous: Mapping[str, str],
    ) -> dict[str, str]:
        return {
            key: self._text(resource_id, (field, key), source, previous.get(key))
            for key, source in templates.items()
        }

    def _text(
        self, resource_id: str, position: tuple[str, ...], source: str, previous: str | None
    ) -> str:
        if "{{" not in source:
            return source
        try:
            template = compile_template(source)
            if previous and template.needs & Needs.ENTROPY:
                return previous
            environment = self.environment
            if template.draws:
                environment = environment.at(resource_id, *position)
            return template.render(self.variables, environment)
        except TemplateError as error:
            field, *key = position
            path = field + "".join(f"[{name}]" for name in key)
            raise render_failed(self.pair, resource_id, path, error) from None


@dataclass(frozen=True, slots=True)
class DesiredNode:
    """The hub, form and row values that determine one node."""

    hub: LynqHub
    form: LynqForm
    values: RowValues
    key: KeyState = NO_KEY
    """Seeds the random values of templates, and signs the node."""

    @property
    def pair(self) -> NodePair:
        """The pair of uid and form that identifies the node."""
        return NodePair(self.values.uid, self.form.metadata.name)

    @property
    def labels(self) -> dict[str, str]:
        """The labels of the node."""
        return {LABEL_HUB: self.hub.metadata.name, LABEL_UID: self.values.uid}

    @property
    def owner(self) -> OwnerReference:
        """The owner reference to the hub."""
        return OwnerReference(
            api_version=self.hub.api_version,
            kind=self.hub.kind,
            name=self.hub.metadata.name,
            uid=self.hub.metadata.uid,
            controller=True,
            block_owner_deletion=True,
        )

    def annotations(self, spec: NodeSpec, written: datetime) -> dict[str, str]:
        """Return the row values, the form generation, the time of the write and the spec digest."""
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

    def spec(self, written: datetime, previous: LynqNode | None = None) -> NodeSpec:
        """Return the spec of the node; raises RowRenderError."""
        return render_spec(
            self.hub, self.form, self.values, now=written, previous=previous, key=self.key
        )

    def new(self, now: datetime) -> LynqNode:
        """Return the node to create, complete with finalizer; raises RowRenderError."""
        spec = self.spec(now)
        node = LynqNode(
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
        return signed(node, self.key)

    def updated(self, node: LynqNode, written: datetime) -> LynqNode:
        """Return the existing node as desired; foreign metadata is kept. Raises RowRenderError."""
        metadata, spec = node.metadata, self.spec(written, node)
        foreign_owners = [
            reference for reference in metadata.owner_references if not self._replaces(reference)
        ]
        # The annotation is removed when the form no longer names a service account.
        kept = {k: v for k, v in metadata.annotations.items() if k != ANNOTATION_SERVICE_ACCOUNT}
        metadata = replace(
            metadata,
            labels=metadata.labels | self.labels,
            annotations=kept | self.annotations(spec, written),
            owner_references=[*foreign_owners, self.owner],
            finalizers=list(dict.fromkeys([*metadata.finalizers, FINALIZER_NODE])),
        )
        return signed(replace(node, metadata=metadata, spec=spec), self.key)

    def _replaces(self, reference: OwnerReference) -> bool:
        # An object has at most one controller: a re-created hub replaces the one of the same name.
        return reference.controller or reference.uid == self.hub.metadata.uid
