"""Words in a status or an event: condition types, reasons, labels, annotations, finalizers."""

import re
from collections.abc import Iterator
from pathlib import Path

from lynq.api import ResourceState, names
from lynq.api.events import EventReason
from lynq.api.reasons import (
    ConditionReason,
    ConditionType,
    OrphanReason,
    ReadinessReason,
    RejectionReason,
    StateReason,
)
from reference.declarations import Declaration, by_section, constants, members
from reference.markdown import anchor, code, page, table

TROUBLESHOOTING = Path(__file__).parents[2] / "docs" / "troubleshooting"
_ENTRY = re.compile(r"^### ([A-Z][A-Za-z]+)$", re.MULTILINE)


def pages() -> Iterator[tuple[str, str]]:
    """Yield name and content of each page."""
    yield "reasons.md", _reasons()
    yield "events.md", _events()
    yield "annotations.md", _names()


def _reasons() -> str:
    parts = ["## Types of conditions", _words(members(ConditionType), link=False)]
    for section, declarations in by_section(members(ConditionReason)).items():
        parts += [f"## {section}", _words(declarations)]
    parts += [
        "## Resources of a node",
        "`status.resources` of a LynqNode has a state and a reason for every resource.",
        "### States",
        _words(members(ResourceState)),
        "### Reasons of states",
        "A failed resource has the reason of its [event](events.md).",
        _words(members(StateReason)),
        "### Reasons of readiness",
        "A reason that the object's own controller reports takes precedence over these words.",
        _words(members(ReadinessReason)),
        "## Rejected rows",
        "`status.rejectedRows` of a LynqHub and the metric `lynq_rejected_rows` have them.",
        _words(members(RejectionReason)),
        "## Orphans",
        f"The annotation `{names.ANNOTATION_ORPHANED_REASON}` of a retained object has them.",
        _words(members(OrphanReason)),
    ]
    introduction = (
        "The types and reasons of conditions, and the reasons of resources, rejected rows and "
        "orphans. Alerts and scripts may compare them: they are part of the API. A word links to "
        "its entry in [Troubleshooting](../troubleshooting/index.md)."
    )
    return page("Conditions and reasons", introduction, *parts)


def _events() -> str:
    parts = []
    for section, declarations in by_section(members(EventReason)).items():
        parts += [f"## {section}", _words(declarations)]
    introduction = (
        "The reasons of the events that the operator records, by the object that they are about. "
        "`lynq events` lists them; `kubectl events` does, too."
    )
    return page("Events", introduction, *parts)


def _names() -> str:
    sections = by_section([name for name in constants(names) if name.name != "TRUE"])
    first, *others = sections
    parts = ["## Names", _values(sections[first])]
    for section in others:
        parts += [f"## {section}", _values(sections[section])]
    introduction = (
        "The labels, annotations and finalizers that the operator reads and writes. Of the "
        "annotations, only those in [the first list](#annotations-that-users-set) are for users; "
        "the others belong to the operator."
    )
    return page("Labels, annotations and finalizers", introduction, *parts)


def _values(declarations: list[Declaration]) -> str:
    return table(
        ("name", "meaning"),
        ((code(declaration.value), declaration.meaning) for declaration in declarations),
    )


def _words(declarations: list[Declaration], *, link: bool = True) -> str:
    entries = _entries() if link else {}
    return table(
        ("word", "meaning"),
        (
            (
                f"[{word.value}]({entries[word.value]})"
                if word.value in entries
                else code(word.value),
                word.meaning,
            )
            for word in declarations
        ),
    )


def _entries() -> dict[str, str]:
    """Return the address of each entry of the troubleshooting pages."""
    return {
        word: f"../troubleshooting/{path.name}#{anchor(word)}"
        # Causes are words of `lynq explain`; the other pages have the words of the status.
        for path in sorted(TROUBLESHOOTING.glob("*.md"), key=lambda path: path.name != "causes.md")
        for word in _ENTRY.findall(path.read_text())
    }
