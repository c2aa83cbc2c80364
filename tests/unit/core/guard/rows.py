"""Builders for rows and existing nodes."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from lynq.api.naming import NodePair, node_name
from lynq.core.guard.row_screening import ExistingNodes


@dataclass(frozen=True, slots=True)
class Row:
    uid: str | None
    values: str = ""
    size: int = 100
    is_active: bool = True

    @property
    def digest(self) -> bytes:
        values = f"{self.uid!r} {self.values} {self.size} {self.is_active}"
        return hashlib.sha256(values.encode()).digest()


def existing(*pairs: NodePair, reflected: Mapping[str, Row] | None = None) -> ExistingNodes:
    return ExistingNodes(
        owners={node_name(pair): pair for pair in pairs},
        reflected={uid: {row.digest} for uid, row in (reflected or {}).items()},
    )


NOTHING = existing()
