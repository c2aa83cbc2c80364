"""Rows that are given as variables instead of columns, and hubs for forms without one."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from lynq.api import HubSource, HubSpec, LynqForm, LynqHub, Metadata, SourceType, ValueMappings
from lynq.api.names import TRUE
from lynq.api.source import SQLite

OF_ROW = ("uid", "activate", "hostOrUrl")
"""The variables that are no extra values."""


@dataclass(frozen=True, slots=True)
class GivenRow:
    """A row by the variables that templates see."""

    uid: str
    activate: str = TRUE
    host_or_url: str = ""
    extras: Mapping[str, str] = field(default_factory=dict)
    oversize: int = 0


def unmapped_variables(variables: Collection[str], hub: HubSpec) -> list[str]:
    """Return the variables that no row of the hub has."""
    mapped = {*OF_ROW, *hub.extra_value_mappings}
    return sorted(name for name in variables if name not in mapped)


def given_row(variables: Mapping[str, str], hub: HubSpec | None = None) -> GivenRow:
    """Return the row with these variables; columns of the hub that are not given are NULL."""
    columns = dict.fromkeys(hub.extra_value_mappings, "") if hub else {}
    extras = {name: text for name, text in variables.items() if name not in OF_ROW}
    return GivenRow(
        variables.get("uid", ""),
        variables.get("activate", TRUE),
        variables.get("hostOrUrl", ""),
        {**columns, **extras},
    )


def unknown_hub(form: LynqForm) -> LynqHub:
    """Return a hub for a form whose hub is not known: it maps no columns."""
    source = HubSource(type=SourceType.SQLITE, sqlite=SQLite(path="rows.db", table="rows"))
    mappings = ValueMappings(uid="uid", activate="activate")
    return LynqHub(
        metadata=Metadata(name=form.spec.hub_id, namespace=form.metadata.namespace),
        spec=HubSpec(source=source, value_mappings=mappings),
    )
