"""The desired LynqNode of a row and a form, for a create or an update.

The hub renders nameTemplate, labelsTemplate and annotationsTemplate. The node uses the results
verbatim, also if a row value in them looks like a template. The manifest and targetNamespace remain
templates, which the node renders.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any, TypeVar

from msgspec.json import Encoder
from msgspec.structs import replace

from lynq.api import LynqForm, LynqHub, LynqNode, Metadata, NodeSpec, OwnerReference, TResource
from lynq.api.digests import signed, spec_digest
from lynq.api.initial_inventory import lists_objects
from lynq.api.installation_key import NO_KEY, KeyState
from lynq.api.names import (
    ANNOTATION_FORCE_SYNC,
    ANNOTATION_HUB_ID,
    ANNOTATION_INITIAL_INVENTORY,
    ANNOTATION_REFUSED_RESOURCES,
    ANNOTATION_ROLLOUT_UPDATE_START,
    ANNOTATION_SERVICE_ACCOUNT,
    ANNOTATION_SPEC_DIGEST,
    ANNOTATION_TEMPLATE_GENERATION,
    FINALIZER_NODE,
    LABEL_BUCKET,
    LABEL_HUB,
    LABEL_UID,
)
from lynq.api.naming import NodePair, bucket_label, node_name
from lynq.api.node_metadata import stamp
from lynq.api.resource import RESOURCE_LISTS
from lynq.api.wire import unix_nanoseconds
from lynq.core.hub.initial_inventory import initial_inventory_of
from lynq.core.hub.render_budget import FormRenders, RenderKey
from lynq.core.hub.row_values import (
    RowValues,
    empty_name,
    render_failed,
    row_variables,
    suspected,
)
from lynq.core.randomness import hub_random
from lynq.core.render_journal import RETRIED_LATER, RenderEntry, RenderVerdict, digest, skipped
from lynq.template import Environment, TemplateError, compile_template

T = TypeVar("T")


def render_spec(
    hub: LynqHub,
    form: LynqForm,
    values: RowValues,
    *,
    now: datetime,
    previous: LynqNode | None = None,
    key: KeyState = NO_KEY,
    refused: Collection[str] = (),
) -> NodeSpec:
    """Return the spec of the node; raises RowRenderError.

    `now` is the time of the last change of row or form, and random functions are seeded by the key,
    hub, form and row: the same row and form give the same texts. The `refused` resources, by id,
    are not rendered: the node reports them as failed.
    """
    pair = NodePair(values.uid, form.metadata.name)
    random = hub_random(hub.metadata.uid, node_name(pair), previous, key)
    environment = Environment(now=unix_nanoseconds(now), random=random)
    renderer = _RowRenderer(
        pair=pair,
        variables=row_variables(values, hub=hub.metadata.name, form=pair.form),
        # The texts of one node share one deadline.
        environment=environment.within_one_deadline(),
    )
    lists: dict[str, Any] = {
        name: tuple(
            resource if resource.id in refused else renderer.render(resource)
            for resource in getattr(form.spec, name)
        )
        for name, _ in RESOURCE_LISTS
    }
    return NodeSpec(uid=pair.uid, template_ref=pair.form, **lists)


@dataclass(frozen=True, slots=True)
class _RowRenderer:
    """Renders the resources of a form for one row."""

    pair: NodePair
    variables: dict[str, object]
    environment: Environment

    def render(self, resource: TResource) -> TResource:
        return replace(
            resource,
            name_template=self._name(resource),
            labels_template=self._texts(resource.id, "labelsTemplate", resource.labels_template),
            annotations_template=self._texts(
                resource.id, "annotationsTemplate", resource.annotations_template
            ),
        )

    def _name(self, resource: TResource) -> str:
        name = self._text(resource.id, ("nameTemplate",), resource.name_template)
        # Without a template, metadata.name of the manifest counts; a template must give a name.
        if resource.name_template and not name:
            raise empty_name(self.pair, resource.id)
        return name

    def _texts(self, resource_id: str, field: str, templates: Mapping[str, str]) -> dict[str, str]:
        return {
            key: self._text(resource_id, (field, key), source) for key, source in templates.items()
        }

    def _text(self, resource_id: str, position: tuple[str, ...], source: str) -> str:
        if "{{" not in source:
            return source
        try:
            template = compile_template(source)
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
    refused: Mapping[str, str] = field(default_factory=dict)
    """The resources of the form that fail on every node: the error by id."""
    renders: FormRenders = field(default_factory=FormRenders)
    """The renders of the form in this plan."""

    @property
    def pair(self) -> NodePair:
        """The pair of uid and form that identifies the node."""
        return NodePair(self.values.uid, self.form.metadata.name)

    @property
    def labels(self) -> dict[str, str]:
        """The labels of the node."""
        return {LABEL_HUB: self.hub.metadata.name, LABEL_UID: self.values.uid}

    @property
    def written_labels(self) -> dict[str, str]:
        """The labels that a write of the node sets; no node is written for its bucket alone."""
        bucket = bucket_label(self.hub.metadata.namespace, node_name(self.pair))
        return self.labels | {LABEL_BUCKET: bucket}

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
            | self.refused_annotation
        )

    @property
    def refused_annotation(self) -> dict[str, str]:
        """The annotation of the refused resources; empty if there are none."""
        if not self.refused:
            return {}
        return {ANNOTATION_REFUSED_RESOURCES: Encoder(order="sorted").encode(self.refused).decode()}

    def _initial_inventory(self, spec: NodeSpec) -> dict[str, str]:
        metadata = self.hub.metadata
        variables = row_variables(self.values, hub=metadata.name, form=self.pair.form)
        return initial_inventory_of(spec, metadata.namespace, variables, self.refused)

    def spec(self, written: datetime, previous: LynqNode | None = None) -> NodeSpec:
        """Return the spec of the node; raises RowRenderError, PlanCanceled."""
        return self._run(partial(self._render_spec, written, previous))

    def _render_spec(self, written: datetime, previous: LynqNode | None = None) -> NodeSpec:
        return render_spec(
            self.hub,
            self.form,
            self.values,
            now=written,
            previous=previous,
            key=self.key,
            refused=self.refused,
        )

    def _run(self, render: Callable[[], T]) -> T:
        key, recorded = RenderKey.of(self.form, self.values), partial(self._recorded, render)
        return self.renders.run(key, self.pair, recorded)

    def _recorded(self, render: Callable[[], T]) -> T:
        """Render unless that has killed the process; raises RowRenderError."""
        journal, entry = self.renders.budget.journal, self._journal_entry
        match journal.verdict(entry):
            case RenderVerdict.CLEAR:
                return journal.run(entry, render)
            case RenderVerdict.RETRIED if journal.allows_retries:
                return journal.run_alone(entry, render)
            case RenderVerdict.RETRIED:
                raise suspected(self.pair, RETRIED_LATER)
            case RenderVerdict.SKIPPED:
                raise suspected(self.pair, skipped(f"lynq sync {self.hub.metadata.name}"))

    @property
    def _journal_entry(self) -> RenderEntry:
        hub, form = self.hub.metadata, self.form.metadata
        return RenderEntry(
            digest("row", hub.uid, form.name, self.values.uid),
            digest(
                form.uid,
                str(form.generation),
                self.values.digest.hex(),
                # Requests a retry.
                hub.annotations.get(ANNOTATION_FORCE_SYNC, ""),
            ),
        )

    def _new_spec(self, now: datetime) -> tuple[NodeSpec, dict[str, str]]:
        spec = self._render_spec(now)
        return spec, self._initial_inventory(spec)

    def new(self, now: datetime) -> LynqNode:
        """Return the node to create, complete with finalizer; raises RowRenderError."""
        spec, initial_inventory = self._run(partial(self._new_spec, now))
        node = LynqNode(
            metadata=Metadata(
                name=node_name(self.pair),
                namespace=self.hub.metadata.namespace,
                labels=self.written_labels,
                annotations=self.annotations(spec, now) | initial_inventory,
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
        # Removed when the form no longer has a service account, or refused resources.
        outdated = {ANNOTATION_SERVICE_ACCOUNT, ANNOTATION_REFUSED_RESOURCES}
        if lists_objects(node):
            outdated.add(ANNOTATION_INITIAL_INVENTORY)
        kept = {key: value for key, value in metadata.annotations.items() if key not in outdated}
        metadata = replace(
            metadata,
            labels=metadata.labels | self.written_labels,
            annotations=kept | self.annotations(spec, written),
            owner_references=[*foreign_owners, self.owner],
            finalizers=list(dict.fromkeys([*metadata.finalizers, FINALIZER_NODE])),
        )
        return signed(replace(node, metadata=metadata, spec=spec), self.key)

    def _replaces(self, reference: OwnerReference) -> bool:
        # An object has at most one controller: a re-created hub replaces the one of the same name.
        return reference.controller or reference.uid == self.hub.metadata.uid
